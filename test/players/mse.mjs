// mse.mjs - MediaSource, SourceBuffer and the ranges of a buffer.
//
// A piece is what one append brought: {start, end, level, number, timeline}. A later append replaces what it
// overlaps. An append takes APPEND_MS of virtual time; there is no quota and no decoder.
import { Event, EventTarget } from './events.mjs';
import { readMedia } from './media.mjs';

export const APPEND_MS = 5;
const GAP_S = .01;    // smaller gaps between pieces are none, as frames are longer

export class TimeRanges {
    #ranges;
    constructor(ranges = []) { this.#ranges = ranges; }
    get length() { return this.#ranges.length; }
    start(i) { return this.#at(i)[0]; }
    end(i) { return this.#at(i)[1]; }
    #at(i) {
        if (!this.#ranges[i]) throw new DOMException(`index ${i}`, 'IndexSizeError');
        return this.#ranges[i];
    }
}

const merge = pieces => {
    const ranges = [];
    for (const { start, end } of pieces) {
        const last = ranges.at(-1);
        if (last && start <= last[1] + GAP_S) last[1] = Math.max(last[1], end); else ranges.push([start, end]);
    }
    return ranges;
};

/** What is in all lists of ranges. */
export const intersection = lists => lists.reduce((all, list) => all.flatMap(([a, b]) => list
    .map(([c, d]) => [Math.max(a, c), Math.min(b, d)]).filter(([c, d]) => c < d)));

export class SourceBuffer extends EventTarget {
    updating = false;
    mode = 'segments';
    timestampOffset = 0;
    appendWindowStart = 0;
    appendWindowEnd = Infinity;
    pieces = [];
    ready = false;        // has an initialisation segment
    appends = [];         // {at, number, level}, for tests
    #source;
    #timescale = 1000;
    #timer = 0;

    constructor(source, type) {
        super();
        this.#source = source;
        this.type = type;
        this.kind = type.split('/')[0];
    }

    get ranges() { return merge(this.pieces); }
    get buffered() {
        this.#check();
        return new TimeRanges(this.ranges);
    }

    appendBuffer(data) {
        this.#check(true);
        if (this.#source.readyState === 'ended') this.#source.reopen();
        const bytes = ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data);
        this.#update(APPEND_MS, () => this.#append(bytes));
    }

    remove(start, end) {
        this.#check(true);
        if (!(end > start)) throw new TypeError(`remove(${start}, ${end})`);
        this.#update(1, () => this.#cut(start, end));
    }

    abort() {
        this.#check();
        if (this.updating) {
            this.#source.clock.cancel(this.#timer);
            this.updating = false;
            this.emit('abort');
            this.emit('updateend');
        }
        this.appendWindowStart = 0;
        this.appendWindowEnd = Infinity;
    }

    changeType(type) {
        this.#check(true);
        this.type = type;
    }

    #check(idle) {
        const state = name => { throw new DOMException('', name); };
        if (!this.#source || !this.#source.buffers.includes(this)) state('InvalidStateError');
        if (idle && this.updating) state('InvalidStateError');
    }

    #update(ms, fn) {
        this.updating = true;
        this.#source.clock.after(0, () => { if (this.updating) this.emit('updatestart'); });
        this.#timer = this.#source.clock.after(ms, () => {
            this.#source.sync();
            fn();
            this.updating = false;
            this.#source.changed();
            this.emit('update');
            this.emit('updateend');
        });
    }

    #append(bytes) {
        const media = readMedia(bytes, this.#timescale);
        if (!media) return;
        if (media.timescale) {
            this.#timescale = media.timescale;
            this.ready = true;
            return;
        }
        const start = Math.max(media.start + this.timestampOffset, this.appendWindowStart);
        const end = Math.min(media.end + this.timestampOffset, this.appendWindowEnd);
        this.appends.push({ at: this.#source.clock.now, number: media.number, level: media.level });
        if (!(end > start)) return;
        this.#cut(start, end);
        this.pieces.push({ ...media, start, end });
        this.pieces.sort((a, b) => a.start - b.start);
        if (end > this.#source.duration) this.#source.stretch(end);
    }

    #cut(from, to) {
        this.pieces = this.pieces.flatMap(p => {
            if (p.end <= from || p.start >= to) return [p];
            return [{ ...p, end: from }, { ...p, start: to }].filter(q => q.end - q.start > 1e-6);
        });
    }
}

export class MediaSource extends EventTarget {
    static canConstructInDedicatedWorker = false;
    /** A page's own class says which codecs it has. */
    static isTypeSupported(type) { return /^(video|audio)\/mp4/.test(type); }
    readyState = 'closed';
    buffers = [];
    media = null;         // the element it is attached to
    #duration = NaN;
    liveSeekable = null;

    constructor(clock) {
        super();
        Object.defineProperty(this, 'clock', { value: clock });
    }

    get sourceBuffers() { return list(this.buffers); }
    get activeSourceBuffers() { return list(this.buffers); }
    get duration() { return this.readyState === 'closed' ? NaN : this.#duration; }
    set duration(s) {
        if (this.readyState !== 'open' || this.buffers.some(b => b.updating)) throw new DOMException('', 'InvalidStateError');
        this.stretch(s);
    }
    stretch(s) {
        if (Object.is(s, this.#duration)) return;
        this.#duration = s;
        this.media?.durationChanged();
    }

    addSourceBuffer(type) {
        if (!this.constructor.isTypeSupported(type)) throw new DOMException(type, 'NotSupportedError');
        if (this.readyState !== 'open') throw new DOMException('', 'InvalidStateError');
        const buffer = new SourceBuffer(this, type);
        this.buffers.push(buffer);
        return buffer;
    }

    removeSourceBuffer(buffer) {
        this.buffers = this.buffers.filter(b => b !== buffer);
        this.changed();
    }

    endOfStream() {
        if (this.readyState !== 'open' || this.buffers.some(b => b.updating)) throw new DOMException('', 'InvalidStateError');
        this.readyState = 'ended';
        const end = Math.max(0, ...this.buffers.flatMap(b => b.ranges.map(r => r[1])));
        if (end) this.stretch(end);
        this.emit('sourceended');
        this.changed();
    }

    setLiveSeekableRange(start, end) { this.liveSeekable = [start, end]; }
    clearLiveSeekableRange() { this.liveSeekable = null; }

    reopen() {
        this.readyState = 'open';
        this.emit('sourceopen');
    }
    open(media) {
        this.media = media;
        this.readyState = 'open';
        this.emit('sourceopen');
    }
    close() {
        this.media = null;
        this.readyState = 'closed';
        this.buffers = [];
        this.emit('sourceclose');
    }
    sync() { this.media?.sync(); }
    changed() { this.media?.bufferChanged(); }
}

const list = buffers => Object.assign([...buffers], { addEventListener() {}, removeEventListener() {} });
export { Event };
