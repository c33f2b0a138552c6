#!/usr/bin/env bash
# Writes requirements/*.txt from pyproject.toml: every package pinned, with the hashes of all its
# files in the public registry, valid for every supported Python and platform. Needs uv.
# `scripts/lock.sh --upgrade` moves to the newest versions; without it, pins that fit are kept.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v uv >/dev/null; then
  echo "make lock needs uv: install it with: pip install uv" >&2
  exit 1
fi

# No setting of this machine may reach the files: no configuration, no other index, no header.
for name in $(compgen -e | grep -E '^(UV|PIP)_' || true); do unset "$name"; done
compile() {
  local file=$1
  shift
  echo "locking $file"
  uv pip compile --no-config --quiet --universal --python-version 3.11 --generate-hashes \
    --no-header --no-annotate --no-emit-package lakejoin --output-file "$file" "$@"
}

# test.txt holds nearly everything; the others agree with it.
compile requirements/test.txt pyproject.toml --extra test --extra demo --extra bench "$@"
compile requirements/demo.txt pyproject.toml --extra demo --constraint requirements/test.txt "$@"
compile requirements/kernels.txt pyproject.toml --extra numba --constraint requirements/test.txt "$@"
compile requirements/java.txt pyproject.toml --extra java --constraint requirements/test.txt "$@"
compile requirements/build.txt --group build --constraint requirements/test.txt "$@"
compile requirements/node.txt --group node "$@"
