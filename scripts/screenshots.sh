#!/usr/bin/env bash
# Takes the pictures of the page that the documentation shows, by running its end-to-end tests.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build/screenshots
LAKEJOIN_SCREENSHOTS=$folder .venv/bin/pytest -q tests/e2e
.venv/bin/python - "$folder" <<'PYTHON'
import sys
from pathlib import Path

from PIL import Image

SHOWN = {"3-search": "page-search", "4-join": "page-join", "9-lake": "page-lake"}
for source, target in SHOWN.items():
    picture = Image.open(Path(sys.argv[1]) / f"{source}.png").convert("RGB")
    picture.quantize(128).save(Path("docs/img") / f"{target}.png", optimize=True)
PYTHON
