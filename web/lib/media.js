/**
 * media.js - the media element: its stalls, seeks and buffer.
 *
 * @module abrd/media
 */

/** Whether time t [s] lies in the buffer. */
export function isBuffered({ buffered }, t) {
    for (let i = 0; i < buffered.length; i++)
        if (buffered.start(i) <= t && t < buffered.end(i)) return true;
    return false;
}

/**
 * Passes the element's events to the core.
 * @param {HTMLMediaElement} media
 * @param {import('./core.js').Core} core
 * @param {(t: number) => void} away called for a seek to t outside the buffer
 * @returns {() => void} stops watching
 */
export function watch(media, core, away) {
    const events = {
        waiting: () => core.waiting(),
        playing: () => core.playing(),
        pause: () => core.paused(),
        seeking: () => {
            core.seeking();
            if (!isBuffered(media, media.currentTime)) away(media.currentTime);
        },
    };
    const over = new AbortController(), { signal } = over;
    for (const [name, fn] of Object.entries(events)) media.addEventListener(name, fn, { signal });
    return () => over.abort();
}
