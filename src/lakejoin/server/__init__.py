"""Serves a lake over HTTP: the web page and its REST API."""
