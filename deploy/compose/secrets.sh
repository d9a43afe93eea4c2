#!/bin/sh
# secrets.sh - the token for writing profiles and Grafana's password, new ones, into secrets/ beside
# this script; what is there stays. The folder is its owner's alone. Inside the containers a secret is
# the file as it is here: for root they become the daemon's (user 999 of the image), else all may
# read the file - once they are in the folder.
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
