/**
 * main.js - the demo page: one player, the plugin, and what both do.
 *
 * Parameters of the address: ?link=lte&profile=live&autoplay=0&rate=4&server=URL&timeout=MS
 *
 * @module demo/main
 */
import { attach } from '../dashjs.js';
import { $ } from '../page.js';
import { Charts } from './charts.js';
import { watchDaemon } from './daemon.js';
import { Recording } from './record.js';
import { showDecision, showStrip, showTiles, showWait, showWho } from './view.js';

const SAMPLE_MS = 250, CLOCK_MS = 100, RATE_S = 0.4; // RATE_S: until the first chunk's rate is known

/** Traces that stand for what viewers have; other links follow in the list. */
const LINKS = {
    'broadband-07': 'slow 3G: 0.4 to 0.5 Mbit/s', '3g-commute-03': 'varying 3G: 0.2 to 2 Mbit/s',
    'lte-02': 'LTE: 1.3 to 5 Mbit/s', 'broadband-04': 'broadband: 5 to 6 Mbit/s',
};
/** The hint of the demo's manifest (tools/make-media.sh). */
const HINT = 'documentary';
const WEIGHTS = ['quality', 'switches', 'stalls', 'startup'];

const query = new URLSearchParams(location.search);
const server = query.get('server') ?? '';
const rate = Number(query.get('rate')) || 1;
const timeoutMs = Number(query.get('timeout')) || undefined;
const video = $('video');

let recording = new Recording();
let run = null; // {player, abrd, t0, base, timer, clock, over, first}
let means = new Map(); // what each profile means, by name
const charts = new Charts(() => recording);

/** Short, so that a minute of video shows what a link does. */
const BUFFER_S = 24;

/** The option `profile` of attach() for `#profile`: undefined is the manifest's hint, null no hint. */
function chosenProfile() {
    const value = $('profile').value;
    if (value === 'mpd') return undefined;
    if (value === 'none') return null;
    if (value !== 'custom') return value;
    return { weights: Object.fromEntries(WEIGHTS.map(name => [name, Number($(`weight-${name}`).value)])) };
}

function settings() {
    return {
        streaming: {
            buffer: { bufferTimeDefault: BUFFER_S, bufferTimeAtTopQuality: BUFFER_S },
            // an outage of the link may be long: the request then waits, as in the emulator
            fragmentRequestTimeout: 120000,
            lastBitrateCachingInfo: { enabled: false },
        },
    };
}

function start() {
    stop();
    recording = new Recording();
    charts.reset();
    show();
    const link = $('link').value;
    const viewer = [...crypto.getRandomValues(new Uint8Array(6))]
        .map(b => b.toString(16).padStart(2, '0')).join('');
    const base = new URL(`demo/${link}/${viewer}/`, document.baseURI).href;

    const player = window.dashjs.MediaPlayer().create();
    player.updateSettings(settings());
    const abrd = attach(player, { server, profile: chosenProfile(), contentId: 'demo', timeoutMs, bufferS: BUFFER_S });
    // first: {request, byte_s: time of its first byte} of the first chunk, for the time that it still needs
    run = { player, abrd, t0: performance.now(), base, first: null };
    run.clock = setInterval(awaited, CLOCK_MS);
    begin();
    listen(player, abrd);
    player.initialize(video, `${base}manifest.mpd`, true);

    $('start').textContent = 'Start again';
}

function begin() {
    run.over = false;
    run.timer = setInterval(tick, SAMPLE_MS);
    $('stop').disabled = false;
}

const now = () => (performance.now() - run.t0) / 1000;

function listen(player, abrd) {
    abrd.on('session', s => recording.open(s));
    abrd.on('decision', a => { recording.decision(a); showDecision(a, recording); });
    abrd.on('request', r => {
        if (run.over) begin(); // a seek back after the end
        recording.request(now(), r);
        show();
    });
    abrd.on('chunk', o => { recording.arrival(now(), o); $('csv').disabled = false; show(); });
    abrd.on('state', show);

    let playing = true; // false after a seek: what it takes is no stall
    player.on('manifestLoaded', readLink);
    player.on('fragmentLoadingStarted', ({ request: r }) => {
        if (r.mediaType === 'video' && r.index === 0) run.first = { request: r };
    });
    player.on('playbackPlaying', () => {
        if (video.playbackRate !== rate) video.playbackRate = rate;
        playing = true;
        recording.stall(now(), false);
        show();
    });
    player.on('playbackWaiting', () => {
        if (playing && !video.seeking) recording.stall(now(), true);
    });
    player.on('playbackSeeking', () => { playing = recording.start.to === null; });
    player.on('playbackEnded', ended);
    player.on('error', e => notice(`The player stopped with an error: ${e.error?.message ?? e.error}`));
}

/** The capacity of the link over time, and the time on its clock. */
async function readLink() {
    const mine = run;
    const asked = now();
    const link = await fetch(`${run.base}link.json`).then(r => r.json(), () => null);
    if (!link || run !== mine) return;
    recording.link = { ...link, offset: link.now_s - (asked + now()) / 2 };
}

function tick() {
    const { player } = run;
    const chunkS = recording.session?.chunk_s;
    const shown = !chunkS || !video.currentTime ? null :
        recording.chunks.findLast(c => c.arrived_s !== null &&
            c.chunk === Math.floor(video.currentTime / chunkS + 1e-3)) ?? null;
    recording.sample(now(), player.getBufferLength('video') || 0, shown, video.currentTime, rate);
    showTiles(recording, shown);
    charts.draw();
}

