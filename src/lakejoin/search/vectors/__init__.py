"""Which columns hold vectors near mine? Exact range search, and counting by column."""
