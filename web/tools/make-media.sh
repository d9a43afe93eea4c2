#!/bin/sh
# make-media.sh OUT [SECONDS] [CHUNK_S] - encodes the demo's video at six bitrates.
#
# It is a zoom into the Mandelbrot set with film grain, in 240p. The encoder reaches every bitrate of the
# ladder with it, and a small machine still decodes it easily, so stalls come from the link and not from
# the CPU. The picture shows its bitrate. The script writes into OUT, a new or an empty folder:
# <kbps>-init.mp4, <kbps>-<n>.m4s and, last, manifest.mpd with chunk sizes and a profile hint. It also
# writes the first minute in other formats:
#
#   minute.mpd       SegmentTemplate           minute.m3u8      HLS of the same fMP4 segments
#   minute-av.mpd    with a tone as audio      minute-av.m3u8
#   minute-base.mpd  SegmentBase: three bitrates, one file each, and the tone
#
# Then `abrd video quality` measures the quality of every chunk, and the four MPDs state it. This step is
# left out when there is no abrd (ABRD=PROGRAM names one). The script can be called again for it alone.
set -eu

out=${1:?usage: make-media.sh OUT [SECONDS] [CHUNK_S]}
while [ "$out" != "${out%/}" ] && [ "$out" != / ]; do out=${out%/}; done
[ ! -L "$out" ] || out=$(readlink -f "$out")
seconds=${2:-120}
chunk_s=${3:-4}
ladder="300 750 1200 1850 2850 4300"
audio_kbps=64
fps=24
gop=$((fps * chunk_s))

command -v ffmpeg >/dev/null || {
    echo "make-media.sh: ffmpeg is missing; 'make deps' installs it" >&2
    exit 1
}

# rate: measures the quality of the chunks and writes it into the MPDs
abrd=${ABRD-abrd} # empty: none
rate() {
    if grep -q abrd:quality= "$out/manifest.mpd" || ! command -v "${abrd:-no abrd}" >/dev/null; then
        return
    fi
    echo "measuring the quality of the demo video"
    if ! "$abrd" video quality "$out/manifest.mpd" --metric ssim --quiet --mpd "$out/rated" >/dev/null; then
        echo "make-media.sh: $out/manifest.mpd states no quality" >&2
        return
    fi
    last=$(((seconds < 60 ? seconds : 60) / chunk_s))
    for k in $ladder; do
        points=$(sed -n "s/.* id=\"$k\" .*abrd:quality=\"\([^\"]*\)\".*/\1/p" "$out/rated" | cut -d ' ' -f "1-$last")
        for name in minute minute-av minute-base; do
            sed -i "s/<Representation id=\"$k\" /&abrd:quality=\"$points\" /" "$out/$name.mpd"
        done
    done
    mv "$out/rated" "$out/manifest.mpd"
}

if [ -s "$out/manifest.mpd" ]; then
    rate
    exit 0
fi
if [ -e "$out" ] && { [ ! -d "$out" ] || [ -n "$(ls -A "$out")" ]; }; then
    echo "make-media.sh: $out exists and is not empty; give a new folder" >&2
    exit 1
fi
echo "encoding $seconds s of demo video at $(echo $ladder | wc -w) bitrates into $out"

# next to OUT, so that it can be renamed to OUT
mkdir -p "$(dirname "$out")"
tmp=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
chmod 755 "$tmp"

# one source, split; the label shows the level (left out if ffmpeg has no font)
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

# a tone; with 32 kHz, frames of 1024 samples fill a chunk exactly
ffmpeg -hide_banner -v error -nostdin -y -f lavfi -i "sine=f=220:r=32000:d=$seconds" -c:a aac \
    -b:a ${audio_kbps}k -ac 1 -f dash -seg_duration "$chunk_s" -use_template 1 -use_timeline 0 \
    -init_seg_name audio-init.mp4 -media_seg_name "audio-\$Number\$.m4s" "$tmp/audio.mpd"
