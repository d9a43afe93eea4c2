/**
 * manual.js - the search of the manual: over headings, rows of tables and their text. The entries are in
 * search.json, which is fetched when the search is used for the first time.
 *
 * @module abrd/manual
 */
const input = document.getElementById('search'), results = document.getElementById('results');
const MOST = 12;
let entries = null;

/** Text as it is compared: "start-up" is also "startup". */
function joined(text) {
    const low = text.toLowerCase(), without = low.replace(/(\w)-(?=\w)/g, '$1');
    return low === without ? low : `${low} ${without}`;
}

/** Fetches the entries once; a failed attempt is repeated at the next use. */
async function load() {
    entries ??= fetch('search.json').then(r => r.ok ? r.json() : Promise.reject(new Error(`${r.status}`)))
        .then(rows => rows.map(([file, page, anchor, heading, text, row]) => ({ file, page, anchor, heading, text, row,
            head: joined(heading), whole: joined(`${page} ${heading} ${text}`) })))
        .catch(() => { entries = null; return []; });
    return entries;
}

/** A word as it is compared: "metrics" finds "metric", "delete" finds "deleting". */
const stemOf = word => word.length > 4 ? word.replace(/(?:ing|ies|es|ed|s|e|y)$/, '') : word;

/** Words of questions that say nothing about their subject. */
const EMPTY = new Set('a an and are can do does for from how i in is it my of on or the to what when where which why with'.split(' '));

const ENDING = /^(?:ing|ies|es|ed|s|e|y)(?![a-z0-9])/;

/**
 * How a word stands in a text: 3 alone, 2 at the start of another, 1 within one. Short words need more: "nat" is
 * not found within "coordinates", and hardly in "nats".
 */
function place(text, word) {
    const short = word.length < 4;
    let best = 0;
    for (let at = text.indexOf(word); at >= 0 && best < 3; at = text.indexOf(word, at + 1)) {
        const rest = text.slice(at + word.length, at + word.length + 4);
        const starts = at === 0 || /[^a-z0-9]/.test(text[at - 1]), ends = !/^[a-z0-9]/.test(short ? rest : rest.replace(ENDING, ''));
        best = Math.max(best, !starts ? Number(!short) : ends ? 3 : short ? 1 : 2);
    }
    return best;
}

/** How well an entry fits the words: {n: how many stand in it, s: how prominently}. */
function score(e, words) {
    let n = 0, s = (e.row ? 0 : 1) + 4 / (1 + e.heading.length / 20);
    for (const { stem: w, typed } of words) {
        const points = Math.max(6 * place(e.head, w), 2.5 * place(e.page.toLowerCase(), w), 1 * place(e.whole, w));
        if (points) n++;
        s += points + (place(e.head, typed) === 3 ? 2 : 0);
    }
    return { n, s };
}

/** The part of a text around the first word that is found. */
function snippet(text, words) {
    const low = text.toLowerCase(), at = Math.max(0, Math.min(...words.map(w => low.indexOf(w.stem)).filter(i => i >= 0), text.length) - 40);
    return (at > 0 && at < text.length ? '... ' : '') + text.slice(at < text.length ? at : 0).slice(0, 140);
}

async function show() {
    const query = input.value.toLowerCase().trim();
    const typed = query.split(/[\s,;?]+/).filter(Boolean), telling = typed.filter(w => !EMPTY.has(w));
    const words = (telling.length ? telling : typed).map(w => w.replace(/(\w)-(?=\w)/g, '$1')).map(w => ({ typed: w, stem: stemOf(w) }));
    const all = words.length ? await load() : [];
    if (input.value.toLowerCase().trim() !== query) return; // typed on meanwhile
    const scored = all.map(e => ({ e, ...score(e, words) })).filter(f => f.n);
    const most = scored.reduce((m, f) => Math.max(m, f.n), 0);
    // all words first; entries with one word less fill the list
    const found = scored.filter(f => f.n >= Math.max(1, most - 1)).sort((a, b) => b.n - a.n || b.s - a.s).slice(0, MOST);
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
