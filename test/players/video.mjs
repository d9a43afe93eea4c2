// video.mjs - a video element over a MediaSource. The picture runs while there is media at the playhead, and
// stands still otherwise.
//
// What was shown is recorded: `shown`, pieces {from, to, level, number} of media time in the order in which they
// were played, and `stalls`, {from, to} in virtual time. A chunk that is on the screen stays there to its end,
// even if another copy replaces it: a chunk has one key frame.
import { EventTarget } from './events.mjs';
import { TimeRanges, intersection } from './mse.mjs';

const END_S = .05;        // so close to the duration the media is over
const SEEK_MS = 20, TICK_MS = 250;

export class HTMLElement extends EventTarget {
    style = { setProperty() {}, removeProperty() {} };
    classList = { add() {}, remove() {}, contains: () => false, toggle() {} };
    children = [];
    attributes = {};
    parentNode = null;
    parentElement = null;
    isConnected = true;
    clientWidth = 1280;
    clientHeight = 720;
    offsetWidth = 1280;
    offsetHeight = 720;

    constructor(tag = 'div') {
        super();
        this.localName = tag;
        this.tagName = this.nodeName = tag.toUpperCase();
    }
    get childNodes() { return this.children; }
    get firstChild() { return this.children[0] ?? null; }
    get lastChild() { return this.children.at(-1) ?? null; }
    appendChild(child) {
        this.children.push(child);
        child.parentNode = child.parentElement = this;
        this.childrenChanged?.();
        return child;
    }
    insertBefore(child) { return this.appendChild(child); }
    removeChild(child) {
        this.children = this.children.filter(c => c !== child);
        child.parentNode = child.parentElement = null;
        return child;
    }
    remove() { this.parentNode?.removeChild(this); }
    contains() { return false; }
    setAttribute(name, value) { this.attributes[name] = `${value}`; if (name === 'src') this.src = value; }
    getAttribute(name) { return this.attributes[name] ?? null; }
    hasAttribute(name) { return name in this.attributes; }
    removeAttribute(name) {
        delete this.attributes[name];
        if (name === 'src') this.src = '';
    }
    querySelector() { return null; }
    querySelectorAll(name) { return this.children.filter(c => c.localName === name); }
    getElementsByTagName(name) { return this.querySelectorAll(name); }
    getBoundingClientRect() { return { left: 0, top: 0, width: 1280, height: 720 }; }
    getRootNode() { return this; }
    cloneNode() { return new HTMLElement(this.localName); }
}

export class HTMLVideoElement extends HTMLElement {
    static HAVE_NOTHING = 0;
    static HAVE_METADATA = 1;
    static HAVE_CURRENT_DATA = 2;
    static HAVE_FUTURE_DATA = 3;
    static HAVE_ENOUGH_DATA = 4;

    HAVE_NOTHING = 0;
    HAVE_METADATA = 1;
    HAVE_CURRENT_DATA = 2;
    HAVE_FUTURE_DATA = 3;
    HAVE_ENOUGH_DATA = 4;
    readyState = 0;
    networkState = 0;
    paused = true;
    ended = false;
    seeking = false;
    autoplay = false;
    muted = false;
    volume = 1;
    loop = false;
    preload = 'auto';
    defaultPlaybackRate = 1;
    error = null;
    mediaKeys = null;
    srcObject = null;
    videoWidth = 1280;
    videoHeight = 720;
    disableRemotePlayback = false;
    textTracks = Object.assign(new EventTarget(), { length: 0 });

    shown = [];
    stalls = [];
    firstMs = NaN;        // of the first picture
    endedMs = NaN;
    #clock;
    #find;                // from an address to its MediaSource
    #source = null;
    #src = '';
    #rate = 1;
    #at = 0;              // playhead at #since
    #since = 0;
    #runs = false;
    #began = false;
    #edge = 0;            // timer of the end of the buffer
    #tick = 0;
    #screen = null;       // the piece on the screen
    #listed = '';

    constructor(clock, find) {
        super('video');
        this.#clock = clock;
        this.#find = find;
    }

    /* ----- source ----- */

