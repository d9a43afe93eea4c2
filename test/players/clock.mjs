// clock.mjs - virtual time: a heap of timers. run() calls the earliest timer, lets all microtasks finish,
// and goes on. A session of three minutes then needs a fraction of a second.
//
// hold() stops the clock until a promise settles: real requests take no virtual time. Start a session from
// run(), never from within a promise: there microtasks do not finish.

/** The shortest time of a timer; 0 would let a page that polls stop the clock. */
const LEAST_MS = 1;

export class Clock {
    now = 0;          // [ms]
    errors = [];      // of timers
    #heap = [];       // {at, order, fn, every}
    #timers = new Map();
    #order = 0;
    #holds = new Set();

    /** Calls fn after `ms`; returns a number for cancel(). Timers of the same time are called in order. */
    after(ms, fn) { return this.#add(Math.max(ms, 0), fn, 0); }

    setTimeout = (fn, ms, ...args) => this.#add(atLeast(ms), () => fn(...args), 0);
    setInterval = (fn, ms, ...args) => this.#add(atLeast(ms), () => fn(...args), atLeast(ms));
    clear = id => { this.cancel(id); };

    cancel(id) {
        const timer = this.#timers.get(id);
        if (timer) timer.fn = null;
        this.#timers.delete(id);
    }

    /** Stops the clock until the promise settles. */
    hold(promise) {
        this.#holds.add(promise);
        const done = () => { this.#holds.delete(promise); };
        promise.then(done, done);
        return promise;
    }

    /** Runs until isOver() holds after a timer, no timer is left, or the time is `untilMs`. */
    run(isOver = () => false, untilMs = Infinity) {
        return new Promise((resolve, reject) => {
            const turn = () => {
                if (this.#holds.size) {
                    Promise.allSettled([...this.#holds]).then(() => setImmediate(turn));
                    return;
                }
                try {
                    if (isOver() || !this.#step(untilMs)) return resolve();
                } catch (e) {
                    return reject(e);
                }
                setImmediate(turn);
            };
            setImmediate(turn);
        });
    }

    #add(ms, fn, every) {
        const id = ++this.#order, timer = { id, at: this.now + ms, order: id, fn, every };
        this.#timers.set(id, timer);
        this.#push(timer);
        return id;
    }

    /** Calls the earliest timer; false: none before untilMs. */
    #step(untilMs) {
        let timer;
        do timer = this.#pop(); while (timer && !timer.fn);
        if (!timer || timer.at > untilMs) {
            if (timer) this.#push(timer);
            if (untilMs < Infinity) this.now = untilMs;
            return false;
        }
        this.now = timer.at;
        if (timer.every) {
            timer.at += timer.every;
            timer.order = ++this.#order;
            this.#push(timer);
        } else {
            this.#timers.delete(timer.id);
        }
        try {
            timer.fn();
        } catch (e) {
            this.errors.push(e);
        }
        return true;
    }

    #push(timer) {
        const heap = this.#heap;
        let i = heap.push(timer) - 1;
        for (let up; i && before(timer, heap[up = (i - 1) >> 1]); i = up) heap[i] = heap[up];
        heap[i] = timer;
    }

    #pop() {
        const heap = this.#heap, first = heap[0], last = heap.pop();
        if (!heap.length) return first;
        let i = 0;
        for (let down; (down = 2 * i + 1) < heap.length; i = down) {
            if (down + 1 < heap.length && before(heap[down + 1], heap[down])) down++;
            if (!before(heap[down], last)) break;
            heap[i] = heap[down];
        }
        heap[i] = last;
        return first;
    }
}

const atLeast = ms => Math.max(Number(ms) || 0, LEAST_MS);
const before = (a, b) => a.at < b.at || a.at === b.at && a.order < b.order;
