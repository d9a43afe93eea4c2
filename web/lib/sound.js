/**
 * sound.js - what a link leaves for the video, as src/serve/session/sound.h computes it.
 *
 * @module abrd/sound
 */

const LEAST_SHARE = 1 / 20;

/** The throughput of a whole link less the bitrate of the sound that comes with the video [kbit/s]. */
export const leftKbps = (kbps, otherKbps) => (otherKbps > 0 ? Math.max(kbps - otherKbps, kbps * LEAST_SHARE) : kbps);

/** The same of a chunk; without other_bytes its own throughput. */
export const measuredKbps = ({ bytes, download_s, other_bytes = 0, other_kbps }) =>
    leftKbps((bytes + other_bytes) * 8 / 1000 / download_s, other_kbps);