    get src() { return this.#src; }
    set src(url) {
        this.#src = `${url ?? ''}`;
        if (this.#src) this.attributes.src = this.#src;
        this.load();
    }
    get currentSrc() { return this.#src || this.#listed; }
    childrenChanged() { if (!this.#source) this.load(); }

    load() {
        this.sync();
        this.#stop();
        const had = this.#source;
        had?.close();
        this.#source = null;
        this.readyState = 0;
        this.#at = 0;
        this.#screen = null;
        this.seeking = this.ended = false;
        if (had) this.#later('emptied');
        this.#listed = this.children.find(c => c.localName === 'source' && this.#find(c.src))?.src ?? '';
        const source = this.#find(this.currentSrc);
        if (!source) return;
        this.#source = source;
        this.#clock.after(1, () => { if (this.#source === source && source.readyState === 'closed') source.open(this); });
    }

    canPlayType(type) { return /mp4/.test(type) && !/mpegurl|dash/i.test(type) ? 'probably' : ''; }
    get duration() { return this.readyState ? this.#source?.duration ?? NaN : NaN; }
    get played() { return new TimeRanges([]); }
    get seekable() {
        const end = this.duration;
        if (end === Infinity) {
            const [from, to] = this.#source.liveSeekable ?? [0, this.#ranges().at(-1)?.[1] ?? 0];
            return new TimeRanges([[from, to]]);
        }
        return new TimeRanges(end > 0 ? [[0, end]] : []);
    }
    #ranges() {
        const buffers = this.#source?.buffers.filter(b => b.ready) ?? [];
        if (!buffers.length || buffers.length < this.#source.buffers.length) return [];
        let lists = buffers.map(b => b.ranges);
        if (this.#source.readyState === 'ended') { // the shorter track ends with the longer one
            const end = Math.max(0, ...lists.map(l => l.at(-1)?.[1] ?? 0));
            lists = lists.map(l => l.map(([a, b], i) => [a, i === l.length - 1 ? end : b]));
        }
        return intersection(lists);
    }
    get buffered() { return new TimeRanges(this.#ranges()); }
    getVideoPlaybackQuality() {
        const frames = Math.round(25 * this.currentTime);
        return { totalVideoFrames: frames, droppedVideoFrames: 0, corruptedVideoFrames: 0, creationTime: this.#clock.now };
    }
    setMediaKeys() { return Promise.resolve(); }
    addTextTrack() { return { addCue() {}, removeCue() {}, mode: 'disabled', cues: [], addEventListener() {} }; }
    getStartDate() { return new Date(NaN); }

    /* ----- playing ----- */

    get playbackRate() { return this.#rate; }
    set playbackRate(rate) {
        if (rate === this.#rate) return;
        this.sync();
        this.#rate = rate;
        this.#later('ratechange');
        this.#look();
    }

    get currentTime() {
        return this.#runs ? this.#at + (this.#clock.now - this.#since) / 1000 * this.#rate : this.#at;
    }
    set currentTime(t) {
        t = Number(t);
        if (!Number.isFinite(t)) throw new TypeError(`currentTime = ${t}`);
        this.sync();
        if (!this.readyState) {
            this.#at = t;
            return;
        }
        const [lo, hi] = [0, this.duration];
        this.#stop();
        this.#stalled(false);
        this.#at = Math.min(Math.max(t, lo), hi >= 0 ? hi : Infinity);
        this.#screen = null;
        this.ended = false;
        this.seeking = true;
        const seek = this.#seek = {};
        this.#later('seeking');
        this.#clock.after(SEEK_MS, () => { if (this.#seek === seek) { seek.due = true; this.#look(); } });
    }
    #seek = null;

    play() {
        if (this.ended) this.currentTime = 0;
        if (this.paused) {
            this.paused = false;
            this.#later('play');
            if (this.readyState < 3) this.#later('waiting'); else this.#later('playing');
            this.#look();
        }
        return Promise.resolve();
    }

    pause() {
        if (this.paused) return;
        this.sync();
        this.paused = true;
        this.#stop();
        this.#stalled(false);
        this.#later('timeupdate');
        this.#later('pause');
    }

    /* ----- called by the MediaSource ----- */

    durationChanged() { this.#later('durationchange'); }

    bufferChanged() {
        if (!this.#source) return;
        this.#later('progress');
        this.#look();
    }

    /** Records what was shown since the last call. */
    sync() {
        const to = this.currentTime;
        if (this.#runs && to > this.#at) {
            const pieces = this.#source.buffers.find(b => b.kind === 'video')?.pieces ?? [];
            for (let t = this.#at; t < to - 1e-9;) {
                const piece = this.#screen && t < this.#screen.end - 1e-6 && t >= this.#screen.start - 1e-6 ? this.#screen :
                    pieces.find(p => p.start <= t + .02 && t < p.end - 1e-6);
                if (!piece) break;
                this.#screen = piece;
                const end = Math.min(to, piece.end), last = this.shown.at(-1);
                if (last && last.number === piece.number && last.level === piece.level && Math.abs(last.to - t) < .03) last.to = end;
                else this.shown.push({ from: t, to: end, level: piece.level, number: piece.number });
                t = Math.max(end, t + 1e-6);
            }
        }
        this.#at = to;
        this.#since = this.#clock.now;
    }

    /* ----- states ----- */

    #later(type) { this.#clock.after(0, () => this.emit(type)); }

    #stop() {
        this.#runs = false;
        this.#clock.cancel(this.#edge);
        this.#clock.cancel(this.#tick);
    }

    /** The picture has begun to stand still, or goes on. */
    #stalled(still) {
        const last = this.stalls.at(-1), open = last && last.to === null;
        if (still && !open && this.#began) this.stalls.push({ from: this.#clock.now, to: null });
        if (!still && open) last.to = this.#clock.now;
    }

    /** Compares the buffer with the playhead. */
    #look() {
        const source = this.#source;
        if (!source) return;
        this.sync();
        const buffers = source.buffers;
        if (!this.readyState) {
            if (!buffers.length || buffers.some(b => !b.ready)) return;
            this.readyState = 1;
            this.#later('durationchange');
            this.#later('loadedmetadata');
            if (this.#at) {
                const at = this.#at;
                this.#at = 0;
                this.currentTime = at;
            }
        }
        const t = this.#at, ranges = this.#ranges();
        const range = ranges.find(([a, b]) => t >= a - .1 && t < b - 1e-6);
        const isOver = source.readyState === 'ended' && t >= source.duration - END_S;
        if (this.seeking) {
            if (!this.#seek?.due) return;
            if (!range && !isOver) {
                if (this.readyState > 1) {
                    this.readyState = 1;
                    if (!this.paused) this.#later('waiting');
                }
                return;
            }
            this.seeking = false;
            this.#seek = null;
            this.#later('timeupdate');
            this.#later('seeked');
            if (this.readyState > 1 && range) this.#later('canplay');
        }
        if (isOver) return this.#end();
        const before = this.readyState;
        if (range && t < range[0]) this.#at = range[0];
        const state = range ? 4 : Math.min(before, 2);
        this.readyState = state;
        if (state >= 3 && before < 2) this.#later('loadeddata');
        if (state >= 3 && before < 3) {
            this.#later('canplay');
            this.#later('canplaythrough');
            if (!this.paused) this.#later('playing');
        }
        if (this.autoplay && this.paused && state >= 3 && !this.#began) {
            this.autoplay = false;
            this.play();
            return;
        }
        if (this.paused || !this.#rate) return this.#stop();
        if (state < 3) {
            const ran = this.#runs;
            this.#stop();
            if (ran || before > 2) {
                this.#stalled(true);
                this.#later('timeupdate');
                this.#later('waiting');
            }
            return;
        }
        this.#stalled(false);
        if (!this.#runs) {
            this.#began = true;
            if (Number.isNaN(this.firstMs)) this.firstMs = this.#clock.now;
            this.#runs = true;
            this.#since = this.#clock.now;
            const tick = () => {
                this.#tick = this.#clock.after(TICK_MS, tick);
                this.emit('timeupdate');
            };
            this.#clock.cancel(this.#tick);
            this.#tick = this.#clock.after(TICK_MS, tick);
        }
        this.#clock.cancel(this.#edge);
        const end = source.readyState === 'ended' ? Math.min(range[1], source.duration) : range[1];
        this.#edge = this.#clock.after(Math.max((end - this.#at) / this.#rate * 1000, 0) + 1e-3, () => this.#look());
    }

    #end() {
        this.#stop();
        this.#stalled(false);
        if (this.ended) return;
        this.ended = true;
        this.paused = true;
        this.#at = this.#source.duration;
        this.endedMs = this.#clock.now;
        this.#later('timeupdate');
        this.#later('pause');
        this.#later('ended');
    }
}
