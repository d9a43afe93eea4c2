// fake.mjs - just enough of a browser and of dash.js to drive the plugin without either: an XML
// reader behind DOMParser, and a player that asks its rules and runs its interceptors in the
// order in which dash.js 5.2.1 does.

class Element {
    constructor(name, attributes) {
        this.localName = name.replace(/^.*:/, '');
        this.attributes = attributes;
        this.children = [];
    }
    getAttribute(name) { return this.attributes[name] ?? null; }
    getAttributeNS(ns, name) {
        const prefix = Object.entries(Element.prefixes).find(([, v]) => v === ns)?.[0];
        return prefix ? this.getAttribute(`${prefix}:${name}`) : null;
    }
}
Element.prefixes = {};

export class DOMParser {
    parseFromString(text) {
        const root = new Element('#document', {});
        const open = [root];
        for (const [, close, name, inside, empty, content] of
            text.matchAll(/<(\/?)([\w:]+)((?:\s+[\w:]+="[^"]*")*)\s*(\/?)>([^<]*)/g)) {
            if (close) { open.pop(); continue; }
            const attributes = {};
            for (const [, k, v] of inside.matchAll(/([\w:]+)="([^"]*)"/g)) {
                attributes[k] = v;
                if (k.startsWith('xmlns:')) Element.prefixes[k.slice(6)] = v;
            }
            const e = new Element(name, attributes);
            e.textContent = content;
            open.at(-1).children.push(e);
            if (!empty) open.push(e);
        }
        return { documentElement: root.children[0] ?? null };
    }
}

/** A manifest of `periods`, each {id, chunks, chunkS, kbps, hint, sizes, quality, height}. */
export function manifest(periods, { live = false } = {}) {
    const body = periods.map(p => {
        const { id, chunks = 10, chunkS = 4, kbps = [300, 750, 1200], hint, sizes, quality, height } = p;
        const reps = kbps.map((k, i) => `<Representation id="${i}" bandwidth="${k * 1000}"` +
            (height ? ` height="${height[i]}"` : '') +
            (quality ? ` abrd:quality="${[quality[i]].flat().join(' ')}"` : '') +
            (sizes ? ` abrd:sizes="${sizes[i].join(' ')}"` : '') + '/>').join('');
        return `<Period${id ? ` id="${id}"` : ''} duration="PT${chunks * chunkS}S">` +
            '<AdaptationSet contentType="video" mimeType="video/mp4">' +
            (hint ? `<SupplementalProperty schemeIdUri="urn:abrd:qoe-profile" value="${hint}"/>` : '') +
            `<SegmentTemplate timescale="1000" duration="${chunkS * 1000}"/>${reps}` +
            '</AdaptationSet></Period>';
    }).join('');
    const total = periods.reduce((s, p) => s + (p.chunks ?? 10) * (p.chunkS ?? 4), 0);
    return `<?xml version="1.0"?><MPD xmlns:abrd="urn:abrd:mpd" type="${live ? 'dynamic' : 'static'}"` +
        `${live ? '' : ` mediaPresentationDuration="PT${total}S"`}>${body}</MPD>`;
}

export class FakePlayer {
    own = 0;           // level that its own rules would choose
    asks = true;       // its rules at all: not when the viewer has picked a level
    given = [];        // arguments of setPlaybackQuality
    last = null;       // request under way
    video = { currentTime: 0, buffered: { length: 0 } };
    settings = { streaming: {
        buffer: { fastSwitchEnabled: null, bufferTimeDefault: 18, bufferTimeAtTopQuality: 30,
            bufferTimeAtTopQualityLongForm: 60, longFormContentDurationThreshold: 600 },
        abr: { rules: { abandonRequestsRule: { active: true } } },
    } };
    rules = new Map();
    before = [];
    after = [];
    listeners = [];

    constructor(periods) { this.periods = periods; }

    getSettings() { return this.settings; }
    updateSettings(change, into = this.settings) {
        for (const [k, v] of Object.entries(change))
            if (v && typeof v === 'object') this.updateSettings(v, into[k]); else into[k] = v;
    }
    addABRCustomRule(type, name, rule) { this.rules.set(name, rule({}).create()); }
    removeABRCustomRule(name) { this.rules.delete(name); }
    addRequestInterceptor(f) { this.before.push(f); }
    addResponseInterceptor(f) { this.after.push(f); }
    removeRequestInterceptor(f) { this.before = this.before.filter(g => g !== f); }
    removeResponseInterceptor(f) { this.after = this.after.filter(g => g !== f); }
    on(event, f) { this.listeners.push({ event, f }); }
    off(event, f) { this.listeners = this.listeners.filter(l => l.event !== event || l.f !== f); }
    trigger(event, data = {}) { for (const l of this.listeners) if (l.event === event) l.f(data); }
    getVideoElement() { return this.video; }
    getRepresentationsByTypeUnfiltered(type, id) {
        const at = this.periods.findIndex((p, i) => (p.id ?? `defaultId_${i}`) === id);
        return this.representations(this.periods[Math.max(at, 0)], Math.max(at, 0));
    }
    getCurrentRepresentationForType() { return null; }

    representations(period, i = 0) {
        const { kbps = [300, 750, 1200], chunks = 10 } = period;
        return kbps.map(k => ({
            bandwidth: k * 1000, mediaFinishedInformation: { numberOfSegments: chunks },
            mediaInfo: { type: 'video', streamInfo: { id: period.id ?? `defaultId_${i}` } },
        }));
    }

    async response(request, data, status = 200, url = request.url) {
        let r = { request: { customData: { request } }, data, status, url };
        for (const f of this.after) r = await f(r);
        return r;
    }

    /** final: where the manifest was found, after redirects. */
    async load(text, url, final) {
        const request = { type: 'MPD', url };
        for (const f of this.before) await f({ customData: { request } });
        await this.response(request, text, 200, final);
    }

    /** Chooses and begins request `index` of a period; returns the request. level: no rule is asked. */
    async request(index, { period = 0, startTime, mediaType = 'video', level } = {}) {
        const p = this.periods[period], reps = this.representations(p, period);
        const context = {
            getMediaType: () => mediaType,
            getMediaInfo: () => reps[0].mediaInfo,
            getStreamInfo: () => reps[0].mediaInfo.streamInfo,
            getAbrController: () => ({
                getPossibleVoRepresentationsFilteredBySettings: () => this.representations(p, period),
                setPlaybackQuality: (type, _, { bandwidth }, reason) => !!this.given.push([type, bandwidth, reason]),
            }),
        };
        const rules = this.asks && level === undefined ? [...this.rules.values()] : [];
        const asked = rules.map(r => r.getSwitchRequest(context));
        const strong = asked.find(s => s.representation && s.priority === 1);
        const { chunkS = 4 } = p;
        const request = {
            type: 'MediaSegment', mediaType, index, duration: chunkS,
            startTime: startTime ?? index * chunkS,
            representation: strong?.representation ?? reps[level ?? this.own], by: strong ? 'abrd' : 'player',
        };
        for (const f of this.before) await f({ customData: { request } });
        return this.last = request;
    }

    level(request) {
        return this.representations(this.periods[0])
            .findIndex(r => r.bandwidth === request.representation.bandwidth);
    }

    /** One chunk from choice to arrival; returns the level it had. */
    async chunk(index, options) {
        const request = await this.request(index, options);
        const { bandwidth } = request.representation;
        await this.response(request, new ArrayBuffer(bandwidth * request.duration / 8));
        return this.level(request);
    }
}
