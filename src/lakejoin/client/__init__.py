"""Asking a lakejoin server from Python: `lakejoin.connect(url)`."""
