// link.mjs - a link that follows a trace. Requests under way share it equally. The first byte of each
// comes one round trip after the request; the share PAYLOAD of the link carries content.
//
// A trace is a list of [seconds, Mbit/s]; a row gives the throughput up to its time. At the end it begins
// again, as in Pensieve's simulator: the first row is left out, and the second begins at 0 s.
import { readFileSync } from 'node:fs';

export const PAYLOAD = .95, RTT_MS = 80;

/** @throws {Error} that names the file and the line */
export function readTrace(file) {
    const rows = readFileSync(file, 'utf8').split('\n').flatMap((line, i) => {
        if (!line.trim() || /^\s*#/.test(line)) return [];
        const row = line.trim().split(/\s+/).map(Number);
        if (row.length === 2 && row.every(x => x >= 0)) return [row];
        throw new Error(`${file}:${i + 1}: not "seconds Mbit/s"; 'abrd trace convert' writes traces of this form from others`);
    });
    if (rows.length < 2 || !rows.slice(1).some(([, mbps]) => mbps > 0)) throw new Error(`${file}: has less than two rows, or nothing arrives`);
    return rows;
}

/** The capacity of a trace as a cursor that only moves forward. Times in ms, capacity in bytes. */
class Capacity {
    #slots;
    #slot = 0;
    #left;            // of the current slot [ms]

    constructor(rows, payload) {
        const bytesPerMs = mbps => mbps * 1e6 / 8 / 1000 * payload;
        this.#slots = rows.slice(1).map(([end, mbps], i) => ({ ms: 1000 * (end - rows[i][0]), rate: bytesPerMs(mbps) }));
        this.first = { ms: 1000 * rows[1][0], rate: this.#slots[0].rate }; // after the trace has begun again
        this.#left = this.#slots[0].ms;
    }

    #copy() { return [this.#slot, this.#left, this.#slots[0]]; }
    #restore([slot, left, first]) { [this.#slot, this.#left] = [slot, left]; this.#slots[0] = first; }

    #next() {
        if (++this.#slot === this.#slots.length) {
            this.#slot = 0;
            this.#slots[0] = this.first;
        }
        this.#left = this.#slots[this.#slot].ms;
    }

    /** Bytes in the next `ms`. */
    take(ms) {
        let bytes = 0;
        while (ms > 0) {
            const step = Math.min(ms, this.#left);
            bytes += step * this.#slots[this.#slot].rate;
            this.#left -= step;
            ms -= step;
            if (this.#left <= 0) this.#next();
        }
        return bytes;
    }

    /** Time [ms] until `bytes` have passed. */
    until(bytes) {
        const here = this.#copy();
        let ms = 0;
        for (;;) {
            const { rate } = this.#slots[this.#slot];
            if (rate * this.#left >= bytes) {
                ms += rate ? bytes / rate : 0;
                break;
            }
            bytes -= rate * this.#left;
            ms += this.#left;
            this.#next();
        }
        this.#restore(here);
        return ms;
    }
}

export class Link {
    #clock;
    #capacity;
    #rttMs;
    #active = new Set();
    #atMs;            // up to which `served` counts
    #served = 0;      // bytes that each transfer of the whole time would have
    #timer = 0;

    /** @param {number[][]} rows of the trace */
    constructor(clock, rows, { payload = PAYLOAD, rttMs = RTT_MS } = {}) {
        this.#clock = clock;
        this.#capacity = new Capacity(rows, payload);
        this.#rttMs = rttMs;
        this.#atMs = clock.now;
    }

    /**
     * Requests `bytes`. first() is called one round trip later, end() when all bytes have arrived.
     * @returns {{loaded: () => number, stop: () => void}}
     */
    request(bytes, { first, end }) {
        const transfer = { bytes, from: NaN, end };
        const waiting = this.#clock.after(this.#rttMs, () => {
            this.#serve();
            transfer.from = this.#served;
            this.#active.add(transfer);
            this.#plan();
            first?.();
        });
        return {
            loaded: () => {
                this.#serve();
                if (transfer.done) return bytes;
                return this.#active.has(transfer) ? Math.min(Math.floor(this.#served - transfer.from), bytes) : 0;
            },
            stop: () => {
                this.#clock.cancel(waiting);
                this.#serve();
                if (this.#active.delete(transfer)) this.#plan();
            },
        };
    }

    /** Accounts for the time since the last call. */
    #serve() {
        const bytes = this.#capacity.take(this.#clock.now - this.#atMs);
        this.#atMs = this.#clock.now;
        if (this.#active.size) this.#served += bytes / this.#active.size;
    }

    /** Sets the timer of the next transfer that ends. */
    #plan() {
        this.#clock.cancel(this.#timer);
        let next = null;
        for (const t of this.#active) if (!next || t.from + t.bytes < next.from + next.bytes) next = t;
        if (!next) return;
        const left = Math.max(next.from + next.bytes - this.#served, 0) * this.#active.size;
        this.#timer = this.#clock.after(this.#capacity.until(left), () => {
            this.#serve();
            this.#active.delete(next);
            next.done = true;
            this.#plan();
            next.end();
        });
    }
}
