"""Answers as reports, and reports as text, notebook HTML, terminal lines and text for agents."""
