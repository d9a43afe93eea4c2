// live.mjs - a stream that grows while it is watched: the demo's chunks appear one by one in manifests
// that are written anew.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const CHUNK_S = 4, FIRST = 6, TICK_MS = 500;
const LADDER = [300, 750, 1200, 1850, 2850, 4300];
const CODECS = 'avc1.42c01e';

function mpd(begun, n) {
    const reps = LADDER.map(k => `<Representation id="${k}" bandwidth="${k}000"/>`).join('');
    return `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="dynamic" minBufferTime="PT4S" ` +
        `profiles="urn:mpeg:dash:profile:isoff-live:2011" availabilityStartTime="${new Date(begun).toISOString()}" ` +
        `publishTime="${new Date().toISOString()}" minimumUpdatePeriod="PT1S" timeShiftBufferDepth="PT120S" ` +
        'suggestedPresentationDelay="PT12S"><Period id="1" start="PT0S"><AdaptationSet contentType="video" ' +
        `mimeType="video/mp4" codecs="${CODECS}" width="426" height="240" segmentAlignment="true" startWithSAP="1"><SegmentTemplate timescale="1" startNumber="1" ` +
        'initialization="$RepresentationID$-init.mp4" media="$RepresentationID$-$Number$.m4s"><SegmentTimeline>' +
        `<S t="0" d="${CHUNK_S}" r="${n - 1}"/></SegmentTimeline></SegmentTemplate>${reps}</AdaptationSet></Period></MPD>`;
}

function playlist(k, n) {
    const chunks = Array.from({ length: n }, (_, i) => `#EXTINF:${CHUNK_S},\n${k}-${i + 1}.m4s\n`).join('');
    return `#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:${CHUNK_S}\n#EXT-X-MEDIA-SEQUENCE:1\n` +
        `#EXT-X-MAP:URI="${k}-init.mp4"\n${chunks}`;
}

const master = '#EXTM3U\n#EXT-X-VERSION:7\n' + LADDER.map(k =>
    `#EXT-X-STREAM-INF:BANDWIDTH=${k}000,RESOLUTION=426x240,CODECS="${CODECS}"\nlive-${k}.m3u8\n`).join('');

/** A folder with live.mpd and live.m3u8; a chunk more every CHUNK_S seconds. */
export function liveMedia(source) {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'abrd-live-'));
    for (const name of fs.readdirSync(source))
        if (/^\d+-(init\.mp4|\d+\.m4s)$/.test(name)) fs.symlinkSync(path.join(source, name), path.join(dir, name));
    const begun = Date.now() - FIRST * CHUNK_S * 1000;
    let written = 0;
    const chunks = () => Math.floor((Date.now() - begun) / 1000 / CHUNK_S);
    const put = (name, text) => {
        fs.writeFileSync(path.join(dir, 'new'), text);
        fs.renameSync(path.join(dir, 'new'), path.join(dir, name));
    };
    const grow = () => {
        const n = chunks();
        if (n === written) return;
        written = n;
        for (const k of LADDER) put(`live-${k}.m3u8`, playlist(k, n));
        put('live.m3u8', master);
        put('manifest.mpd', mpd(begun, n));
        put('live.mpd', mpd(begun, n));
    };
    grow();
    const timer = setInterval(grow, TICK_MS);
    return {
        dir, chunks,
        stop: () => { clearInterval(timer); fs.rmSync(dir, { recursive: true, force: true }); },
    };
}
