/**
 * policy.js - the daemon's policy in the page, which decides while the daemon cannot be reached.
 *
 *   const local = localPolicy({ server: 'http://127.0.0.1:8080' });
 *   attach(player, { server, profile: 'live', fallback: local.fallback });
 *
 * The published weights (GET /v1/policy/weights, safetensors) are fetched once, and again when their
 * ETag has changed. New weights replace the old ones in one step. A decision equals the daemon's for a
 * viewer with a hint in a session that does not explore: router, expert, hidden layers in 16 bits, the
 * best level (src/policy/packed.h). It differs in three cases. What a daemon has seen of other sessions
 * (src/serve/session/experience.h) is not known here. A viewer without a hint gets the daemon's default
 * profile, since the mean hint is not known here. A profile with added experts gets the common policy.
 *
 * @module abrd/policy
 */

import { cautious } from './caution.js';
import { offered } from './first_level.js';
import { correctionOf, forecastId } from './forecast.js';
import { LAYOUTS } from './observe.js';
import { qoeOf } from './qoe.js';
import { LEVELS, viewOf } from './view.js';
import { SEEN, windowOf } from './window.js';

const f = Math.fround;
const WEIGHT_MAX = 8191, ENTRY_MAX = 32767, SUM_MAX = 2 ** 18; // src/nn/simd/vecmat.h

/** Rounds to the nearest whole number, halves to the even one. */
function nearest(x) {
    const down = Math.floor(x), rest = x - down;
    return down + (rest > 0.5 || (rest === 0.5 && down % 2) ? 1 : 0);
}

/** A layer in full precision: y = W x + b. */
class Exact {
    constructor(weight, bias) {
        Object.assign(this, { weight, bias, inputs: weight.length / bias.length });
    }

    apply(x) {
        return Float32Array.from(this.bias, (b, i) => {
            let sum = b;
            for (let j = 0; j < this.inputs; j++)
                if (x[j] !== 0) sum += this.weight[i * this.inputs + j] * x[j];
            return sum;
        });
    }
}

/** A hidden layer with weights of 16 bits, and its ReLU. */
class Quantized {
    constructor(weight, bias) {
        this.bias = bias;
        this.inputs = weight.length / bias.length;
        this.step = new Float32Array(bias.length);
        this.q = new Int16Array(weight.length);
        for (let i = 0; i < bias.length; i++) {
            const row = weight.subarray(i * this.inputs, (i + 1) * this.inputs);
            const most = row.reduce((a, w) => Math.max(a, Math.abs(w)), 0);
            this.step[i] = most > 1e-30 ? most / WEIGHT_MAX : 1e-30;
            row.forEach((w, j) => { this.q[i * this.inputs + j] = nearest(f(w / this.step[i])); });
        }
    }

    apply(x) {
        let most = 0, all = 0;
        for (const v of x) {
            most = Math.max(most, Math.abs(v));
            all += Math.abs(v);
        }
        const scale = Math.min(f(ENTRY_MAX / most), f((SUM_MAX - x.length) / f(all)), f(1e30));
        const q = Int16Array.from(x, v => nearest(f(v * scale))), unit = f(1 / scale);
        return Float32Array.from(this.bias, (b, i) => {
            let sum = 0;
            for (let j = 0; j < this.inputs; j++) sum += this.q[i * this.inputs + j] * q[j];
            return Math.max(0, f(f(f(sum) * f(unit * this.step[i])) + b));
        });
    }
}

/** Probabilities of the entries for which `there` is true; 0 for the others. */
function softmax(x, there) {
    const top = Math.max(...[...x].filter((_, i) => there(i)));
    const e = Array.from(x, (v, i) => (there(i) ? Math.exp(v - top) : 0));
    const sum = e.reduce((a, b) => a + b, 0);
    return e.map(v => v / sum);
}

const best = list => list.reduce((at, v, i) => (v > list[at] ? i : at), 0);

