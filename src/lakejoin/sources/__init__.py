"""Where tables come from: the files of a lake, and frames of the caller's."""