/** While no picture moves: how long it has taken, and how long the first one still takes. */
function awaited() {
    const { first } = run, t = now(), waits = recording.start.to === null ? recording.start : recording.stalls.at(-1);
    if (run.over || !waits || waits.to !== null || video.paused && waits !== recording.start) return showWait(null);
    const { bytesLoaded: done, bytesTotal: all } = first?.request ?? {};
    if (done > 0) first.byte_s ??= t;
    const took = t - first?.byte_s, known = waits === recording.start && took >= RATE_S && all > 0;
    const left_s = known ? took * (all - done) / done : NaN;
    return showWait({ waited_s: t - waits.from, left_s, first: waits === recording.start });
}

function show() {
    const state = run?.abrd.state ?? { mode: 'idle', reason: '' };
    showWho(run?.over ? { mode: 'over' } : state, recording, run !== null);
    showTiles(recording);
    showStrip(recording);
}

function ended() {
    if (!run || video.currentTime < video.duration - 1) return; // the event may come early
    clearInterval(run.timer);
    run.over = true;
    showWait(null);
    $('stop').disabled = true;
    charts.draw();
    show();
}

function stop() {
    if (!run) return;
    clearInterval(run.timer);
    clearInterval(run.clock);
    showWait(null);
    run.abrd.detach();
    run.player.destroy();
    run = null;
    $('stop').disabled = true;
    showWho({ mode: 'idle', reason: '' }, recording, false);
}

function reset() {
    stop();
    recording = new Recording();
    charts.reset();
    showDecision(null, recording);
    $('csv').disabled = true;
    $('start').textContent = 'Start';
    show();
}

function save() {
    const a = document.createElement('a');
    a.href = URL.createObjectURL(new Blob([recording.csv()], { type: 'text/csv' }));
    a.download = `abrd-${recording.session?.session ?? 'session'}.csv`;
    a.click();
    URL.revokeObjectURL(a.href);
}

function notice(text) {
    $('notice').textContent = text;
    $('notice').hidden = !text;
}

/** A group of a select; entries: [value, text] of each. */
function group(label, entries) {
    const e = document.createElement('optgroup');
    e.label = label;
    e.append(...entries.map(([value, text]) => new Option(text, value)));
    return e;
}

/** The line below the form: what the chosen profile means, in the daemon's words. */
function explain() {
    const { value } = $('profile');
    $('weights').hidden = value !== 'custom';
    $('means').textContent = means.get(value === 'mpd' ? HINT : value) ??
        (value === 'custom' ? 'Weights relative to the profile standard.' : '');
    $('means').hidden = !$('means').textContent;
}

/** The profiles of the daemon: the product's, in the page's order, its own ones, then those of the papers. */
function fillProfiles({ profiles = [] } = {}) {
    const select = $('profile'), known = new Set([...select.options].map(o => o.value));
    means = new Map(profiles.map(p => [p.name, p.means]).filter(([, text]) => text));
    const more = profiles.filter(p => !known.has(p.name)), isPaper = p => p.builtin && p.qoe.utility !== 'points';
    const entries = list => list.map(p => [p.name, p.help ? `${p.name}: ${p.help}` : p.name]);
    const own = more.filter(p => !isPaper(p)), papers = more.filter(isPaper);
    if (own.length) select.append(group('profiles of this daemon', entries(own)));
    if (papers.length) select.append(group('of the papers, in Mbit/s', entries(papers)));
    for (const o of select.options) o.title = means.get(o.value) ?? '';
}

/** Fills the selects; returns whether there is a video to play. */
async function prepare() {
    if (!window.dashjs || !window.uPlot) {
        notice('dash.js and uPlot are not installed.\nRun `make web`, then reload this page.');
        return false;
    }
    const links = await fetch('demo/links').then(r => r.ok ? r.json() : null, () => null);
    if (!links) {
        notice('The daemon that serves this page has no demo links.');
        return false;
    }
    const four = Object.entries(LINKS).filter(([name]) => links.traces.includes(name));
    const names = list => list.filter(name => !four.some(([n]) => n === name)).map(name => [name, name]);
    if (four.length) $('link').append(group('links', four));
    $('link').append(group('generated', names(links.kinds)));
    if (links.traces.length) $('link').append(group('traces', names(links.traces)));
    $('link').value = query.get('link') ?? '3g-commute';
    if (!$('link').value) $('link').selectedIndex = 0;

    fillProfiles(await fetch(`${server}/v1/profiles`).then(r => r.ok ? r.json() : undefined, () => undefined));
    $('profile').value = query.get('profile') ?? 'mpd';
    if (!$('profile').value) $('profile').value = 'mpd';
    explain();

    if (links.media) return true;
    notice('There is no demo video yet.\nRun `make media` (15 seconds with ffmpeg), then restart the daemon.\n' +
        'From an installed package: `sh share/doc/abrd/make-media.sh DIR`, then `abrd serve --media-dir DIR`.');
    return false;
}

$('form').addEventListener('submit', e => { e.preventDefault(); start(); });
$('stop').addEventListener('click', stop);
$('reset').addEventListener('click', reset);
$('csv').addEventListener('click', save);
$('profile').addEventListener('change', explain);
for (const id of ['link', 'profile'])
    $(id).addEventListener('change', () => { if (run && $('profile').value !== 'custom') start(); });

watchDaemon(server);
show();
const playable = await prepare();
$('start').disabled = !playable;
if (!playable) showWho({ mode: 'idle', reason: 'no video to play' }, recording, false);
if (playable && query.get('autoplay') !== '0') start();

/** For the console of the browser, and for the tests. */
window.demo = {
    get recording() { return recording; },
    get abrd() { return run?.abrd ?? null; },
    get player() { return run?.player ?? null; },
    start, stop, reset, charts, links: LINKS,
};
