// media.mjs - streams that need no encoder: fragmented MP4 of zeros with valid boxes, and their manifests
// for DASH and HLS. A box `free` at the end of each chunk names its level.
//
// A video is {kbps, sizes, chunkS, heights?}: bitrates, bytes of chunk i at each level, seconds of a chunk, and heights
// of the pictures.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const TIMESCALE = 1000, FPS = 25;
export const LADDER = [300, 750, 1200, 1850, 2850, 4300], HEIGHTS = [240, 360, 480, 720, 720, 1080];
const CODECS = { video: 'avc1.64001f', audio: 'mp4a.40.2' };
const LABEL = 8 + 8;  // bytes of the box with the level

/** A video from Pensieve's files: video_size_0 has the bytes of the lowest level's chunks. */
export function readVideo(folder, { chunks = Infinity, chunkS = 4, kbps = LADDER } = {}) {
    const files = readdirSync(folder).filter(f => /^video_size_\d+$/.test(f));
    const levels = files.sort((a, b) => a.slice(11) - b.slice(11))
        .map(f => readFileSync(path.join(folder, f), 'utf8').trim().split(/\s+/).map(Number).slice(0, chunks));
    return { kbps, chunkS, sizes: levels[0].map((_, i) => levels.map(sizes => sizes[i])) };
}

/* ----- boxes ----- */

const u32 = (...values) => Uint8Array.from(values.flatMap(v => [v >>> 24, v >>> 16 & 255, v >>> 8 & 255, v & 255]));
const u16 = (...values) => Uint8Array.from(values.flatMap(v => [v >> 8, v & 255]));
const text = s => Uint8Array.from(s, c => c.charCodeAt(0));
const zeros = n => new Uint8Array(n);

function join(parts, total = parts.reduce((n, p) => n + p.length, 0)) {
    const all = new Uint8Array(total);
    let at = 0;
    for (const part of parts) {
        all.set(part, at);
        at += part.length;
    }
    return all;
}
const box = (type, ...parts) => {
    const content = join(parts);
    return join([u32(content.length + 8), text(type), content]);
};
const full = (type, flags, ...parts) => box(type, u32(flags), ...parts);

const MATRIX = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);
/** A sequence parameter set (high profile) and a picture parameter set. */
const SPS = Uint8Array.from([0x67, 0x64, 0, 0x1f, 0xac, 0xd9, 0x40, 0x50, 0x05, 0xbb, 1, 0x10, 0, 0, 3, 0, 0x10, 0, 0, 3, 3,
    0x20, 0xf1, 0x83, 0x19, 0x60]);
const PPS = Uint8Array.from([0x68, 0xeb, 0xe3, 0xcb, 0x22, 0xc0]);

function videoEntry(height) {
    const width = Math.round(height * 16 / 9);
    return box('avc1', zeros(6), u16(1), zeros(16), u16(width, height), u32(0x480000, 0x480000, 0), u16(1), zeros(32),
        u16(24, 0xffff), box('avcC', Uint8Array.from([1, 0x64, 0, 0x1f, 0xff, 0xe1]), u16(SPS.length), SPS,
            Uint8Array.from([1]), u16(PPS.length), PPS));
}

function audioEntry() {
    const config = Uint8Array.from([5, 2, 0x11, 0x90]); // AAC-LC, 48 kHz, two channels
    const decoder = join([Uint8Array.from([4, 13 + config.length, 0x40, 0x15, 0, 0, 0]), u32(128000, 128000), config]);
    const es = join([Uint8Array.from([3, 3 + decoder.length + 3, 0, 1, 0]), decoder, Uint8Array.from([6, 1, 2])]);
    return box('mp4a', zeros(6), u16(1), zeros(8), u16(2, 16), u32(0, 48000 << 16), full('esds', 0, es));
}

