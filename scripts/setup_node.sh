#!/bin/sh
# Installs the Node packages that some tests drive, where Node is there; the tests name the lack.
set -eu
cd "$(dirname "$0")/.."
for lock in tests/e2e/*/package-lock.json; do
    [ -f "$lock" ] || continue
    folder=$(dirname "$lock")
    stamp="$folder/node_modules/.installed"
    wanted=$(cksum <"$lock")
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
        continue
    fi
    if ! command -v npm >/dev/null 2>&1; then
        printf '%s\n' "No npm on PATH: the tests in $folder are skipped." >&2
        continue
    fi
    (cd "$folder" && npm ci --no-audit --no-fund --loglevel=error)
    printf '%s' "$wanted" >"$stamp"
done
