"""Jobs of the worker processes: long work that can be cancelled."""
