"""What values and names say about two columns, whatever tables they are in."""
