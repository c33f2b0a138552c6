"""A Python client for lakejoin servers: `lakejoin.connect(url)`."""
