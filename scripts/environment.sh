#!/usr/bin/env bash
# Makes the virtual environment .venv with the packages of requirements/NAME.txt and lakejoin
# itself: scripts/environment.sh NAME. What is already there is kept, so a second run is quick.
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1
export PIP_USER=0  # a setting that some machines have, and that no environment can obey

say() { echo "lakejoin: $*" >&2; }

# The newest Python that is new enough and can make an environment ("works" is not a given: a
# version manager's shim may stand for a Python that is not installed).
find_python() {
  local python
  for python in ${PYTHON:-} python3.13 python3.12 python3.11 python3; do
    if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
      >/dev/null 2>&1; then
      echo "$python"
      return
    fi
  done
  say "Python 3.11 or newer with its venv module is needed and was not found" \
    "(for example: apt-get install python3-venv), or name one with PYTHON=/path/to/python3"
  return 1
}

pip() {
  .venv/bin/python -m pip --disable-pip-version-check --quiet "$@"
}

# Hashes are checked for every file; nothing is resolved, so nothing else can come in. Modules are
# compiled to bytecode when they are first imported: most never are.
compile=--no-compile
if [ -n "${PYTHONDONTWRITEBYTECODE:-}" ]; then compile=--compile; fi
install() {
  pip install $compile --require-hashes --no-deps --no-build-isolation -r "requirements/$1.txt"
}

if ! .venv/bin/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  python=$(find_python)
  say "making .venv with $("$python" --version)"
  "$python" -m venv --clear .venv
fi
say "installing requirements/$name.txt (the first time takes a minute or two)"
install build
# Compiling the kernels takes a minute, and needs few of the packages: it starts as soon as these are
# there. `make kernels` waits for it, or says why it failed.
install kernels
mkdir -p build
PYTHONPATH=src .venv/bin/python -m lakejoin.kernels.library_build >build/kernels.log 2>&1 </dev/null &
install "$name"
pip install --no-deps --no-build-isolation --editable .

# Only Spark needs Java, and only the tests need Spark.
if .venv/bin/python -c 'import pyspark' 2>/dev/null &&
  ! .venv/bin/python -m lakejoin.spark.java >/dev/null 2>&1; then
  say "no Java 17 or newer here: installing one into .venv from requirements/java.txt"
  install java
  .venv/bin/python -m lakejoin.spark.java >/dev/null
fi