/** The initialisation segment of a track. */
export function initOf(kind, height = 0, durationS = 0) {
    const isVideo = kind === 'video', ticks = Math.round(durationS * TIMESCALE);
    const stbl = box('stbl', full('stsd', 0, u32(1), isVideo ? videoEntry(height) : audioEntry()),
        full('stts', 0, u32(0)), full('stsc', 0, u32(0)), full('stsz', 0, u32(0, 0)), full('stco', 0, u32(0)));
    const minf = box('minf', isVideo ? full('vmhd', 1, zeros(8)) : full('smhd', 0, zeros(4)),
        box('dinf', full('dref', 0, u32(1), full('url ', 1))), stbl);
    const trak = box('trak',
        full('tkhd', 3, u32(0, 0, 1, 0, ticks, 0, 0), u16(0, 0, isVideo ? 0 : 0x100, 0), MATRIX,
            u32(isVideo ? Math.round(height * 16 / 9) << 16 : 0, isVideo ? height << 16 : 0)),
        box('mdia', full('mdhd', 0, u32(0, 0, TIMESCALE, ticks), u16(0x55c4, 0)),
            full('hdlr', 0, u32(0), text(isVideo ? 'vide' : 'soun'), zeros(12), text('abrd\0')), minf));
    return join([
        box('ftyp', text('iso6'), u32(0), text('iso6avc1dash')),
        box('moov', full('mvhd', 0, u32(0, 0, TIMESCALE, ticks, 0x10000), u16(0x100, 0), zeros(8), MATRIX, zeros(24), u32(2)),
            trak, box('mvex', full('trex', 0, u32(1, 1, 0, 0, 0)))),
    ]);
}

/** A chunk of exactly `bytes`, from startS on for durationS. */
export function chunkOf({ bytes, startS, durationS, level = 0, number = 1 }) {
    const samples = Math.max(Math.round(durationS * FPS), 1), ticks = Math.round(durationS * TIMESCALE);
    const each = Math.floor(ticks / samples), start = Math.round(startS * TIMESCALE);
    const boxesOf = sizes => {
        const moof = offset => box('moof', full('mfhd', 0, u32(number)), box('traf',
            full('tfhd', 0x20000, u32(1)),
            full('tfdt', 0x1000000, u32(Math.floor(start / 2 ** 32), start % 2 ** 32)),
            full('trun', 0x701, u32(samples, offset),
                ...sizes.map((size, i) => u32(i === samples - 1 ? ticks - each * (samples - 1) : each, size,
                    i ? 0x1010000 : 0x2000000)))));
        return moof(moof(0).length + 8);
    };
    const overhead = boxesOf(Array(samples).fill(0)).length + 8 + LABEL;
    const media = Math.max(bytes - overhead, samples), size = Math.floor(media / samples);
    const sizes = Array.from({ length: samples }, (_, i) => (i ? size : media - size * (samples - 1)));
    const data = new Uint8Array(overhead + media), moof = boxesOf(sizes);
    data.set(moof);
    data.set(join([u32(media + 8), text('mdat')]), moof.length);
    data.set(join([u32(LABEL), text('free'), u32(level, number)]), data.length - LABEL);
    return data;
}

/** The boxes of a buffer: {type, at, end}; `at` is where the content begins. */
export function* boxes(data, from = 0, to = data.length) {
    const view = new DataView(data.buffer, data.byteOffset, data.length);
    for (let at = from; at + 8 <= to;) {
        const length = view.getUint32(at);
        if (length < 8) return;
        yield { type: String.fromCharCode(...data.subarray(at + 4, at + 8)), at: at + 8, end: Math.min(at + length, to) };
        at += length;
    }
}

const find = (data, types, from = 0, to = data.length) => {
    for (const b of boxes(data, from, to)) {
        if (b.type !== types[0]) continue;
        return types.length === 1 ? b : find(data, types.slice(1), b.at, b.end);
    }
    return null;
};

/** What a source buffer reads: {timescale} of an initialisation segment, or {start, end, level, number}. */
export function readMedia(data, timescale = TIMESCALE) {
    const view = new DataView(data.buffer, data.byteOffset, data.length);
    const mdhd = find(data, ['moov', 'trak', 'mdia', 'mdhd']);
    if (mdhd) return { timescale: view.getUint32(mdhd.at + 12) };
    const tfdt = find(data, ['moof', 'traf', 'tfdt']), trun = find(data, ['moof', 'traf', 'trun']);
    if (!tfdt || !trun) return null;
    const wide = data[tfdt.at] === 1;
    const start = wide ? view.getUint32(tfdt.at + 4) * 2 ** 32 + view.getUint32(tfdt.at + 8) : view.getUint32(tfdt.at + 4);
    const flags = view.getUint32(trun.at) & 0xffffff, count = view.getUint32(trun.at + 4);
    const fields = [0x100, 0x200, 0x400, 0x800].filter(f => flags & f).length;
    let at = trun.at + 8 + (flags & 1 ? 4 : 0) + (flags & 4 ? 4 : 0), ticks = 0;
    for (let i = 0; i < count; i++, at += 4 * fields) ticks += view.getUint32(at);
    const label = find(data, ['free']);
    return {
        start: start / timescale, end: (start + ticks) / timescale,
        level: label ? view.getUint32(label.at) : -1, number: label ? view.getUint32(label.at + 4) : -1,
    };
}

