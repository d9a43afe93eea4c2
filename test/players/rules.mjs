// rules.mjs - who plays: the players with their own rules, and with the plugin.
import { merge } from './begin.mjs';

/** dash.js with one of its rules alone, as its own reference player sets them. */
const only = rule => ({ streaming: { abr: { rules: Object.fromEntries(['throughputRule', 'bolaRule', 'insufficientBufferRule',
    'switchHistoryRule', 'droppedFramesRule', 'abandonRequestsRule', 'l2ARule', 'loLPRule']
    .map(name => [name, { active: name === rule }])) } } });
const without = rule => ({ streaming: { abr: { rules: { [rule]: { active: false } } } } });
const DASHJS = { 'dynamic': {}, 'BOLA': without('throughputRule'), 'throughput': without('bolaRule'),
    'L2A': only('l2ARule'), 'LoL+': only('loLPRule') };

/** The same buffer in each player's settings [s]. */
const LONG = {
    dashjs: s => ({ streaming: { buffer: { bufferTimeDefault: s, bufferTimeAtTopQuality: s, bufferTimeAtTopQualityLongForm: s } } }),
    hlsjs: s => ({ maxBufferLength: s, maxMaxBufferLength: s, maxBufferSize: 1e9 }),
    shaka: s => ({ streaming: { bufferingGoal: s } }),
};
const NAMES = { dashjs: 'dash.js', hlsjs: 'hls.js', shaka: 'Shaka' };

/** Settings of a player with a buffer of so many seconds. */
export const withBuffer = (kind, own, s) => merge(own, LONG[kind](s));

/** name -> {kind, own: settings of the player, abrd: options of attach() or null} */
export const RULES = {};
for (const [rule, own] of Object.entries(DASHJS)) {
    for (const [fast, text] of [[true, ''], [false, ', no fast switch']]) {
        for (const [buffer, about] of [[0, ''], [60, ', 60 s']]) {
            RULES[`dash.js ${rule}${text}${about}`] = { kind: 'dashjs', abrd: null,
                own: merge(own, { streaming: { buffer: { fastSwitchEnabled: fast } } }, buffer ? LONG.dashjs(buffer) : {}) };
        }
    }
}
for (const kind of ['hlsjs', 'shaka']) {
    RULES[NAMES[kind]] = { kind, own: {}, abrd: null };
    RULES[`${NAMES[kind]}, 60 s`] = { kind, own: LONG[kind](60), abrd: null };
}
for (const [kind, name] of Object.entries(NAMES)) {
    RULES[`abrd in ${name}`] = { kind, own: {}, abrd: {} };
    RULES[`abrd in ${name}, own buffer`] = { kind, own: {}, abrd: { bufferS: null } };
}
