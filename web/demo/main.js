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
import { showDecision, showStrip, showTiles, showWho } from './view.js';

const SAMPLE_MS = 250;
const query = new URLSearchParams(location.search);
const server = query.get('server') ?? '';
const rate = Number(query.get('rate')) || 1;
const timeoutMs = Number(query.get('timeout')) || undefined;
const video = $('video');

let recording = new Recording();
let run = null; // {player, abrd, t0, timer, link}
const charts = new Charts(() => recording);

/** The option `profile` of attach() for `#profile`: undefined is the manifest's hint, null no hint. */
function chosenProfile() {
    const value = $('profile').value;
    if (value === 'mpd') return undefined;
    if (value === 'none') return null;
    if (value !== 'custom') return value;
    return { mu: ['mu-quality', 'mu-switch', 'mu-stall'].map(id => Number($(id).value)) };
}

function settings() {
    return {
        streaming: {
            buffer: { bufferTimeDefault: 24, bufferTimeAtTopQuality: 24 },
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
    const abrd = attach(player, { server, profile: chosenProfile(), contentId: 'demo', timeoutMs });
    run = { player, abrd, t0: performance.now(), base };
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

    let playing = false;
    player.on('manifestLoaded', readLink);
    player.on('playbackPlaying', () => {
        if (video.playbackRate !== rate) video.playbackRate = rate;
        playing = true;
        recording.stall(now(), false);
    });
    player.on('playbackWaiting', () => {
        if (playing && !video.seeking) recording.stall(now(), true);
    });
    player.on('playbackSeeking', () => { playing = false; });
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
    const played = !chunkS || !video.currentTime ? null :
        recording.chunks.findLast(c => c.arrived_s !== null &&
            c.chunk === Math.floor(video.currentTime / chunkS + 1e-3))?.kbps ?? null;
    recording.sample(now(), player.getBufferLength('video') || 0, played);
    charts.draw();
}

function show() {
    const state = run?.abrd.state ?? { mode: 'idle', reason: '' };
    showWho(run?.over ? { mode: 'over' } : state, recording, run !== null);
    showTiles(recording, state.startupS);
    showStrip(recording);
}

function ended() {
    if (!run || video.currentTime < video.duration - 1) return; // the event may come early
    clearInterval(run.timer);
    run.over = true;
    $('stop').disabled = true;
    charts.draw();
    show();
}

function stop() {
    if (!run) return;
    clearInterval(run.timer);
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

function options(label, names) {
    const group = document.createElement('optgroup');
    group.label = label;
    group.append(...names.map(n => new Option(n, n)));
    return group;
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
    $('link').append(options('generated', links.kinds));
    if (links.traces.length) $('link').append(options('traces', links.traces));
    $('link').value = query.get('link') ?? '3g-commute';
    if (!$('link').value) $('link').selectedIndex = 0;

    const own = await fetch(`${server}/v1/profiles`).then(r => r.ok ? r.json() : null, () => null);
    const known = new Set([...$('profile').options].map(o => o.value));
    for (const { name } of own?.profiles ?? [])
        if (!known.has(name)) $('profile').add(new Option(name, name), $('profile').options.length - 2);
    $('profile').value = query.get('profile') ?? 'mpd';
    if (!$('profile').value) $('profile').value = 'mpd';
    $('mu').hidden = $('profile').value !== 'custom';

    if (links.media) return true;
    notice('There is no demo video yet.\nRun `make media` (15 seconds with ffmpeg), then restart the daemon.\n' +
        'From an installed package: `sh share/doc/abrd/make-media.sh DIR`, then `abrd serve --media-dir DIR`.');
    return false;
}

$('form').addEventListener('submit', e => { e.preventDefault(); start(); });
$('stop').addEventListener('click', stop);
$('reset').addEventListener('click', reset);
$('csv').addEventListener('click', save);
$('profile').addEventListener('change', () => { $('mu').hidden = $('profile').value !== 'custom'; });
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
    start, stop, reset, charts,
};