/* ----- manifests ----- */

/**
 * A site: the files of a video under their paths.
 *
 *   periods   chunks of each period, or {chunks, levels} of one that has only these levels; with HLS each
 *             begins with a discontinuity, and has all levels
 *   sets      [{codecs, levels}]: codecs of so many levels; one AdaptationSet each, or `mixed` in one
 *   sound     kbit/s of a second track, or of several; 0: none. The MPD has its sizes with soundStated
 *   muxed     kbit/s of sound in the files of the video; their bitrates and sizes contain it
 *   stated    the MPD has the sizes of the video's chunks
 *   live      {startMs, delayS}: a chunk is there when it is complete
 *   profile   hint of the manifest
 *
 * @returns {{dash: string, hls: string, at: (path: string, nowS: number) => {type: string, body: Uint8Array|string}|null}}
 */
export function siteOf(video, { periods: cut = [video.sizes.length], sets: given, mixed = false, sound = 0, soundStated = false, muxed = 0,
    stated = true, live = null, profile = null } = {}) {
    const { chunkS, sizes } = video, kbps = video.kbps.map(k => k + muxed), total = sizes.length * chunkS;
    const heights = video.heights ?? kbps.map((_, i) => HEIGHTS[i + Math.max(HEIGHTS.length - kbps.length, 0)] ?? 1080);
    const all = kbps.map((_, i) => i), sounds = [sound].flat().filter(Boolean);
    const sets = given ?? [{ codecs: CODECS.video, levels: all }];
    const periods = cut.map(p => ({ levels: all, ...(p.chunks ? p : { chunks: p }) }));
    // a hundredth more than the bitrate
    const soundBytes = k => Math.round(1.01 * k * chunkS * 125), inFile = Math.round(muxed * chunkS * 125);
    const codecsOf = codecs => (muxed ? `${codecs},${CODECS.audio}` : codecs);
    const setOf = level => sets.find(s => s.levels.includes(level));
    const widthOf = level => Math.round(heights[level] * 16 / 9);

    const template = first => `<SegmentTemplate timescale="1000" duration="${1000 * chunkS}" startNumber="${first + 1}"` +
        ` presentationTimeOffset="${1000 * chunkS * first}" initialization="$RepresentationID$/init.mp4"` +
        ' media="$RepresentationID$/$Number$.m4s"/>';
    const pictures = (levels, first, count) => {
        if (!levels.length) return '';
        const hint = profile ? `<SupplementalProperty schemeIdUri="urn:abrd:qoe-profile" value="${profile}"/>` : '';
        return `<AdaptationSet contentType="video" mimeType="video/mp4" segmentAlignment="true">${hint}${template(first)}` +
            levels.map(i => {
                const own = stated && !live ?
                    ` abrd:sizes="${sizes.slice(first, first + count).map(row => row[i] + inFile).join(' ')}"` : '';
                return `<Representation id="v${i}" bandwidth="${1000 * kbps[i]}" codecs="${codecsOf(setOf(i).codecs)}" width="${
                    widthOf(i)}" height="${heights[i]}" frameRate="${FPS}"${own}/>`;
            }).join('') + '</AdaptationSet>';
    };
    const tones = (first, count) => (!sounds.length ? '' :
        `<AdaptationSet contentType="audio" mimeType="audio/mp4" lang="en" segmentAlignment="true">${template(first)}${
            sounds.map((k, i) => `<Representation id="a${i}" bandwidth="${1000 * k}" codecs="${CODECS.audio}" audioSamplingRate="48000"${
                soundStated ? ` abrd:sizes="${Array(count).fill(soundBytes(k)).join(' ')}"` : ''}/>`).join('')}</AdaptationSet>`);
    const mpd = () => {
        let first = 0;
        const body = periods.map(({ chunks, levels }, i) => {
            const there = sets.map(s => s.levels.filter(l => levels.includes(l)));
            const period = `<Period id="p${i}" start="PT${first * chunkS}S"${live ? '' : ` duration="PT${chunks * chunkS}S"`}>${
                (mixed ? [there.flat().sort((a, b) => a - b)] : there).map(list => pictures(list, first, chunks)).join('')}${
                tones(first, chunks)}</Period>`;
            first += chunks;
            return period;
        }).join('');
        const about = live ? `type="dynamic" availabilityStartTime="${new Date(live.startMs).toISOString()}" minimumUpdatePeriod="PT${
            4 * chunkS}S" timeShiftBufferDepth="PT60S" suggestedPresentationDelay="PT${live.delayS}S" publishTime="${
            new Date(live.startMs).toISOString()}"` : `type="static" mediaPresentationDuration="PT${total}S"`;
        return `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" xmlns:abrd="urn:abrd:mpd" ${about}` +
            ` minBufferTime="PT${chunkS}S" profiles="urn:mpeg:dash:profile:isoff-live:2011">${body}</MPD>`;
    };
    /** Live: chunks that are complete now. */
    const complete = nowS => (live ? Math.min(Math.max(Math.floor((nowS - live.startMs / 1000) / chunkS + 1e-9), 0), sizes.length) :
        sizes.length);
    // the bitrate of a variant contains its sound
    const variant = i => {
        const bits = 1000 * (kbps[i] + (sounds[0] ?? 0)), { codecs } = setOf(i);
        return `#EXT-X-STREAM-INF:BANDWIDTH=${bits},AVERAGE-BANDWIDTH=${bits},CODECS="${codecsOf(codecs)}${
            sounds.length ? `,${CODECS.audio}` : ''}",RESOLUTION=${widthOf(i)}x${heights[i]},FRAME-RATE=${FPS}${
            sounds.length ? ',AUDIO="a"' : ''}\nv${i}.m3u8\n`;
    };
    const master = () => `#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n${
        profile ? `#EXT-X-SESSION-DATA:DATA-ID="urn:abrd:qoe-profile",VALUE="${profile}"\n` : ''}${
        sounds.length ? '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="a",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,URI="a0.m3u8"\n' : ''}${
        sets.flatMap(s => s.levels).sort((a, b) => a - b).map(variant).join('')}`;
    const breaks = new Set(periods.map((_, i) => periods.slice(0, i).reduce((n, p) => n + p.chunks, 0)).slice(1));
    const playlist = (id, nowS) => {
        const end = complete(nowS), first = live ? Math.max(end - 15, 0) : 0;
        const rows = Array.from({ length: end - first }, (_, i) => `${breaks.has(first + i) ? '#EXT-X-DISCONTINUITY\n' : ''}#EXTINF:${
            chunkS.toFixed(3)},\n${id}/${first + i + 1}.m4s`);
        return `#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:${chunkS}\n#EXT-X-MEDIA-SEQUENCE:${first + 1}\n${
            live ? '' : '#EXT-X-PLAYLIST-TYPE:VOD\n'}#EXT-X-MAP:URI="${id}/init.mp4"\n${rows.join('\n')}\n${
            live && end < sizes.length ? '' : '#EXT-X-ENDLIST\n'}`;
    };

    return {
        dash: 'a.mpd', hls: 'a.m3u8-master',
        at(file, nowS) {
            if (file === 'a.mpd') return { type: 'application/dash+xml', body: mpd() };
            if (file === 'a.m3u8-master') return { type: 'application/vnd.apple.mpegurl', body: master() };
            const list = /^([va]\d+)\.m3u8$/.exec(file);
            if (list) return { type: 'application/vnd.apple.mpegurl', body: playlist(list[1], nowS) };
            const [, id, what] = /^([va]\d+)\/(init|\d+)\.(?:mp4|m4s)$/.exec(file) ?? [];
            const isVideo = id?.[0] === 'v', level = Number(id?.slice(1));
            if (!(isVideo ? kbps : sounds)[level]) return null;
            if (what === 'init') {
                return { type: 'video/mp4', init: true,
                    body: initOf(isVideo ? 'video' : 'audio', heights[level], live ? 0 : total) };
            }
            const chunk = what - 1;
            if (!(chunk >= 0 && chunk < complete(nowS))) return null;
            const bytes = isVideo ? sizes[chunk][level] + inFile : soundBytes(sounds[level]);
            return { type: 'video/mp4', kind: isVideo ? 'video' : 'audio', chunk, level,
                body: chunkOf({ bytes, startS: chunk * chunkS, durationS: chunkS, level, number: chunk + 1 }) };
        },
    };
}
