// schema.mjs - checks values against web/openapi.json: the part of JSON Schema it uses.
import { readFileSync } from 'node:fs';

export const api = JSON.parse(readFileSync('web/openapi.json', 'utf8'));

const KNOWN = new Set(['$ref', 'type', 'description', 'properties', 'required', 'items', 'enum',
    'additionalProperties', 'minimum', 'maximum', 'minItems', 'maxItems', 'oneOf', 'pattern',
    'maxLength', 'default', 'format']);

export function resolve(node) {
    while (node?.$ref) {
        node = node.$ref.slice(2).split('/').reduce((o, key) => o[key], api);
        if (node === undefined) throw new Error('a $ref leads nowhere');
    }
    return node;
}

function typeOf(v) {
    if (v === null) return 'null';
    if (Array.isArray(v)) return 'array';
    return Number.isInteger(v) ? 'integer' : typeof v;
}

function fitsType(v, type) {
    const t = typeOf(v);
    return [type].flat().some(want => want === t || (want === 'number' && t === 'integer'));
}

/** What is wrong with v, as "path: why"; '' when it fits. */
function misfit(v, schema, path = '$') {
    const s = resolve(schema);
    for (const key of Object.keys(s))
        if (!KNOWN.has(key)) throw new Error(`schema.mjs does not know the keyword ${key}`);

    if (s.type && !fitsType(v, s.type)) return `${path}: ${typeOf(v)} is not ${s.type}`;
    if (s.enum && !s.enum.includes(v)) return `${path}: ${v} is none of ${s.enum}`;
    if (s.oneOf && s.oneOf.filter(o => misfit(v, o) === '').length !== 1)
        return `${path}: fits not exactly one`;
    if (typeof v === 'number') {
        if (v < s.minimum) return `${path}: ${v} < ${s.minimum}`;
        if (v > s.maximum) return `${path}: ${v} > ${s.maximum}`;
    }
    if (typeof v === 'string') {
        if (s.pattern && !new RegExp(s.pattern).test(v)) return `${path}: not like ${s.pattern}`;
        if (v.length > s.maxLength) return `${path}: too long`;
    }
    if (Array.isArray(v)) {
        if (v.length < s.minItems || v.length > s.maxItems) return `${path}: ${v.length} items`;
        for (const [i, item] of v.entries()) {
            const why = s.items && misfit(item, s.items, `${path}[${i}]`);
            if (why) return why;
        }
    } else if (typeOf(v) === 'object') {
        for (const key of s.required ?? [])
            if (!(key in v)) return `${path}.${key}: is missing`;
        for (const [key, value] of Object.entries(v)) {
            const known = s.properties?.[key];
            if (!known && s.additionalProperties === false) return `${path}.${key}: is not known`;
            const why = known && misfit(value, known, `${path}.${key}`);
            if (why) return why;
        }
    }
    return '';
}

/** Checks one answer against what openapi.json says of that operation. */
export function answerFits(method, template, answer) {
    const operation = api.paths[template]?.[method.toLowerCase()];
    if (!operation) return `${method} ${template} is not described`;
    const response = resolve(operation.responses[answer.status]);
    if (!response) return `${method} ${template}: ${answer.status} is not described`;
    if (!response.content) return answer.text === '' ? '' : `${answer.status} has a body`;
    const type = (answer.headers.get('content-type') ?? '').split(';')[0];
    const described = response.content[type] ?? response.content['*/*'];
    if (!described) return `${method} ${template}: ${answer.status} as ${type} is not described`;
    for (const name of Object.keys(response.headers ?? {}))
        if (!answer.headers.get(name)) return `${method} ${template}: no header ${name}`;
    if (type !== 'application/json' || !response.content[type]) return '';
    if (!answer.json) return 'the body is not JSON';
    return misfit(answer.json, described.schema);
}
