/**
 * playlist.js - reads from HLS playlists what a session needs.
 *
 * @module abrd/playlist
 */

import { usualOf } from './core.js';

/** The hint, as EXT-X-SESSION-DATA. */
export const PROFILE_ID = 'urn:abrd:qoe-profile';

/** @returns {{chunkS: number|null, chunks: number, live: boolean}} of a media playlist; chunks is 0 if live */
export function readPlaylist(text) {
    const runs = [...text.matchAll(/^#EXTINF:([\d.]+)/gm)].map(m => [Number(m[1]), 1]);
    const live = !/^#EXT-X-ENDLIST/m.test(text);
    return { chunkS: usualOf(runs) || null, chunks: live ? 0 : runs.length, live };
}

/** The hint of a multivariant playlist, or null. */
export function readHint(text) {
    const line = new RegExp(`^#EXT-X-SESSION-DATA:(?=.*DATA-ID="${PROFILE_ID}").*VALUE="([^"]*)"`, 'm');
    return line.exec(text)?.[1] ?? null;
}
