/**
 * manifest.js - reads from a DASH manifest what a session needs, before the player reads it.
 *
 * @module abrd/manifest
 *
 * @typedef {object} Period one part of the presentation, as the manifest describes it
 * @property {string} id
 * @property {Level[]} levels ascending; may be empty
 * @property {number|null} chunkS seconds per chunk; null if only the media files have it
 * @property {number} chunks 0: live, or not known yet
 * @property {string|null} profile
 *
 * @typedef {object} Level
 * @property {number} kbps
 * @property {number[]|null} sizes bytes of each chunk
 * @property {number[]|null} quality points of each chunk; a single number counts for all chunks
 * @property {number|null} height of the picture on a 16:9 screen [pixels]
 * @property {{url: string, range: string}|null} index place of the index with the sizes (SegmentBase)
 *
 * @typedef {{live: boolean, durationS: number, periods: Period[]}} Manifest
 */

import { heightOf, usualOf } from './core.js';

/**
 * On a Representation, numbers separated by spaces: `abrd:sizes`, the bytes of its chunks, and
 * `abrd:quality`, their points (0 to 100), or one number for all of them.
 */
const MPD_NS = 'urn:abrd:mpd';
const PROFILE_SCHEME = 'urn:abrd:qoe-profile';

/** "PT1H2M3.4S" to seconds; NaN if absent or malformed, or with years or months other than 0. */
export function durationS(text) {
    const m = /^P(?:0Y)?(?:0M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/.exec(text ?? '');
    return m ? [86400, 3600, 60, 1].reduce((sum, unit, i) => sum + unit * (m[i + 1] ?? 0), 0) : NaN;
}

const children = (node, name) => [...(node?.children ?? [])].filter(c => c.localName === name);

/** The first `name` among a Representation, its AdaptationSet and its Period. */
const inherited = (nodes, name) => nodes.map(n => children(n, name)[0]).find(Boolean);

function isPlayable(kind, set, rep) {
    const of = name => rep.getAttribute(name) || set.getAttribute(name);
    const mime = of('mimeType') ?? '', codecs = of('codecs');
    if (!(set.getAttribute('contentType') || mime).startsWith(kind)) return false;
    if (!mime || !codecs || !globalThis.MediaSource?.isTypeSupported) return true;
    return MediaSource.isTypeSupported(`${mime}; codecs="${codecs}"`);
}

/** Chunk length and number of one Representation; both unknown for SegmentBase. */
function segmentation(nodes, periodS) {
    const list = inherited(nodes, 'SegmentTemplate') ?? inherited(nodes, 'SegmentList');
    const timeline = children(children(list, 'SegmentTimeline')[0], 'S');
    // "r" of -1 repeats to the end of the period
    const endless = timeline.find(s => s.getAttribute('r') < 0), open = !timeline.length || endless;
    const runs = timeline.map(s => [+s.getAttribute('d'), 1 + +s.getAttribute('r')]);
    const usual = endless ? endless.getAttribute('d') : usualOf(runs);
    const chunkS = (usual ?? list?.getAttribute('duration')) / (list?.getAttribute('timescale') || 1);
    if (!(chunkS > 0)) return { chunkS: null, chunks: 0 };
    const listed = runs.reduce((n, [, chunks]) => n + chunks, 0);
    return { chunkS, chunks: open ? Math.ceil(periodS / chunkS - 1e-6) || 0 : listed };
}

function readNumbers(rep, name, isGood) {
    const numbers = rep.getAttributeNS(MPD_NS, name)?.trim().split(/\s+/).map(Number);
    return numbers?.every(isGood) ? numbers : null;
}

/** The place of the index of a Representation with SegmentBase; `base`: the manifest's address. */
function indexOf(nodes, base) {
    const range = inherited(nodes, 'SegmentBase')?.getAttribute('indexRange');
    if (!range) return null;
    const bases = nodes.map(n => children(n, 'BaseURL')[0]?.textContent.trim()).filter(Boolean);
    try {
        // the address may be relative to the page
        return { url: [...bases, base].reduceRight((url, b) => new URL(b, url).href, globalThis.location?.href), range };
    } catch {
        return null; // not an address: use the rest of the manifest
    }
}

/**
 * @param {string} text the MPD; anything else gives no periods
 * @param {string} [base] its address, after redirects
 * @returns {Manifest}
 */
export function readManifest(text, base) {
    const mpd = new DOMParser().parseFromString(text, 'application/xml').documentElement;
    if (mpd?.localName !== 'MPD') return { live: false, durationS: NaN, periods: [] };
    const live = mpd.getAttribute('type') === 'dynamic';
    const total = durationS(mpd.getAttribute('mediaPresentationDuration'));
    const nodes = children(mpd, 'Period');
    let start = 0;

    const periods = nodes.map((node, i) => {
        const own = durationS(node.getAttribute('start'));
        if (own >= 0) start = own;
        const next = durationS(nodes[i + 1]?.getAttribute('start'));
        const given = durationS(node.getAttribute('duration'));
        const lasts = given || (next || total) - start;
        const period = readPeriod(mpd, node, i, lasts, base);
        if (live) period.chunks = 0;
        start += lasts || 0;
        return period;
    });
    return { live, durationS: live ? NaN : total, periods };
}

function readPeriod(mpd, node, i, lastsS, base) {
    // as dash.js names a period without an id
    const id = node.getAttribute('id') ?? `defaultId_${i}`;
    const setsOf = kind => children(node, 'AdaptationSet').map(set => ({
        set,
        reps: children(set, 'Representation').filter(r => isPlayable(kind, set, r)),
    }));
    const { set, reps } = setsOf('video').find(s => s.reps.length) ?? { reps: [] };

    const levels = reps
        .map(r => ({
            kbps: +r.getAttribute('bandwidth') / 1000,
            sizes: readNumbers(r, 'sizes', b => b > 0),
            quality: readNumbers(r, 'quality', q => q >= 0 && q <= 100),
            height: heightOf(...['width', 'height'].map(name => +(r.getAttribute(name) || set.getAttribute(name)))),
            index: indexOf([r, set, node, mpd], base),
        }))
        .sort((a, b) => a.kbps - b.kbps)
        .filter((l, k, all) => !k || l.kbps > all[k - 1].kbps);
    const hint = [set, node, mpd].flatMap(n => children(n, 'SupplementalProperty'))
        .find(p => p.getAttribute('schemeIdUri') === PROFILE_SCHEME);
    const cut = segmentation([reps[0], set, node], lastsS);
    const sound = setsOf('audio').flatMap(s => s.reps)
        .map(r => ({ kbps: +r.getAttribute('bandwidth') / 1000, sizes: readNumbers(r, 'sizes', b => b > 0) }))
        .sort((a, b) => a.kbps - b.kbps);
    return { id, levels, ...cut, profile: hint?.getAttribute('value') || null, sound };
}

