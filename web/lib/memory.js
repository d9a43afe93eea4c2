/**
 * memory.js - what a page remembers of the viewer's link from one visit to the next. A page that may store
 * it (by consent, where the law asks for it) connects it to the plugin:
 *
 *     import { linkMemory } from '@abrd/player/memory';
 *     const memory = linkMemory();
 *     attach(player, { link: memory.link() }).on('chunk', memory.note);
 *
 * The record lies in localStorage: for each kind of network the throughputs of the last chunks, at most
 * MOST, and when they were written. It names no video and no viewer. The first session of a visit begins
 * with one cautious measurement, a low quantile of the record; then its own chunks count.
 *
 * @module abrd/memory
 */

const MOST = 32, LOW = .25, LEAST = 4, USUAL_S = 2;

/** The kind of network, as far as the browser says it. */
const kind = () => {
    const { type, effectiveType } = globalThis.navigator?.connection ?? {};
    return type || effectiveType || 'unknown';
};

/** undefined where the browser forbids it: then the property itself throws. */
const pageStorage = () => {
    try { return globalThis.localStorage; } catch { return undefined; }
};

/**
 * @param {object} [options]
 * @param {string} [options.key] name of the record
 * @param {number} [options.maxAgeS] an older record does not count (7 days)
 * @param {Storage} [options.storage]
 * @returns {import('./memory').LinkMemory}
 */
export function linkMemory({ key = 'abrd:link', maxAgeS = 7 * 86400, storage = pageStorage() } = {}) {
    const read = () => {
        // storage may be full, forbidden or hold anything
        try { return JSON.parse(storage.getItem(key)) ?? {}; } catch { return {}; }
    };
    return {
        link() {
            const { at, kbps } = read()[kind()] ?? {};
            const old = !(Math.abs(Date.now() / 1000 - at) <= maxAgeS);
            if (old || !Array.isArray(kbps) || kbps.length < LEAST || !kbps.every(x => x > 0)) return [];
            return [{ bytes: [...kbps].sort((a, b) => a - b)[Math.floor(LOW * kbps.length)] * 125 * USUAL_S, download_s: USUAL_S }];
        },
        note({ bytes, download_s }) {
            const rate = bytes / 125 / download_s;
            if (!(rate > 0)) return;
            const all = read(), before = all[kind()]?.kbps, kbps = [...Array.isArray(before) ? before : [], Math.round(rate)];
            try {
                storage.setItem(key, JSON.stringify({ ...all, [kind()]: { at: Math.round(Date.now() / 1000), kbps: kbps.slice(-MOST) } }));
            } catch { /* then nothing is remembered */ }
        },
        forget() {
            try { storage.removeItem(key); } catch { /* there is none */ }
        },
    };
}
