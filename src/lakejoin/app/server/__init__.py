"""What a browser, or a program on another machine, is served over HTTP: the page and its API."""
