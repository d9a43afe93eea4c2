#!/usr/bin/env bash
# image.sh - builds the Dockerfile by buildah, prints what it adds to its base image, and asks a daemon
# inside for a decision, the manual, the demo's pages and its stream. `make image`; ~/.npmrc and the
# certificates of NODE_EXTRA_CA_CERTS are used if they exist. Without a container engine's rights set
# BUILDAH_ISOLATION=chroot and STORAGE_DRIVER=vfs. IMAGE=NAME tests an image that is built already.
set -u
cd "$(dirname "$0")/../.."
command -v buildah >/dev/null || { echo "make image needs buildah" >&2; exit 1; }
base=$(awk '/^FROM/ { image = $2 } END { print image }' Dockerfile) limit_mb=64 # of these, the pages with their libraries and the manual are 5
image=${IMAGE:-localhost/abrd-image}
passed=0 failed=0
check()
{
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $2"; fi
}

log=$(mktemp)
containers=()
clean()
{
    for c in ${containers[@]+"${containers[@]}"}; do buildah rm "$c" >/dev/null; done
    rm -f "$log"
}
trap clean EXIT
secret=()
[ -f ~/.npmrc ] && secret=(--secret "id=npmrc,src=$HOME/.npmrc")
[ -f "${NODE_EXTRA_CA_CERTS:-}" ] && secret+=(--secret "id=ca,src=$NODE_EXTRA_CA_CERTS")
[ -n "${IMAGE:-}" ] || buildah bud --format docker --pull=false ${secret[@]+"${secret[@]}"} -t "$image" . >"$log" 2>&1 ||
    { tail -n 20 "$log"; echo "0 passed, 1 failed"; exit 1; }

# bytes of the files that the base does not have as they are; the demo's stream is counted apart
mount_of()
{
    containers+=("$(buildah from --pull=false "$1")")
    folder=$(buildah mount "${containers[-1]}")
}
mount_of "$base"
below=$folder
mount_of "$image"
list() { (cd "$1" && find . -xdev -type f -printf '%p\t%s\t%T@\n' | sort); }
added() { comm -13 <(list "$below") <(list "$folder") | grep "$@" share/abrd/media/ | awk -F '\t' '{ s += $2 } END { printf "%.1f", s / 1e6 }'; }
mb=$(added -v)
echo "added to $base: $mb MB, at most $limit_mb wanted, and $(added -e) MB of the demo's stream"
awk -v mb="$mb" -v limit=$limit_mb 'BEGIN { exit !(mb > 1 && mb <= limit) }'
check $? "size"

said=$(buildah run "${containers[-1]}" -- sh -c '
    id -un
    abrd serve --data /var/lib/abrd --bind 0.0.0.0 --port 0 --admin-token-file /var/lib/abrd/token \
        --json /tmp/at >/tmp/log 2>&1 &
    daemon=$!
    while [ ! -s /tmp/at ] && kill -0 $daemon; do sleep .1; done
    url=$(sed -n "s/.*\"url\": \"\([^\"]*\)\".*/\1/p" /tmp/at)
    curl -fsS "$url/healthz"
    curl -fsS "$url/v1/decide" -d "{\"profile\":\"news\",\"ladder_kbps\":[300,750,1200],\"chunk_s\":4,\"buffer_s\":12}"
    for page in / /docs/ /docs/search.json /vendor/dash.mediaplayer.min.js /openapi.json /demo/links; do
        curl -sS -o /dev/null -w "$page %{http_code}\n" "$url$page"
    done
    link=$(curl -fsS "$url/demo/links" | sed -n "s/.*\"traces\":\[\"\([^\"]*\)\".*/\1/p")
    curl -sS "$url/demo/$link/a/manifest.mpd" | grep -c "abrd:quality=" | sed "s/^/stream with quality /"
    kill $daemon
    wait $daemon
    echo "ended with $?"
    which ffmpeg gcc make npm || true' 2>&1)
[[ $said == abrd$'\n'* ]]
check $? "it does not run as abrd: $said"
[[ $said == *'"status":"ok"'* ]]
check $? "health: $said"
[[ $said == *'"chunk":0,"level":'* ]]
check $? "a decision: $said"
for page in / /docs/ /docs/search.json /vendor/dash.mediaplayer.min.js /openapi.json /demo/links; do
    [[ $said == *"$page 200"* ]]
    check $? "$page: $said"
done
[[ $said == *'stream with quality '[1-9]* ]]
check $? "the demo's stream: $said"
[[ $said == *'ended with 0' ]]
check $? "its end, and no tools in it: $said"
[[ $(buildah inspect --type image --format '{{.Docker.Config.Healthcheck}}' "$image") == *healthz* ]]
check $? "health check"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
