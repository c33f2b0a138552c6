"""What searching and joining do together: one question, one answer."""
