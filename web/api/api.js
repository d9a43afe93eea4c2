/**
 * api.js - the page of the HTTP API, from openapi.json: every route with its fields, and a form that sends a
 * request to this daemon. It needs nothing but the daemon. The token stays in the field and is sent only with
 * routes that need it.
 *
 * @module abrd/api
 */
import { $ } from '../page.js';

const METHODS = ['get', 'post', 'put', 'delete'];
const SHOWN = 100_000;     // characters of an answer
const DEPTH = 4;           // of nested fields

let api = null;

/** An element with a class, attributes and children; texts become text nodes. */
function make(tag, { ...attributes } = {}, ...children) {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes))
        if (value === true) e.setAttribute(name, '');
        else if (value !== undefined && value !== false) e.setAttribute(name, value);
    e.append(...children.filter(c => c !== null && c !== undefined));
    return e;
}

/** What a $ref stands for. */
function resolve(part) {
    for (let i = 0; part?.$ref && i < 8; i++)
        part = part.$ref.slice(2).split('/').reduce((at, key) => at?.[key], api);
    return part ?? {};
}

/** The type of a schema in words: "number, 0 to 100". */
function typeOf(given) {
    const s = resolve(given);
    if (s.const !== undefined) return JSON.stringify(s.const);
    if (s.enum) return s.enum.map(v => JSON.stringify(v)).join(' or ');
    const several = s.oneOf ?? s.anyOf;
    if (several) return several.map(typeOf).join(' or ');
    const type = [s.type ?? (s.properties || s.allOf ? 'object' : 'any')].flat().join(' or ');
    const { minimum: lo = s.exclusiveMinimum, maximum: hi = s.exclusiveMaximum } = s;
    const limits = lo !== undefined && hi !== undefined ? `, ${lo} to ${hi}` : lo !== undefined ? `, from ${lo}` :
        hi !== undefined ? `, up to ${hi}` : '';
    return (s.items ? `${type} of ${typeOf(s.items)}` : type) + limits +
        (s.default !== undefined ? `, default ${JSON.stringify(s.default)}` : '');
}

/** The fields of a schema, and those of its members, as lists. */
function fieldsOf(given, depth = 0) {
    const s = resolve(given);
    const parts = [s, ...(s.allOf ?? []).map(resolve)];
    const list = make('ul');
    for (const part of parts)
        for (const [name, of] of Object.entries(part.properties ?? {})) {
            const field = resolve(of), inner = field.items ?? field;
            list.append(make('li', {}, make('code', {}, name), ' ',
                make('span', { class: 'type' }, typeOf(of) + (part.required?.includes(name) ? ', required' : '')),
                field.description ? `: ${field.description}` : null,
                depth < DEPTH ? fieldsOf(inner, depth + 1) : null));
        }
    for (const one of s.oneOf ?? s.anyOf ?? []) {
        const more = fieldsOf(one, depth);
        if (more) list.append(make('li', {}, make('span', { class: 'type' }, typeOf(one)), more));
    }
    if (s.items && !s.properties) return fieldsOf(s.items, depth);
    return list.childElementCount ? list : null;
}

const quote = text => `'${text.replaceAll("'", "'\\''")}'`;

/** A request from the form: {url, method, headers, body}. */
function requestOf(form, { path, method, op }) {
    let url = path;
    const query = new URLSearchParams(), headers = {};
    for (const p of (op.parameters ?? []).map(resolve)) {
        const value = form.elements[`${p.in}:${p.name}`].value;
        if (p.in === 'path') url = url.replace(`{${p.name}}`, value.split('/').map(encodeURIComponent).join('/'));
        else if (value && p.in === 'query') query.set(p.name, value);
        else if (value && p.in === 'header') headers[p.name] = value;
    }
    if (`${query}`) url += `?${query}`;
    const token = $('token').value;
    if (op.security && token) headers.Authorization = `Bearer ${token}`;
    const body = form.elements.body?.value;
    if (body) headers['Content-Type'] = Object.keys(op.requestBody.content)[0];
    return { url: new URL(url, location.origin).href, method: method.toUpperCase(), headers, body: body || undefined };
}

