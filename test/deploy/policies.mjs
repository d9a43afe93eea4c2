// policies.mjs POLICIES MANIFEST... - the pods that network policies select and name are those of the manifests
// (NATS comes from its chart), and each workload has one policy. A policy for other pods has no effect.
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

const [file, ...manifests] = process.argv.slice(2);
const read = f => parseAllDocuments(readFileSync(f, 'utf8')).map(d => d.toJS());
const pods = manifests.flatMap(read).filter(d => d.spec?.template).map(d => ({ name: d.metadata.name, ...d.spec.template }));
const chart = { name: 'nats', metadata: { labels: { 'app.kubernetes.io/name': 'nats' } } };
const fits = ({ matchLabels }, pod) => Object.entries(matchLabels).every(([k, v]) => pod.metadata.labels[k] === v);
const wrong = [], chosen = [];
for (const { metadata: { name }, spec } of read(file)) {
    const own = pods.filter(p => fits(spec.podSelector, p));
    if (own.length !== 1 || own[0].name !== name) wrong.push(`${name} selects ${own.map(p => p.name).join(' and ') || 'no pod'}`);
    chosen.push(...own.map(p => p.name));
    const ports = own.flatMap(p => p.spec.containers).flatMap(c => c.ports).map(p => p.name);
    for (const { port } of spec.ingress.flatMap(r => r.ports))
        if (!ports.includes(port)) wrong.push(`${name}: its pods have no port ${port}`);
    for (const peer of [...spec.ingress.flatMap(r => r.from ?? []), ...spec.egress.flatMap(r => r.to ?? [])])
        if (peer.podSelector && ![...pods, chart].some(p => fits(peer.podSelector, p)))
            wrong.push(`${name}: no pod has ${JSON.stringify(peer.podSelector.matchLabels)}`);
}
for (const { name } of pods) if (chosen.filter(c => c === name).length !== 1) wrong.push(`${name} has no policy of its own`);
for (const w of wrong) console.log(`FAILED ${w}`);
console.log(`${pods.length - wrong.length} passed, ${wrong.length} failed`);
process.exit(wrong.length || !pods.length ? 1 : 0);
