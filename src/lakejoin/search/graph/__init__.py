"""Which pairs of columns of a lake join? All, by the inverted index, and never n² comparisons."""