/** The same for a shell; the token stays out of it. */
function curlOf(r) {
    const headers = Object.entries(r.headers).map(([k, v]) =>
        k === 'Authorization' ? `-H "Authorization: Bearer $TOKEN"` : `-H ${quote(`${k}: ${v}`)}`);
    return ['curl', r.method === 'GET' ? '' : `-X ${r.method}`, quote(r.url), ...headers, r.body ? `-d ${quote(r.body)}` : '']
        .filter(Boolean).join(' ');
}

/** Shows an answer while it arrives; an endless one until it is stopped. */
async function show(answer, out, signal) {
    const kind = answer.headers.get('content-type') ?? '';
    if (!/json|text|csv|xml|javascript/.test(kind)) {
        const { byteLength } = await answer.arrayBuffer();
        out.textContent = byteLength ? `${byteLength} bytes of ${kind || 'unknown type'}` : '(empty)';
        return;
    }
    const reader = answer.body.getReader(), decoder = new TextDecoder();
    let text = '';
    for (let part; text.length < SHOWN && !signal.aborted && !(part = await reader.read()).done;) {
        text += decoder.decode(part.value, { stream: true });
        out.textContent = text;
    }
    await reader.cancel();
    if (/json/.test(kind)) try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { /* as it came */ }
    out.textContent = text.length < SHOWN ? text || '(empty)' : `${text.slice(0, SHOWN)}\n... (the first ${SHOWN} characters)`;
}

function formOf(route) {
    const { op } = route, form = make('form', { class: 'fields' });
    for (const p of (op.parameters ?? []).map(resolve)) {
        const name = `${p.in}:${p.name}`, values = resolve(p.schema).enum;
        form.append(make('label', {}, make('code', {}, p.name), ' ',
            make('span', {}, `in the ${p.in}, ${typeOf(p.schema)}${p.required ? ', required' : ''}${p.description ? `: ${p.description}` : ''}`),
            values ? make('select', { name }, ...(p.required ? [] : [make('option', { value: '' }, '(none)')]),
                ...values.map(v => make('option', { value: v }, `${v}`))) :
                make('input', { name, required: p.in === 'path', autocomplete: 'off', spellcheck: 'false', value: p.example })));
    }
    if (op.requestBody) {
        const [[type, content]] = Object.entries(op.requestBody.content);
        const example = content.example ?? Object.values(content.examples ?? {})[0]?.value;
        const body = make('textarea', { name: 'body', spellcheck: 'false' });
        body.value = typeof example === 'string' ? example : example === undefined ? '' : JSON.stringify(example, null, 2);
        form.append(make('label', {}, 'Body ', make('span', {}, `${type}: ${op.requestBody.description ?? ''}`), body));
    }
    const send = make('button', { class: 'send' }, 'Try it'), stop = make('button', { type: 'button', disabled: true }, 'Stop');
    const status = make('p', { class: 'status', role: 'status' }), out = make('pre', { class: 'answer', tabindex: '0', hidden: true });
    const curl = make('pre', { class: 'curl', tabindex: '0' });
    const renew = () => { curl.textContent = curlOf(requestOf(form, route)); };
    let going = null;
    form.addEventListener('input', renew);
    stop.addEventListener('click', () => going?.abort());
    form.addEventListener('submit', async event => {
        event.preventDefault();
        going?.abort();
        const mine = going = new AbortController(), { url, ...request } = requestOf(form, route), began = performance.now();
        renew();
        stop.disabled = false;
        out.hidden = false;
        out.textContent = status.textContent = '';
        try {
            const answer = await fetch(url, { ...request, signal: mine.signal, credentials: 'omit', cache: 'no-store' });
            status.dataset.ok = answer.ok ? 'yes' : 'no';
            status.textContent = `${answer.status} ${answer.statusText} after ${(performance.now() - began).toFixed(0)} ms`;
            if (answer.status === 401) status.textContent += ': enter the daemon\u2019s token at the top of the page';
            await show(answer, out, mine.signal);
        } catch (e) {
            if (mine.signal.aborted) status.textContent += ' (stopped)';
            else { status.dataset.ok = 'no'; status.textContent = `no answer: ${e.message}`; }
        }
        if (going === mine) stop.disabled = true;
    });
    form.append(make('div', { class: 'buttons' }, send, stop), make('h3', {}, 'In a shell'), curl, status, out);
    renew();
    return form;
}

