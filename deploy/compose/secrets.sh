#!/bin/sh
# secrets.sh - writes a new token (for changing profiles) and a new password of Grafana into secrets/,
# next to this script; existing files stay. Only the owner can enter the folder. A container sees the
# file with its owner and mode. As root, the script gives the token to user 999 of the image; otherwise
# the file is readable for all users that can enter the folder.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets
for name in token grafana; do
    [ -s secrets/$name ] || od -An -N24 -tx1 /dev/urandom | tr -d ' \n' > secrets/$name
done
chmod 444 secrets/grafana # of user 472
if [ "$(id -u)" -eq 0 ]; then
    chown 999:999 secrets/token
    chmod 400 secrets/token
else
    chmod 444 secrets/token
fi
echo "secrets/token, secrets/grafana (user admin)"
