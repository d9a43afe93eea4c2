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
    #started = false; // the first picture was shown
    #seeking = false;
    #since = null;    // a stall runs, counted up to here
    #pending = 0;     // counted, not yet taken
    #long = false;    // the running stall has passed the threshold

    waiting(now) {
        if (!this.#started || this.#seeking || this.#since !== null) return;
        this.#since = now;
        this.#long = false;
    }

    playing(now) {
        this.#started = true;
        this.#seeking = false;
        this.#stop(now);
    }

    paused(now) {
        this.#stop(now);
    }

    seeking(now) {
        this.#stop(now);
        this.#seeking = true;
    }

    /** Stalled time since the last call, a running stall included. */
    take(now) {
        this.#count(now);
        const s = this.#pending;
        this.#pending = 0;
        return s;
    }

    #count(now) {
        if (this.#since === null) return;
        const s = now - this.#since;
        if (!this.#long && s < STALL_MIN_S) return;
        this.#pending += s;
        this.#since = now;
        this.#long = true;
    }

    #stop(now) {
        this.#count(now);
        this.#since = null;
    }
}
