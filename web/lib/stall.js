/**
 * stall.js - measures stalls of the playback.
 *
 * A stall is the time from `waiting` to `playing` after playback began, outside seeks and
 * pauses, if it lasts STALL_MIN_S or longer. Times are arguments [s].
 *
 * @module abrd/stall
 */

/** Shortest stall that counts [s]. */
export const STALL_MIN_S = 0.1;

export class StallClock {
    #counts = false;  // playback has begun since the last seek
    #since = NaN;     // start of the current stall, or the time up to which it is counted
    #least = 0;       // length that the current stall must reach to count
    #pending = 0;     // counted, not yet returned by take()

    waiting(now) {
        if (!this.#counts || !isNaN(this.#since)) return;
        this.#since = now;
        this.#least = STALL_MIN_S;
    }

    playing(now) {
        this.paused(now);
        this.#counts = true;
    }

    paused(now) {
        this.#count(now);
        this.#since = NaN;
    }

    seeking(now) {
        this.paused(now);
        this.#counts = false;
    }

    /** Stalled time since the last call, with the current stall. */
    take(now) {
        this.#count(now);
        const s = this.#pending;
        this.#pending = 0;
        return s;
    }

    #count(now) {
        const s = now - this.#since;
        if (!(s >= this.#least)) return;
        this.#pending += s;
        this.#since = now;
        this.#least = 0;
    }
}
