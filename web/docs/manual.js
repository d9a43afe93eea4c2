/**
 * manual.js - the search of the manual: over headings, rows of tables and their text. The entries are in
 * search.json, which is fetched when the search is used for the first time.
 *
 * @module abrd/manual
 */
const input = document.getElementById('search'), results = document.getElementById('results');
const MOST = 12;
let entries = null;

/** Fetches the entries once; a failed attempt is repeated at the next use. */
async function load() {
    entries ??= fetch('search.json').then(r => r.ok ? r.json() : Promise.reject(new Error(`${r.status}`)))
        .then(rows => rows.map(([file, page, anchor, heading, text, row]) => ({ file, page, anchor, heading, text, row,
            head: heading.toLowerCase(), whole: `${page} ${heading} ${text}`.toLowerCase() })))
        .catch(() => { entries = null; return []; });
    return entries;
}

/** A word as it is compared: "metrics" finds "metric", "delete" finds "deleting". */
const stem = word => word.length > 4 ? word.replace(/(?:ing|ies|es|ed|s|e|y)$/, '') : word;

/** How well an entry fits the words; 0: not at all. */
function score(e, words) {
    let sum = 0;
    for (const w of words) {
        const at = e.head.indexOf(w);
        if (at >= 0) sum += at === 0 || /[^a-z0-9]/.test(e.head[at - 1]) ? 12 : 6;
        else if (e.page.toLowerCase().includes(w)) sum += 5;
        else if (e.whole.includes(w)) sum += 2;
        else return 0;
    }
    return sum + (e.row ? 0 : 1) + 4 / (1 + e.head.length / 20);
}

/** The part of a text around the first word that is found. */
function snippet(text, words) {
    const low = text.toLowerCase(), at = Math.max(0, Math.min(...words.map(w => low.indexOf(w)).filter(i => i >= 0), text.length) - 40);
    return (at > 0 && at < text.length ? '... ' : '') + text.slice(at < text.length ? at : 0).slice(0, 140);
}

async function show() {
    const query = input.value.toLowerCase().trim();
    const words = query.split(/[\s,;?]+/).map(w => stem(w)).filter(Boolean);
    const all = words.length ? await load() : [];
    if (input.value.toLowerCase().trim() !== query) return; // typed on meanwhile
    const found = all.map(e => ({ e, s: score(e, words) })).filter(f => f.s).sort((a, b) => b.s - a.s).slice(0, MOST);
    results.replaceChildren(...found.map(({ e }) => {
        const item = document.createElement('li'), link = document.createElement('a');
        const [head, page, text] = ['b', 'small', 'span'].map(tag => document.createElement(tag));
        link.href = e.file + (e.anchor ? `#${e.anchor}` : '');
        head.textContent = e.heading;
        page.textContent = e.page;
        text.textContent = snippet(e.text, words);
        link.append(head, page, text);
        item.append(link);
        return item;
    }));
    if (words.length && !found.length) {
        const item = document.createElement('li');
        item.textContent = 'Nothing found. Try one word, or the contents.';
        results.append(item);
    }
    results.hidden = !words.length;
}

/** Moves the focus from the field through the results and back. */
function move(by) {
    const stops = [input, ...results.querySelectorAll('a')], at = stops.indexOf(document.activeElement);
    stops[(at + by + stops.length) % stops.length].focus();
}

input.addEventListener('input', show);
input.addEventListener('focus', load, { once: true });
input.form.addEventListener('submit', e => {
    e.preventDefault();
    results.querySelector('a')?.click();
});
input.form.addEventListener('keydown', e => {
    if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
        e.preventDefault();
        move(e.key === 'ArrowDown' ? 1 : -1);
    } else if (e.key === 'Escape') {
        results.hidden = true;
        input.focus();
    }
});
results.addEventListener('click', () => { results.hidden = true; });
document.addEventListener('keydown', e => {
    if (e.key === '/' && !/^(?:input|textarea|select)$/i.test(document.activeElement?.tagName ?? '')) {
        e.preventDefault();
        input.focus();
    }
});
document.addEventListener('click', e => { if (!input.form.contains(e.target)) results.hidden = true; });
document.querySelector('.contents [aria-current]')?.scrollIntoView({ block: 'nearest' });
