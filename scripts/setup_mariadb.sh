#!/bin/sh
# Installs Debian's MariaDB server for the tests of MySQL, where that can be done without asking; the tests name the lack.
set -eu
if [ -x /usr/sbin/mariadbd ] && command -v mariadb-install-db >/dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    printf '%s\n' "No MariaDB: the tests of MySQL are skipped (apt install mariadb-server-core mariadb-client-core)." >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
# The programs alone, without a server of the machine: the tests start their own.
if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends mariadb-server-core mariadb-client-core; } >/dev/null 2>&1; then
    printf '%s\n' "MariaDB could not be installed: the tests of MySQL are skipped." >&2
fi
