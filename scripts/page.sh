#!/usr/bin/env bash
# Builds the web page of this checkout, from web/ into src/lakejoin/server/page/; needs .venv.
# Where the machine has no Node that is new enough, one is installed into .venv.
# `scripts/page.sh npm ARGUMENTS` runs npm in web/ with that same Node: scripts/page.sh npm test
set -euo pipefail
cd "$(dirname "$0")/.."

if [ ! -f web/package.json ]; then exit; fi
python=.venv/bin/python
if ! "$python" hatch_build.py --node; then
  echo "lakejoin: no Node here that is new enough: installing one into .venv from" \
    "requirements/node.txt" >&2
  "$python" -m pip --disable-pip-version-check --quiet install --require-hashes --no-deps \
    -r requirements/node.txt
fi
"$python" hatch_build.py "$@"