codecs=$(sed -n 's/.*codecs="\([^"]*\)".*/\1/p' "$tmp/300.mpd" | head -n 1)
rm "$tmp"/*.mpd
minute=$((seconds < 60 ? seconds : 60))
chunks=$((minute / chunk_s))

# mpd SECONDS TYPE: an MPD with one Period around stdin
mpd() {
    cat <<MPD
<?xml version="1.0" encoding="utf-8"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" xmlns:abrd="urn:abrd:mpd" type="static"
     profiles="urn:mpeg:dash:profile:isoff-$2:2011" minBufferTime="PT${chunk_s}S"
     mediaPresentationDuration="PT$1S">
  <Period id="1" start="PT0S">
MPD
    cat
    printf '  </Period>\n</MPD>\n'
}

# the AdaptationSet of the video around stdin, with a hint
pictures() {
    cat <<MPD
    <AdaptationSet contentType="video" mimeType="video/mp4" codecs="$codecs" width="426"
                   height="240" frameRate="$fps" segmentAlignment="true" startWithSAP="1">
      <SupplementalProperty schemeIdUri="urn:abrd:qoe-profile" value="documentary"/>
MPD
    cat
    echo '    </AdaptationSet>'
}

tone() {
    cat <<MPD
    <AdaptationSet contentType="audio" mimeType="audio/mp4" codecs="mp4a.40.2" lang="en"
                   segmentAlignment="true" startWithSAP="1">
MPD
    cat
    echo '    </AdaptationSet>'
}

template() {
    cat <<MPD
      <SegmentTemplate timescale="1" duration="$chunk_s" startNumber="1"
                       initialization="\$RepresentationID\$-init.mp4"
                       media="\$RepresentationID\$-\$Number\$.m4s"/>
MPD
}

# levels LAST: every bitrate, with the sizes of its chunks up to LAST
levels() {
    template
    for k in $ladder; do
        sizes= n=1
        while [ $n -le "$1" ] && [ -f "$tmp/$k-$n.m4s" ]; do
            sizes="$sizes $(wc -c <"$tmp/$k-$n.m4s")"
            n=$((n + 1))
        done
        echo "      <Representation id=\"$k\" bandwidth=\"${k}000\" abrd:sizes=\"${sizes# }\"/>"
    done
}

sound() {
    template
    echo "      <Representation id=\"audio\" bandwidth=\"${audio_kbps}000\" audioSamplingRate=\"32000\"/>"
}

# whole NAME: writes the first minute of NAME as one file with an index, and prints the place of the index
whole() {
    n=1
    { cat "$tmp/$1-init.mp4"; while [ $n -le $chunks ]; do cat "$tmp/$1-$n.m4s"; n=$((n + 1)); done; } |
        ffmpeg -hide_banner -v error -nostdin -y -i pipe:0 -c copy -f mp4 \
            -movflags +dash+global_sidx -frag_duration "${chunk_s}000000" "$tmp/minute-$1.mp4"
    at=0
    while :; do # the file consists of boxes: length, name, content
        length=$(od -A n -t u4 --endian=big -j $at -N 4 "$tmp/minute-$1.mp4" | tr -d ' ')
        case $(dd if="$tmp/minute-$1.mp4" bs=1 skip=$((at + 4)) count=4 2>/dev/null) in
        sidx) break ;;
        '') echo "make-media.sh: minute-$1.mp4 has no index" >&2; exit 1 ;;
        esac
        at=$((at + length))
    done
    cat <<MPD
        <BaseURL>minute-$1.mp4</BaseURL>
        <SegmentBase indexRange="$at-$((at + length - 1))"><Initialization range="0-$((at - 1))"/></SegmentBase>
      </Representation>
MPD
}

levels $((seconds / chunk_s + 1)) | pictures | mpd "$seconds" live >"$tmp/manifest"
levels $chunks | pictures | mpd $minute live >"$tmp/minute.mpd"
{ levels $chunks | pictures; sound | tone; } | mpd $minute live >"$tmp/minute-av.mpd"
{
    for k in 300 750 1200; do
        echo "      <Representation id=\"$k\" bandwidth=\"${k}000\">"
        whole $k
    done | pictures
    {
        echo "      <Representation id=\"audio\" bandwidth=\"${audio_kbps}000\" audioSamplingRate=\"32000\">"
        whole audio
    } | tone
} | mpd $minute on-demand >"$tmp/minute-base.mpd"

# playlist NAME: the segments of its first minute
playlist() {
    printf '#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:%d\n#EXT-X-MEDIA-SEQUENCE:1\n' "$chunk_s"
    printf '#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-MAP:URI="%s-init.mp4"\n' "$1"
    n=1
    while [ $n -le $chunks ]; do
        printf '#EXTINF:%d,\n%s-%d.m4s\n' "$chunk_s" "$1" $n
        n=$((n + 1))
    done
    echo '#EXT-X-ENDLIST'
}

# variants CODECS KBPS ATTRIBUTES: all bitrates, each with KBPS of audio added
variants() {
    printf '#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n'
    echo '#EXT-X-SESSION-DATA:DATA-ID="urn:abrd:qoe-profile",VALUE="documentary"'
    [ -z "$3" ] || echo '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="tone",NAME="tone",LANGUAGE="en",DEFAULT=YES,URI="minute-audio.m3u8"'
    for k in $ladder; do
        echo "#EXT-X-STREAM-INF:BANDWIDTH=$((k + $2))000,RESOLUTION=426x240,FRAME-RATE=$fps,CODECS=\"$1\"$3"
        echo "minute-$k.m3u8"
    done
}

for name in $ladder audio; do playlist $name >"$tmp/minute-$name.m3u8"; done
variants "$codecs" 0 '' >"$tmp/minute.m3u8"
variants "$codecs,mp4a.40.2" $audio_kbps ',AUDIO="tone"' >"$tmp/minute-av.m3u8"

mv "$tmp/manifest" "$tmp/manifest.mpd"
[ ! -d "$out" ] || rmdir "$out" # fails if OUT is no longer empty
mv "$tmp" "$out"
rate
