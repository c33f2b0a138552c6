"""The command line: commands, and their output on a terminal."""
