"""SQL from anybody over one table: checked, run by a confined process, ended at the limit."""