function fill(box, route) {
    const { op } = route, inside = make('div', { class: 'inside' });
    if (op.description) inside.append(make('p', {}, op.description));
    if (op.security) inside.append(make('p', {}, 'Changes the daemon. Needs the token if the daemon was started with one.'));
    inside.append(make('h3', {}, 'Try it'), formOf(route));
    const body = op.requestBody && fieldsOf(Object.values(op.requestBody.content)[0].schema);
    if (body) inside.append(make('h3', {}, 'Fields of the body'), body);
    inside.append(make('h3', {}, 'Answers'));
    const answers = make('ul');
    for (const [status, given] of Object.entries(op.responses)) {
        const a = resolve(given), [schema] = Object.values(a.content ?? {}).map(c => c.schema);
        const more = /^2/.test(status) && schema ? fieldsOf(schema) : null;
        answers.append(make('li', {}, make('code', {}, status), ` ${a.description ?? ''}`, more));
    }
    inside.append(answers);
    box.append(inside);
}

function routeBox(route) {
    const { path, method, op } = route;
    const box = make('details', { class: 'route', id: op.operationId },
        make('summary', {}, make('span', { class: 'method', 'data-method': method }, method.toUpperCase()),
            make('span', { class: 'path' }, path), make('span', { class: 'what' }, op.summary ?? '')));
    box.addEventListener('toggle', () => {
        if (box.open && !box.querySelector('.inside')) fill(box, route);
    });
    route.box = box;
    route.words = `${method} ${path} ${op.summary} ${op.description ?? ''} ${op.operationId}`.toLowerCase();
    return box;
}

function openNamed() {
    const box = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (box?.matches?.('details.route')) {
        box.open = true;
        box.scrollIntoView();
    }
}

async function begin() {
    const answer = await fetch(new URL('../openapi.json', import.meta.url));
    if (!answer.ok) throw new Error(`openapi.json: ${answer.status}`);
    api = await answer.json();
    $('about').textContent = `Version ${api.info.version}. ${api.info.description ?? ''}`;
    const routes = Object.entries(api.paths).flatMap(([path, item]) =>
        METHODS.filter(m => item[m]).map(method => ({ path, method, op: item[method] })));
    const sections = api.tags.map(tag => {
        const own = routes.filter(r => r.op.tags?.includes(tag.name));
        const section = make('section', {}, make('h2', {}, tag.name, ' ', make('small', {}, tag.description ?? '')), ...own.map(routeBox));
        $('main').append(section);
        return { section, own };
    });
    $('search').addEventListener('input', () => {
        const words = $('search').value.toLowerCase().split(/\s+/).filter(Boolean);
        let n = 0;
        for (const { section, own } of sections) {
            for (const r of own) n += !(r.box.hidden = !words.every(w => r.words.includes(w)));
            section.hidden = own.every(r => r.box.hidden);
        }
        $('found').textContent = words.length ? `${n} of ${routes.length} routes` : '';
    });
    $('tools').addEventListener('submit', e => e.preventDefault());
    addEventListener('hashchange', openNamed);
    openNamed();
    document.body.dataset.ready = 'yes';
}

begin().catch(e => { $('main').textContent = `The API cannot be shown: ${e.message}. Reload the page when the daemon answers.`; });
