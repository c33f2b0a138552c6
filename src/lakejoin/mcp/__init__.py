"""Tools for AI agents over the Model Context Protocol: search, describe, preview, join."""