/** One tensor per name, and the strings of the metadata; throws if the file is truncated. */
function readSafetensors(buffer) {
    const header = buffer.byteLength < 8 ? 0 : Number(new DataView(buffer).getBigUint64(0, true));
    if (!header || 8 + header > buffer.byteLength) throw new Error('the weights are cut off');
    const { __metadata__: meta, ...tensors } =
        JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, header)));
    const end = Math.max(...Object.values(tensors).map(t => t.data_offsets[1]));
    if (8 + header + end !== buffer.byteLength) throw new Error('the weights are cut off');
    const tensor = name => {
        const { dtype, data_offsets: [from, to] = [] } = tensors[name] ?? {};
        if (dtype !== 'F32') throw new Error(`the weights have no tensor ${name}`);
        return new Float32Array(buffer.slice(8 + header + from, 8 + header + to));
    };
    return { meta: meta ?? {}, tensor };
}

/** A policy that decides; its weights never change. */
export class Policy {
    #router;
    #experts;
    #observe;
    #route;
    #idle;
    #prior;

    /** @param {ArrayBuffer} buffer what GET /v1/policy/weights answers */
    constructor(buffer) {
        const { meta, tensor } = readSafetensors(buffer);
        this.#observe = LAYOUTS.get(Number(meta.obs_dim));
        if (meta.format !== 'abrd-1' || !this.#observe)
            throw new Error('these weights are no policy that reads this observation');
        if (!['single', 'top1', 'top1-unscaled', 'dense'].includes(meta.route))
            throw new Error(`routers of the kind '${meta.route}' are not known here`);
        this.version = Number(meta.version);
        this.actions = Number(meta.actions);
        // that of another program's forecast would be added to the wrong one
        const corrects = meta.input_n && Number(meta.input_of) === forecastId();
        this.correction = corrects ? correctionOf(tensor('input')) : null;
        this.#route = meta.route;
        const layers = Number(meta.layers), busy = BigInt(meta.actor_busy ?? 0);
        const layer = (kind, name) => new kind(tensor(`${name}.weight`), tensor(`${name}.bias`));
        this.#router = meta.route === 'single' ? null : layer(Exact, 'actor.router');
        this.#experts = Array.from({ length: Number(meta.experts) }, (_, k) =>
            Array.from({ length: layers + 1 }, (_unused, l) =>
                layer(l < layers ? Quantized : Exact, `actor.expert.${k}.${l}`)));
        const [at, stride, gain] = ['at', 'stride', 'gain'].map(name => Number(meta[`prior_${name}`] ?? 0));
        this.#prior = (obs, y, a) => (gain ? f(y + f(gain * obs[at + a * stride])) : y);
        this.#idle = k => !(busy >> BigInt(k) & 1n);
    }

