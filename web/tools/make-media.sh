#!/bin/sh
# make-media.sh OUT [SECONDS] [CHUNK_S] - the demo's stream: six bitrates of one moving picture.
#
# 240p pictures, a flight into the Mandelbrot set under film grain: the encoder fills any
# bitrate of the ladder, and a browser on a small machine still decodes it without effort,
# so stalls come from the link and not from the CPU. Every picture says which bitrate it
# is. Writes OUT/manifest.mpd
# (chunk sizes and a profile hint inside), OUT/<kbps>-init.mp4 and OUT/<kbps>-<n>.m4s.
set -eu

out=${1:?usage: make-media.sh OUT [SECONDS] [CHUNK_S]}
seconds=${2:-120}
chunk_s=${3:-4}
ladder="300 750 1200 1850 2850 4300"
fps=24
gop=$((fps * chunk_s))

command -v ffmpeg >/dev/null || {
    echo "make-media.sh: ffmpeg is missing; 'make deps' installs it" >&2
    exit 1
}
if [ -s "$out/manifest.mpd" ]; then exit 0; fi
echo "encoding $seconds s of demo video at $(echo $ladder | wc -w) bitrates into $out"

tmp=$out.tmp
rm -rf "$tmp" && mkdir -p "$tmp"

# one source, split; the label tells the levels apart (left out where ffmpeg has no font)
label() {
    echo "drawbox=x=14:y=ih-44:w=142:h=30:color=black@.55:t=fill,drawtext=text='$1 kbps':x=24:y=h-38:fontsize=20:fontcolor=white"
}
ffmpeg -hide_banner -v error -f lavfi -i color=s=64x64:d=0.1 \
    -vf "drawtext=text=x" -f null - 2>/dev/null || label() { echo null; }

zoom="mandelbrot=s=426x240:r=$fps:maxiter=1500:inner=black:start_scale=.5:end_scale=.00001"
zoom="$zoom:start_x=-0.743643887037158704:start_y=0.131825904205311970:end_pts=$((fps * seconds))"
graph="$zoom,trim=duration=$seconds,hue=h=150:s=.75,format=yuv420p,noise=alls=14:allf=t+u"
graph="$graph,split=$(echo $ladder | wc -w)"
for k in $ladder; do graph="$graph[s$k]"; done
set --
for k in $ladder; do
    graph="$graph;[s$k]$(label "$k")[v$k]"
    set -- "$@" -map "[v$k]" -c:v libx264 -preset ultrafast -profile:v main -level 3.0 \
        -b:v "${k}k" -maxrate "$((k * 11 / 10))k" -bufsize "${k}k" \
        -g $gop -keyint_min $gop -sc_threshold 0 -an -f dash -seg_duration "$chunk_s" \
        -use_template 1 -use_timeline 0 -init_seg_name "$k-init.mp4" \
        -media_seg_name "$k-\$Number\$.m4s" "$tmp/$k.mpd"
done
ffmpeg -hide_banner -v error -nostdin -y -filter_complex "$graph" "$@"

# the manifest is ours: one AdaptationSet, the sizes of all chunks, and a hint
codecs=$(sed -n 's/.*codecs="\([^"]*\)".*/\1/p' "$tmp/300.mpd" | head -n 1)
{
    cat <<MPD
<?xml version="1.0" encoding="utf-8"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" xmlns:abrd="urn:abrd:mpd" type="static"
     profiles="urn:mpeg:dash:profile:isoff-live:2011" minBufferTime="PT${chunk_s}S"
     mediaPresentationDuration="PT${seconds}S">
  <Period id="1" start="PT0S">
    <AdaptationSet contentType="video" mimeType="video/mp4" codecs="$codecs" width="426"
                   height="240" frameRate="$fps" segmentAlignment="true" startWithSAP="1">
      <SupplementalProperty schemeIdUri="urn:abrd:qoe-profile" value="documentary"/>
      <SegmentTemplate timescale="1" duration="$chunk_s" startNumber="1"
                       initialization="\$RepresentationID\$-init.mp4"
                       media="\$RepresentationID\$-\$Number\$.m4s"/>
MPD
    for k in $ladder; do
        sizes= n=1
        while [ -f "$tmp/$k-$n.m4s" ]; do
            sizes="$sizes $(wc -c <"$tmp/$k-$n.m4s")"
            n=$((n + 1))
        done
        echo "      <Representation id=\"$k\" bandwidth=\"${k}000\" abrd:sizes=\"${sizes# }\"/>"
    done
    printf '    </AdaptationSet>\n  </Period>\n</MPD>\n'
} >"$tmp/manifest"
rm "$tmp"/*.mpd
mv "$tmp/manifest" "$tmp/manifest.mpd"
rm -rf "$out"
mv "$tmp" "$out"
