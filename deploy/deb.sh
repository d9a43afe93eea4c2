#!/bin/sh
# deb.sh OUT [MAINTAINER] - builds Debian packages of the current tree into the folder OUT. It builds in
# a copy, which has the folder debian at its top. It fails if lintian finds anything.
set -eu
out=$1 maintainer=${2:-} here=$PWD
version=$(sed -n 's/^#define CMD_VERSION "\(.*\)"/\1/p' src/cli/cmd.h)
mkdir -p "$out"
out=$(cd "$out" && pwd)
copy=$out/abrd-$version
rm -rf "$copy" "$out"/*.deb "$out"/*.changes "$out"/*.buildinfo
mkdir "$copy"
tar -cf - --exclude=./.git --exclude=./build --exclude=./var --exclude=node_modules . | tar -xf - -C "$copy"
cp -r deploy/debian "$copy/debian"
cd "$copy"
if [ -n "$maintainer" ]; then
    name=$(printf %s "$maintainer" | sed 's/[\\/&]/\\&/g') # what sed would read in it
    sed -i "s/^Maintainer: .*/Maintainer: $name/" debian/control
    sed -i "s/^ -- .*>  / -- $name  /" debian/changelog
fi
grep -q "^abrd ($version)" debian/changelog || {
    echo "deb: deploy/debian/changelog has no entry for $version" >&2
    exit 1
}
dpkg-buildpackage -b -us -uc >"$out/log" 2>&1 || { tail -n 30 "$out/log" >&2; exit 1; }
cd "$out"
rm -rf "$copy"
lintian --allow-root --fail-on error,warning --info --tag-display-limit 0 ./*.changes
ls -l ./*.deb
cd "$here"
bash test/trial/deb.sh "$out"
