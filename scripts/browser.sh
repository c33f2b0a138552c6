#!/usr/bin/env bash
# A Chromium for the end-to-end tests of the web page: the one that is there, else the system's
# package on Debian, for root. Without one these tests are skipped, and nothing fails here.
set -euo pipefail

for name in chromium chromium-browser google-chrome google-chrome-stable; do
  if command -v "$name" >/dev/null; then exit; fi
done
export DEBIAN_FRONTEND=noninteractive
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "lakejoin: no Chromium here: installing the package chromium for the end-to-end tests" >&2
  install=(apt-get install --quiet=2 --yes --no-install-recommends chromium)
  if { "${install[@]}" || { apt-get update --quiet=2 && "${install[@]}"; }; } >/dev/null 2>&1 &&
    command -v chromium >/dev/null; then
    exit
  fi
fi
echo "lakejoin: there is no Chromium, so the end-to-end tests of the web page will be skipped;" \
  "install the package chromium (or Google Chrome) to have them run" >&2
