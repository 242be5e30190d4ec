#!/bin/sh
# Installs Debian's programs and servers that only tests use, where that can be done without asking; the tests name the lack.
set -eu

missing=
# require PACKAGES PROGRAM|FILE...
require() {
    packages=$1
    shift
    for program; do
        command -v "$program" >/dev/null 2>&1 || [ -e "$program" ] || { missing="$missing $packages"; return; }
    done
}
parts=/usr/lib/libreoffice/share/.registry
if ! command -v soffice >/dev/null 2>&1 || [ -d $parts ]; then
    # One program, of which Debian has the parts for texts, tables and slides in packages of their own.
    require libreoffice-writer-nogui $parts/writer.xcd
    require libreoffice-calc-nogui $parts/calc.xcd
    require libreoffice-impress-nogui $parts/impress.xcd
fi
tessdata=$(ls -d /usr/share/tesseract-ocr/*/tessdata 2>/dev/null | tail -n 1)
require tesseract-ocr-eng "$tessdata/eng.traineddata"
require tesseract-ocr-chi-sim "$tessdata/chi_sim.traineddata"
require pandoc pandoc
require dovecot-imapd /usr/sbin/dovecot /usr/lib/dovecot/imap
require "mariadb-server-core mariadb-client-core" /usr/sbin/mariadbd mariadb-install-db my_print_defaults
require openssh-server /usr/sbin/sshd ssh
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    printf '%s\n' "Not installed, so tests are skipped that need them (apt install$missing)." >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >/dev/null 2>&1 || true
# The tests start their own servers; RUNLEVEL keeps the packages from starting any.
install() {
    RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1
}
# shellcheck disable=SC2086 # words are packages
if ! install $missing; then
    # Where one of them has another name, the others are there all the same.
    for package in $missing; do
        install "$package" || printf '%s\n' "Could not be installed, so tests are skipped that need it: $package." >&2
    done
fi
if [ -d /run/systemd/system ]; then
    # Nor from the next start of the machine on.
    for service in dovecot ssh; do
        case $missing in
            *" $service"-* | *" open$service"-*) systemctl disable --quiet --now $service.service $service.socket || true ;;
        esac
    done
fi
