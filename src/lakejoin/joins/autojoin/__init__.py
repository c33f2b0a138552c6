"""How do two tables join when values must be rewritten first? Auto-Join: programs by example."""
