"""What reading costs on the machine at hand (thesis 3.4.3)."""

from __future__ import annotations

from lakejoin.search.overlap.stopping import Costs

USUAL = Costs(25.0, 3.0, 150.0, 3.0, 2.0)
