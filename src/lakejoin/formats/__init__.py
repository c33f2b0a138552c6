"""Read files: from bytes of any supported format to Arrow batches."""
