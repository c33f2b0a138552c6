"""Run untrusted SQL over one table: checked, in a sandboxed process, with limits."""
