// events.mjs - EventTarget as pages have it. Unlike in Node, an exception of a listener does not end the
// process.

/** What listeners have thrown, of all pages. */
export const thrown = [];

export class Event {
    defaultPrevented = false;
    target = null;
    currentTarget = null;
    constructor(type, { bubbles = false, cancelable = false } = {}) {
        Object.assign(this, { type, bubbles, cancelable });
    }
    preventDefault() { this.defaultPrevented = true; }
    stopPropagation() {}
    stopImmediatePropagation() { this.stopped = true; }
}

export class CustomEvent extends Event {
    constructor(type, options) {
        super(type, options);
        this.detail = options?.detail ?? null;
    }
}

export class EventTarget {
    #listeners = [];  // {type, fn, once}
    addEventListener(type, fn, options = {}) {
        const { once = false, signal } = typeof options === 'object' && options ? options : {};
        if (!fn || signal?.aborted || this.#listeners.some(l => l.type === type && l.fn === fn)) return;
        this.#listeners.push({ type, fn, once });
        signal?.addEventListener('abort', () => this.removeEventListener(type, fn));
    }

    removeEventListener(type, fn) {
        this.#listeners = this.#listeners.filter(l => l.type !== type || l.fn !== fn);
    }

    dispatchEvent(event) {
        event.target = event.currentTarget = this;
        const own = this[`on${event.type}`];
        const call = fn => {
            try {
                if (typeof fn === 'function') fn.call(this, event); else fn.handleEvent(event);
            } catch (e) {
                thrown.push(e);
            }
        };
        if (typeof own === 'function') call(own);
        for (const l of this.#listeners) {
            if (l.type !== event.type || event.stopped) continue;
            if (l.once) this.removeEventListener(l.type, l.fn);
            call(l.fn);
        }
        return !event.defaultPrevented;
    }

    /** Dispatches an event of a type, with more members. */
    emit(type, more) { this.dispatchEvent(Object.assign(new Event(type), more)); }
}
