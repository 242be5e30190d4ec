#!/bin/sh
# Installs Debian's LibreOffice and pandoc for the tests of old Office files, where that can be done without asking; the
# tests name the lack.
set -eu
if command -v soffice >/dev/null 2>&1 && command -v pandoc >/dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    printf '%s\n' "No LibreOffice and pandoc on PATH: the tests of old Office files are skipped." >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
{
    apt-get update -qq &&
        apt-get install -y -qq --no-install-recommends \
            libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui pandoc
} >/dev/null 2>&1 ||
    printf '%s\n' "LibreOffice could not be installed: the tests of old Office files are skipped." >&2
