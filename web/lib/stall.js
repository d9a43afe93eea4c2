/**
 * stall.js - how long the playback stood still.
 *
 * A stall is the time from `waiting` to `playing` after playback began, outside seeks and
 * pauses, when it lasts STALL_MIN_S or longer. Times come in as arguments [s].
 *
 * @module abrd/stall
 */

/** Shortest stall that counts [s]. */
export const STALL_MIN_S = 0.1;

export class StallClock {
    #counts = false;  // a picture was shown, since the last seek as well
    #since = NaN;     // a stall runs, counted up to here
    #least = 0;       // what the running one must still reach to count
    #pending = 0;     // counted, not yet taken

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

    /** Stalled time since the last call, a running stall included. */
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
