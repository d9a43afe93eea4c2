#!/bin/sh
# make-media.sh OUT [SECONDS] [CHUNK_S] - encodes the demo's film at six bitrates.
#
# The film has small text over fine patterns, 240p at the lowest and 480p at the highest bitrates, so one
# sees what a bitrate is worth. A clock in the corner shows how far playback has come. The script writes
# into OUT, a new or an empty folder: <kbps>-init.mp4, <kbps>-<n>.m4s, manifest.m3u8 and, last,
# manifest.mpd with chunk sizes and a profile hint.
#
# PICTURE=grain makes the video of the tests instead: a zoom into the Mandelbrot set with film grain, all
# in 240p. The encoder reaches every bitrate with it, and a small machine decodes it at many times its
# speed, so stalls come from the link and not from the CPU. It comes with its first minute in other formats:
#
#   minute.mpd       SegmentTemplate           minute.m3u8      HLS of the same fMP4 segments
#   minute-av.mpd    with a tone as audio      minute-av.m3u8
#   minute-base.mpd  SegmentBase: three bitrates, one file each, and the tone
#
# Then `abrd video quality` measures the quality of every chunk, and the MPDs state it. This step is
# left out when there is no abrd (ABRD=PROGRAM names one). The script can be called again for it alone.
set -eu

out=${1:?usage: make-media.sh OUT [SECONDS] [CHUNK_S]}
while [ "$out" != "${out%/}" ] && [ "$out" != / ]; do out=${out%/}; done
[ ! -L "$out" ] || out=$(readlink -f "$out")
seconds=${2:-120}
chunk_s=${3:-4}
picture=${PICTURE:-film}
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
    [ -f "$out/minute.mpd" ] || { mv "$out/rated" "$out/manifest.mpd"; return; }
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

# one source, split
ffmpeg -hide_banner -v error -f lavfi -i color=s=64x64:d=0.1 -vf "drawtext=text=x" -f null - 2>/dev/null &&
    letters=yes || letters= # without a font there is no text

# size KBPS: width and height
size() {
    case $picture:$1 in
    grain:* | film:300) echo 426 240 ;;
    film:750 | film:1200) echo 640 360 ;;
    *) echo 854 480 ;;
    esac
}
bitrates=$(echo $ladder | wc -w)

grain() {
    zoom="mandelbrot=s=426x240:r=$fps:maxiter=1500:inner=black:start_scale=.5:end_scale=.00001"
    zoom="$zoom:start_x=-0.743643887037158704:start_y=0.131825904205311970:end_pts=$((fps * seconds))"
    echo "$zoom,trim=duration=$seconds,hue=h=150:s=.75,format=yuv420p,noise=alls=14:allf=t+u"
}

# grain's label shows the level; the page of the demo shows it beside the film
label() {
    [ $picture = grain ] && [ "$letters" ] || { echo null; return; }
    echo "drawbox=x=14:y=ih-44:w=142:h=30:color=black@.55:t=fill,drawtext=text='$1 kbps':x=24:y=h-38:fontsize=20:fontcolor=white"
}

# zoom X Y SCALE: a part of the film
part=$(((seconds + 4) / 5))
zoom() {
    echo "mandelbrot=s=854x480:r=$fps:maxiter=450:inner=black:start_scale=.6:end_scale=$3:start_x=$1:start_y=$2:end_pts=$((part * fps)),$same"
}
same="trim=duration=$part,format=yuv420p,setsar=1"
dark="drawbox=color=black@.62:t=fill"

film() {
    echo "$(zoom -0.743643887037158704 0.131825904205311970 .0004),hue=h=150:s=.8[p1];"
    echo "cellauto=s=427x240:rule=110:r=$fps:random_seed=3:scroll=1,scale=854:480:flags=neighbor,$same,lutyuv=y='70+val*.3':u=150:v=110[p2];"
    echo "$(zoom -0.16070135 1.0375665 .0006),hue=h=20:s=.9[p3];"
    echo "sierpinski=s=854x480:r=$fps:seed=3:jump=60,$same,lutyuv=y='60+val*.4':u=115:v=150[p4];"
    echo "$(zoom -1.25066 0.02012 .0004),hue=h=250:s=.8[p5];"
    echo "[p1][p2][p3][p4][p5]concat=n=5,trim=duration=$seconds,noise=alls=4:allf=t"
    [ "$letters" ] || return 0
    echo ",$dark:x=24:y=0:w=300:h=ih,drawtext=textfile=$tmp/text:expansion=none:x=40:y=70-5.6*t"
    echo ":fontsize=16:line_spacing=6:fontcolor=white,$dark:x=690:y=14:w=150:h=38"
    echo ",drawtext=text='%{pts\\:hms}':x=w-152:y=24:fontsize=19:fontcolor=white"
}

cat >"$tmp/text" <<'TEXT'
Every few seconds a player asks
for the next piece of a film.
Somebody has to say how sharp
that piece may be.

If it is too sharp for the link,
it comes late: the picture stops,
and the viewer waits.
If it is too coarse, the picture
is a blur, and these small letters
cannot be read.