    /** Decides with the ladder up to the cap, at least two levels (src/abr/deciders/cap.h). */
    #decideBelow(cap, question, weights, seen) {
        const { ladder_kbps: ladder } = question, allowed = Math.max(ladder.filter(r => r <= cap * (1 + 1e-6)).length, 1);
        const n = Math.max(allowed, 2), cut = { ...question, max_kbps: 0 };
        for (const name of ['ladder_kbps', 'next_bytes', 'next_quality', 'quality', 'height'])
            if (Array.isArray(cut[name])) cut[name] = cut[name].slice(0, n);
        // what the viewer saw of the last level stays
        if (cut.last_level >= n) cut.last_level = n - 1;
        const d = this.decide(cut, weights, seen);
        const probabilities = ladder.map((_, k) => (allowed === 1 ? +(k === 0) : d.probabilities[k] ?? 0));
        return allowed === 1 ? { ...d, level: 0, kbps: ladder[0], probabilities } : { ...d, probabilities };
    }

    /** @returns {{expert: number, logits: Float32Array}} */
    #forward(obs) {
        const run = k => this.#experts[k].reduce((x, layer) => layer.apply(x), obs);
        if (!this.#router) return { expert: 0, logits: run(0) };
        const gate = softmax(this.#router.apply(obs), this.#idle), expert = best(gate);
        if (this.#route === 'dense') {
            const logits = new Float32Array(this.actions);
            gate.forEach((p, k) => p && run(k).forEach((y, i) => { logits[i] += p * y; }));
            return { expert, logits };
        }
        const scale = this.#route === 'top1' ? gate[expert] : 1;
        return { expert, logits: run(expert).map(y => y * scale) };
    }

    /**
     * @param {import('./types').Question} question the body of POST /v1/decide
     * @param {string|import('./types').Weights|import('./types').Qoe} weights what its profile means, or a built-in one's name
     * @param {{stalledS?: number, playedS?: number, lambda?: number}} [seen] what the viewer has seen of the
     *     session; lambda: by how much stalls weigh more under a ceiling (1)
     */
    decide(question, weights, seen) {
        const { max_kbps: cap } = question;
        if (cap > 0 && question.ladder_kbps.at(-1) > cap * (1 + 1e-6)) return this.#decideBelow(cap, question, weights, seen);
        const levels = question.ladder_kbps.length;
        const most = this.actions < SEEN ? this.actions : LEVELS;
        if (levels < 2 || levels > most) throw new Error(`a ladder of ${levels} levels is not one of 2 to ${most}`);
        const qoe = qoeOf(weights);
        if (!qoe) throw new Error('these weights are neither a profile, nor named, nor mu');
        const view = { ...cautious(viewOf(question, qoe, seen)), correction: this.correction }, there = offered(view);
        const shown = windowOf(view, there), obs = this.#observe(shown.view), { expert, logits: own } = this.#forward(obs);
        const logits = own.map((y, a) => this.#prior(obs, y, a));
        const among = softmax(logits, i => there[shown.levels[i]]), probabilities = Array(levels).fill(0);
        shown.levels.forEach((k, i) => { probabilities[k] = among[i]; });
        if (!probabilities.every(Number.isFinite)) throw new Error('the weights give no finite value');
        const level = best(probabilities);
        return { level, kbps: question.ladder_kbps[level], expert, policy: this.version, probabilities };
    }
}

/**
 * Keeps a copy of the daemon's weights and profiles.
 *
 * @param {object} [options]
 * @param {string} [options.server] address of the daemon; default: the origin of the page
 * @param {number} [options.refreshS] seconds between requests for new weights (300); 0: only once
 * @returns {{fallback: (question: object, seen?: object) => object|null, refresh: () => Promise<boolean>,
 *     ready: Promise<boolean>, stop: () => void, readonly version: number|null}}
 *     fallback returns what Policy.decide returns, or null without weights; ready: whether the
 *     first request gave weights
 */
export function localPolicy({ server = '', refreshS = 300 } = {}) {
    const base = server.replace(/\/+$/, '');
    let policy = null, tag = null, usual = '', profiles = new Map();

    const get = async (path, headers = {}) => {
        const r = await fetch(base + path, { headers, credentials: 'omit', cache: 'no-store' });
        if (!r.ok && r.status !== 304) throw new Error(`GET ${path}: ${r.status}`);
        return r;
    };

    /** Returns whether there are weights; without an answer the previous ones stay. */
    const refresh = async () => {
        try {
            const list = await (await get('/v1/profiles')).json();
            const weights = await get('/v1/policy/weights', tag ? { 'If-None-Match': tag } : {});
            if (weights.status !== 304) {
                policy = new Policy(await weights.arrayBuffer());
                tag = weights.headers.get('ETag');
            }
            usual = list.default;
            profiles = new Map(list.profiles.map(({ name, qoe, stall_ratio_max, startup_max_s }) =>
                [name, { ...qoe, stall_ratio_max, startup_max_s }]));
        } catch (e) {
            if (!policy) console.warn('abrd: no weights for the page:', e.message);
        }
        return policy !== null;
    };

    const timer = refreshS > 0 ? setInterval(refresh, refreshS * 1000) : undefined;
    timer?.unref?.(); // in Node it must not keep the program alive
    return {
        fallback: (question, seen) => {
            const { mu, utility, weights: named, profile = usual } = question;
            const weights = mu ? { mu, utility } : named ? { weights: named } : profiles.get(profile);
            return policy && weights ? policy.decide(question, weights, seen) : null;
        },
        refresh,
        ready: refresh(),
        stop: () => clearInterval(timer),
        get version() { return policy?.version ?? null; },
    };
}
