#!/bin/sh
# Installs Debian's Chromium for the console's tests, where that can be done without asking; the tests name the lack.
set -eu
if command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    printf '%s\n' "No Chromium on PATH: the console's tests in a browser are skipped." >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
{ apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-noto-cjk; } >/dev/null 2>&1 ||
    printf '%s\n' "Chromium could not be installed: the console's tests in a browser are skipped." >&2