Nobody knows how fast the link
will be in a moment. A train goes
into a tunnel, a neighbour starts
a download, a door is shut.
So whoever decides has to guess,
and to keep some seconds in store
for when the guess was wrong.

On the left the player decides
by its own rules.
On the right it asks abrd.

Both have a link of their own,
and both links are the same,
second by second.

Look at the fine lines behind
this text, and at the clock in
the corner. A clock that is
behind has waited longer.

Cut the link, and see which
picture stops first.
TEXT

graph="$($picture | tr -d '\n'),split=$bitrates"
for k in $ladder; do graph="$graph[s$k]"; done
set --
for k in $ladder; do
    wide=$(size $k)
    [ $picture = grain ] && scale=null || scale="scale=${wide% *}:${wide#* }:flags=bilinear"
    graph="$graph;[s$k]$scale,$(label "$k")[v$k]"
    set -- "$@" -map "[v$k]" -c:v libx264 -preset ultrafast -profile:v main \
        -b:v "${k}k" -maxrate "$((k * 11 / 10))k" -bufsize "${k}k" \
        -g $gop -keyint_min $gop -sc_threshold 0 -an -f dash -seg_duration "$chunk_s" \
        -use_template 1 -use_timeline 0 -init_seg_name "$k-init.mp4" \
        -media_seg_name "$k-\$Number\$.m4s" "$tmp/$k.mpd"
done
ffmpeg -hide_banner -v error -nostdin -y -filter_complex "$graph" "$@"

# codecs KBPS
codecs() { cat "$tmp/$1.codecs"; }
for k in $ladder; do
    sed -n 's/.*codecs="\([^"]*\)".*/\1/p' "$tmp/$k.mpd" | head -n 1 >"$tmp/$k.codecs"
done

# a tone, for the tests; with 32 kHz, frames of 1024 samples fill a chunk exactly
ffmpeg -hide_banner -v error -nostdin -y -f lavfi -i "sine=f=220:r=32000:d=$seconds" -c:a aac \
    -b:a ${audio_kbps}k -ac 1 -f dash -seg_duration "$chunk_s" -use_template 1 -use_timeline 0 \
    -init_seg_name audio-init.mp4 -media_seg_name "audio-\$Number\$.m4s" "$tmp/audio.mpd"
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
    [ $picture = film ] && shared= || shared=" codecs=\"$(codecs 300)\" width=\"426\" height=\"240\""
    cat <<MPD
    <AdaptationSet contentType="video" mimeType="video/mp4"$shared
                   frameRate="$fps" segmentAlignment="true" startWithSAP="1">
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
        wide=$(size $k) own=
        [ $picture = grain ] || own=" codecs=\"$(codecs $k)\" width=\"${wide% *}\" height=\"${wide#* }\""
        echo "      <Representation id=\"$k\" bandwidth=\"${k}000\"$own abrd:sizes=\"${sizes# }\"/>"
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

# playlist NAME CHUNKS: its first segments
playlist() {
    printf '#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:%d\n#EXT-X-MEDIA-SEQUENCE:1\n' "$chunk_s"
    printf '#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-MAP:URI="%s-init.mp4"\n' "$1"
    n=1
    while [ $n -le "$2" ]; do
        printf '#EXTINF:%d,\n%s-%d.m4s\n' "$chunk_s" "$1" $n
        n=$((n + 1))
    done
    echo '#EXT-X-ENDLIST'
}

# variants PREFIX KBPS ATTRIBUTES: all bitrates, each with KBPS of audio added
variants() {
    printf '#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n'
    echo '#EXT-X-SESSION-DATA:DATA-ID="urn:abrd:qoe-profile",VALUE="documentary"'
    tone=
    [ -z "$3" ] || tone=,mp4a.40.2
    [ -z "$3" ] || echo '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="tone",NAME="tone",LANGUAGE="en",DEFAULT=YES,URI="minute-audio.m3u8"'
    for k in $ladder; do
        echo "#EXT-X-STREAM-INF:BANDWIDTH=$((k + $2))000,RESOLUTION=$(size $k | tr ' ' x),FRAME-RATE=$fps,CODECS=\"$(codecs $k)$tone\"$3"
        echo "$1-$k.m3u8"
    done
}

for k in $ladder; do playlist $k $((seconds / chunk_s)) >"$tmp/all-$k.m3u8"; done
variants all 0 '' >"$tmp/manifest.m3u8"

if [ $picture = grain ]; then
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
    for name in $ladder audio; do playlist $name $chunks >"$tmp/minute-$name.m3u8"; done
    variants minute 0 '' >"$tmp/minute.m3u8"
    variants minute $audio_kbps ',AUDIO="tone"' >"$tmp/minute-av.m3u8"
else
    rm "$tmp"/audio*
fi
rm "$tmp"/*.codecs "$tmp/text"

mv "$tmp/manifest" "$tmp/manifest.mpd"
[ ! -d "$out" ] || rmdir "$out" # fails if OUT is no longer empty
mv "$tmp" "$out"
rate
