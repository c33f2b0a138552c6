"""What agents are served over the Model Context Protocol: search, describe, preview, join."""
