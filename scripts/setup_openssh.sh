#!/bin/sh
# Installs Debian's SSH server for the tests of Git over SSH, where that can be done without asking; the tests name the lack.
set -eu
if [ -x /usr/sbin/sshd ] && command -v ssh >/dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    printf '%s\n' "No SSH server: the tests of Git over SSH are skipped (apt install openssh-server)." >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
# The tests start their own; RUNLEVEL keeps the package from starting one.
if ! { apt-get update -qq && RUNLEVEL=1 apt-get install -y -qq --no-install-recommends openssh-server; } >/dev/null 2>&1; then
    printf '%s\n' "The SSH server could not be installed: the tests of Git over SSH are skipped." >&2
elif [ -d /run/systemd/system ]; then
    # Nor from the next start of the machine on.
    systemctl disable --quiet --now ssh.service ssh.socket || true
fi
