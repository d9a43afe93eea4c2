#!/usr/bin/env bash
# deb.sh FOLDER - the Debian packages in it, unpacked and tried: `make deb` runs this at its end.
set -u
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. test/ok.sh

for p in "$folder"/abrd_*.deb "$folder"/libabrd-dev_*.deb; do
    ok "$p" dpkg-deb -x "$p" "$work"
    ok "$p: control" dpkg-deb -e "$p" "$work/control-$(basename "$p")"
done
abrd=$work/usr/bin/abrd

ok 'its policy plays' bash -c "cd / && '$abrd' eval --policy moe --profile news --quiet"
mkdir "$work/data"
sed "s,^data = .*,data = $work/data," "$work/etc/abrd.conf" >"$work/conf"
ok 'its configuration is sound' bash -c \
    "'$abrd' doctor --config '$work/conf' --port 0 --max-connections 100 --json - | grep -q '\"store\"'"
ok 'the unit names its program and configuration' grep -q \
    '^ExecStart=/usr/bin/abrd serve --config /etc/abrd.conf$' "$work/lib/systemd/system/abrd.service"
ok 'the configuration is a conffile' grep -qx /etc/abrd.conf "$work"/control-abrd_*/conffiles
ok 'the service is set up' grep -q 'abrd.service' "$work"/control-abrd_*/postinst
# debhelper's code for --no-enable enables a unit again only if an earlier version of the package had it
ok 'retraining waits for somebody to enable it' bash -c \
    "grep -q \"if deb-systemd-helper debian-installed 'abrd-retrain.timer'\" '$work'/control-abrd_*/postinst &&
     ! grep -q 'deb-systemd-invoke.*abrd-retrain.timer' '$work'/control-abrd_*/postinst"
ok 'the port is left to its owner' bash -c "! grep -q 'deb-systemd-invoke.*abrd.socket' '$work'/control-abrd_*/postinst"
# the package's own has what debhelper adds, for the machine's systemd
ok 'it does more on a purge' grep -q /var/lib/private/abrd "$work"/control-abrd_*/postrm
ok 'a purge takes the data along' bash -c \
    "mkdir -p '$work/tree/var/lib/private/abrd' && touch '$work/tree/var/lib/private/abrd/abrd.db' &&
     ln -s private/abrd '$work/tree/var/lib/abrd' &&
     DPKG_ROOT='$work/tree' sh deploy/debian/abrd.postrm remove && test -e '$work/tree/var/lib/abrd/abrd.db' &&
     DPKG_ROOT='$work/tree' sh deploy/debian/abrd.postrm purge &&
     ! test -e '$work/tree/var/lib/private/abrd' && ! test -L '$work/tree/var/lib/abrd'"
for page in "$work"/usr/share/man/man8/*.8.gz; do
    ok "$page" test -z "$(MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)"
done
ok 'no page is missing' bash -c "[ \$(ls '$work'/usr/share/man/man8 | wc -l) -gt 9 ]"

multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
export PKG_CONFIG_PATH=$work/usr/lib/$multiarch/pkgconfig PKG_CONFIG_SYSROOT_DIR=$work
ok 'the example is built' bash -c \
    "gcc '$work/usr/share/doc/libabrd-dev/examples/play.c' \$(pkg-config --cflags --libs abrd) -o '$work/play'"
ok 'and plays' "$work/play" "$work/usr/share/abrd/deploy/policy/moe.safetensors" traces/3g-commute-00
# a header for C++ as well
ok 'C++ reads the header' bash -c \
    "echo '#include <abrd/policy.h>' | g++ -x c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only \$(pkg-config --cflags abrd) -"

ok_finish
