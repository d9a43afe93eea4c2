// compare.mjs BEFORE AFTER - two recordings. changes.txt lists what was changed on purpose since the
// one before: "FILE<tab>OLD<tab>NEW<tab>why", OLD a regular expression that is replaced by NEW in BEFORE.
// Exit 0 when nothing else differs. Sentences of errors (errors.txt) may change: they are shown, and
// only their number must be the same.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const [before, after] = process.argv.slice(2);
const changes = readFileSync(new URL('changes.txt', import.meta.url), 'utf8').split('\n')
    .filter(l => l && !l.startsWith('#')).map(l => l.split('\t'));
for (const c of changes) if (c.length !== 4) throw new Error(`changes.txt: four columns wanted: ${c.join(' | ')}`);

let passed = 0, failed = 0;
for (const file of ['requests.txt', 'errors.txt', 'sessions.txt', 'commands.txt', 'metrics.txt']) {
    let old = readFileSync(join(before, file), 'utf8');
    for (const [f, from, to] of changes) if (f === file) old = old.replace(new RegExp(from, 'gm'), to);
    let a = old.split('\n'), b = readFileSync(join(after, file), 'utf8').split('\n');
    const lines = b.length;
    if (file === 'metrics.txt') { // a set: renamed families may stand elsewhere
        const lost = a.filter(l => !b.includes(l)), gained = b.filter(l => !a.includes(l));
        a = [...lost, ...gained.map(() => '')];
        b = [...lost.map(() => ''), ...gained];
    }
    const differ = [];
    for (let i = 0; i < Math.max(a.length, b.length); i++) if (a[i] !== b[i]) differ.push(i);
    const texts = file === 'errors.txt' && a.length === b.length;
    console.log(`${file}: ${lines} lines, ${differ.length} differ${texts && differ.length ? ' (sentences, as they may)' : ''}`);
    for (const i of differ.slice(0, 12)) {
        if (file === 'requests.txt' && i) console.log(`  ${i}: ${a[i - 1].slice(0, 300)}`);
        console.log(`  - ${a[i]?.slice(0, 600)}\n  + ${b[i]?.slice(0, 600)}`);
    }
    if (differ.length && !texts) failed++; else passed++;
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
