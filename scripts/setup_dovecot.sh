#!/bin/sh
# Installs Debian's IMAP server for the tests of mailboxes, where that can be done without asking; the tests name the lack.
set -eu
if [ -x /usr/sbin/dovecot ] && [ -x /usr/lib/dovecot/imap ]; then
    exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    printf '%s\n' "No Dovecot: the tests of mailboxes are skipped (apt install dovecot-imapd)." >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
# The tests start their own; RUNLEVEL keeps the package from starting one.
if ! { apt-get update -qq && RUNLEVEL=1 apt-get install -y -qq --no-install-recommends dovecot-imapd; } >/dev/null 2>&1; then
    printf '%s\n' "Dovecot could not be installed: the tests of mailboxes are skipped." >&2
elif [ -d /run/systemd/system ]; then
    # Nor from the next start of the machine on.
    systemctl disable --quiet --now dovecot.service dovecot.socket || true
fi
