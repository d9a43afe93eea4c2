#!/usr/bin/env bash
# quality.sh - how far is the curve of abr/emulator/quality.h off measured quality? Prints two tables:
# Envivio's video, whose VMAF is known for every chunk, and eight kinds of generated content, encoded at
# six levels and measured with `abrd video quality` against their source.
#
#   SHARED=DIR   holds video/envivio-dash3 and video/envivio-vmaf (default ../shared)
#   FFMPEG=1     0 leaves the generated content out
#
# Takes about a minute. A part whose data or program is missing is skipped with one line. Exit code 0
# whatever the errors are, 1 when a command failed.
set -euo pipefail
cd "$(dirname "$0")/../.."
shared=${SHARED:-../shared} ffmpeg=${FFMPEG:-1} abrd=build/abrd
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# column NAME: that column of a CSV with a header
column() { awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } { print $at }'; }

envivio()
{
    local sizes=$shared/video/envivio-dash3 vmaf=$shared/video/envivio-vmaf k
    if [ ! -d "$sizes" ] || [ ! -d "$vmaf" ]; then
        echo "quality.sh: skipped, $sizes or $vmaf is not there"
        return
    fi
    $abrd video show "$sizes" --csv - 2>/dev/null | column quality >"$tmp/curve"
    for k in 0 1 2 3 4 5; do tr -d '\r' <"$vmaf/vmaf_$k" | awk -v k=$k 'NF { print k, $1 }'; done >"$tmp/vmaf"
    echo "Envivio, VMAF against the curve of the bitrates"
    awk 'NR == FNR { curve[NR - 1] = $1; next }
         { n[$1]++; sum[$1] += $2; d = curve[$1] - $2; off[$1] += d < 0 ? -d : d }
         END {
             printf "%-8s%8s%8s%14s%18s\n", "level", "VMAF", "curve", "error of mean", "error of a chunk"
             for (k = 0; k in n; k++) {
                 d = curve[k] - sum[k] / n[k]
                 printf "%-8d%8.1f%8.1f%14.1f%18.1f\n", k, sum[k] / n[k], curve[k], d, off[k] / n[k]
                 mean += d < 0 ? -d : d; chunk += off[k] / n[k]
             }
             printf "%-8s%30.1f%18.1f\n\n", "mean", mean / k, chunk / k
         }' "$tmp/curve" "$tmp/vmaf"
}

# encode NAME INPUT... : the source and its six levels, 1 s in 1080p
encode()
{
    local name=$1 level height kbps
    shift
    mkdir -p "$tmp/$name"
    ffmpeg -hide_banner -v error -nostdin -y "$@" -t 1 -pix_fmt yuv420p -c:v libx264 \
        -preset ultrafast -qp 1 "$tmp/$name.mp4"
    for level in 240:300 360:750 480:1200 720:1850 720:2850 1080:4300; do
        height=${level%:*} kbps=${level#*:}
        ffmpeg -hide_banner -v error -nostdin -y -i "$tmp/$name.mp4" -vf "scale=-2:$height:flags=bicubic" \
            -c:v libx264 -preset veryfast -b:v "${kbps}k" -maxrate "${kbps}k" -bufsize "${kbps}k" \
            "$tmp/$name/$kbps.mp4"
    done
    $abrd video quality "$tmp/$name" --reference "$tmp/$name.mp4" --metric ssim --chunk-s 1 --quiet \
        --csv "$tmp/$name.csv" >/dev/null
}

# The curve of the bitrates and heights that were measured.
curve()
{
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { k = k s $at["kbps"]; h = h s $at["height"]; b = b s 8 * int(125 * $at["kbps"]); s = ", " }
        END { printf "{\"segment_duration_ms\": 1000, \"bitrates_kbps\": [%s], \"heights\": [%s], " \
                     "\"segment_sizes_bits\": [[%s]]}\n", k, h, b }' "$1" >"$tmp/curve.json"
    $abrd video show "$tmp/curve.json" --csv - 2>/dev/null | column quality
}

generated()
{
    local r=s=1920x1080:r=24 name
    if [ "$ffmpeg" = 0 ] || ! command -v ffmpeg >/dev/null; then
        echo "quality.sh: generated content is skipped, ffmpeg is missing or FFMPEG=0"
        return
    fi
    encode testsrc2 -f lavfi -i "testsrc2=$r"
    encode mandelbrot -f lavfi -i "mandelbrot=$r:maxiter=800:start_scale=.05:end_scale=.00005:end_pts=300"
    encode noise -f lavfi -i "smptehdbars=$r" -vf noise=alls=20:allf=t
    encode gradients -f lavfi -i "gradients=$r:speed=.03:nb_colors=6:seed=7"
    encode life -f lavfi -i "life=s=320x180:r=24:mold=10:ratio=.1:seed=3:death_color=#C83232:life_color=#00ff00" \
        -vf scale=1920:1080
    fold -w 100 README.md >"$tmp/readme"
    if [ -n "$(ffmpeg -hide_banner -filters 2>/dev/null | grep ' drawtext ')" ]; then
        encode text -f lavfi -i "color=c=white:$r" \
            -vf "drawtext=expansion=none:textfile=$tmp/readme:fontsize=26:x=20:y=-80*t"
    fi
    encode zoom -f lavfi -i "mandelbrot=s=2560x1440:r=1:maxiter=500:start_scale=.01:end_scale=.0099" \
        -vf "trim=end_frame=1,zoompan=z=1+.004*on:d=24:s=1920x1080:fps=24:x=iw/2-iw/zoom/2:y=ih/2-ih/zoom/2"
    encode grain -f lavfi -i "mandelbrot=$r:maxiter=400:start_scale=.3:end_scale=.01" \
        -vf gblur=sigma=4,noise=alls=9:allf=t+u
    echo "Generated content, SSIM as points against the curve of bitrates and heights"
    for name in "$tmp"/*.csv; do
        paste -d ' ' <(column quality <"$name") <(curve "$name") | awk -v name="$(basename "$name" .csv)" \
            '{ d = $2 - $1; off += d < 0 ? -d : d; both = both sprintf(" %4.0f/%-4.0f", $1, $2) }
             END { printf "%-12s%s  mean error %5.1f\n", name, both, off / NR }'
    done | tee "$tmp/generated"
    awk '{ sum += $NF } END { printf "%-12s%s %5.1f\n", "mean", "measured/curve of six levels; error", sum / NR }' "$tmp/generated"
}

envivio
generated
