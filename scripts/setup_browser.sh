#!/bin/sh
# Installs Debian's Chromium for the console's tests, where that can be done without asking; the tests name the lack.
set -eu
for program in chromium-headless-shell chromium google-chrome; do
    if command -v "$program" >/dev/null 2>&1; then
        exit 0
    fi
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    printf '%s\n' "No Chromium on PATH: the console's tests in a browser are skipped." >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
install() {
    apt-get install -y -qq --no-install-recommends "$@" fonts-noto-cjk
}
# Older releases have no shell of its own.
{ apt-get update -qq && { install chromium-headless-shell || install chromium; }; } >/dev/null 2>&1 ||
    printf '%s\n' "Chromium could not be installed: the console's tests in a browser are skipped." >&2
