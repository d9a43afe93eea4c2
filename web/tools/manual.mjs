#!/usr/bin/env node
// manual.mjs [OUT] - renders the manual into OUT (web/docs, which the daemon serves at /docs/).
//
// The navigation is web/docs/README.md: a section per heading, a page per list item that begins with a link.
// A new page needs one such line. Markdown that these pages link to is rendered as well, without a place in the
// navigation. Other text files that they link to are copied to files/ as plain text.
//
// Links are those of a forge: relative, to .md files. OUT also gets search.json, the entries of the search.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { Marked } from '../node_modules/marked/lib/marked.esm.js';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const INDEX = 'web/docs/README.md';
const AS_TEXT = /(?:\.(?:c|h|js|mjs|ts|json|yml|yaml|conf|cfg|service|socket|sh|txt|css|csv)|Dockerfile|Makefile)$/;

/** The anchor of a heading, as forges make it. */
export const slug = text => text.toLowerCase().replace(/[^\p{L}\p{N}_\s-]/gu, '').trim().replace(/\s/g, '-');

const escape = text => text.replace(/[&<>"]/g, c => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
const unescape = text => text.replace(/&(amp|lt|gt|quot|#39);/g, (_, c) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[c]);

/** The words of tokens without their marks. */
const plain = tokens => tokens.map(t => t.type === 'html' ? '' : t.tokens ? plain(t.tokens) :
    t.type === 'br' ? ' ' : unescape(t.text ?? '')).join('');

/** The file of the rendered page, below OUT. */
export function pageFile(source) {
    if (source === INDEX) return 'index.html';
    const name = source.replace(/^web\/docs\//, '').replace(/\/README\.md$|\.md$/, '').replace(/^\./, '');
    return `${name.toLowerCase().replaceAll('/', '-')}.html`;
}

const lexer = new Marked();
const lex = text => lexer.lexer(text);

/** The navigation: [{title, pages: [{title, source, anchor, text}]}]. */
export function navigation(root = ROOT) {
    const sections = [];
    for (const token of lex(fs.readFileSync(path.join(root, INDEX), 'utf8'))) {
        if (token.type === 'heading' && token.depth === 2) sections.push({ title: plain(token.tokens), pages: [] });
        if (token.type !== 'list') continue;
        for (const item of token.items) {
            const [link, ...rest] = item.tokens[0]?.tokens ?? [];
            if (link?.type !== 'link') continue;
            const [to, anchor = ''] = link.href.split('#');
            sections.at(-1).pages.push({ title: plain(link.tokens), source: path.posix.join(path.posix.dirname(INDEX), to), anchor,
                text: plain(rest).replace(/^\W+/, '') });
        }
    }
    return sections.filter(s => s.pages.length);
}

/** The anchor of a table's row: the name in its first cell, if that begins with code. */
function rowName(row) {
    const [first] = row[0]?.tokens ?? [];
    return first?.type === 'codespan' ? unescape(first.text) : null;
}
const rowAnchor = name => slug(name.replace(/^(--[a-z-]+).*/, '$1')).replace(/^-+/, '');

/** Renders pages that link to each other, from the source tree `root`. */
export class Manual {
    constructor(root = ROOT) {
        this.root = root;
        this.sections = navigation(root);
        this.listed = this.sections.flatMap(s => s.pages);
        this.pages = new Map(); // source -> {title, html, headings, anchors, entries}
        this.copies = new Set();
        this.dangling = []; // [source, href]
        const queue = [INDEX, ...this.listed.map(p => p.source)];
        for (let source; (source = queue.shift());)
            if (this.pages.has(source)) continue;
            else if (fs.existsSync(path.join(root, source))) queue.push(...this.#render(source));
            else throw new Error(`${INDEX} names ${source}, which is not there`);
        const files = [...this.pages.keys()].map(pageFile), twice = files.find((f, i) => files.indexOf(f) !== i);
        if (twice) throw new Error(`two pages have the name ${twice}`);
    }

    /** Where a link of a page leads from /docs/; null: not in the manual. Adds Markdown that it finds to `found`. */
    #target(source, href, found) {
        if (/^(?:[a-z]+:|#)/.test(href)) return href;
        const [to, anchor] = href.split('#'), file = path.posix.join(path.posix.dirname(source), to);
        const full = path.join(this.root, file);
        if (file.startsWith('..') || !fs.existsSync(full)) {
            this.dangling.push([source, href]);
            return null;
        }
        if (file.endsWith('.md')) {
            found.push(file);
            return pageFile(file) + (anchor ? `#${anchor}` : '');
        }
        if (/^web\/[^.]*\.(?:html|json|png|js)$/.test(file)) return path.posix.relative('web/docs', file) + (anchor ? `#${anchor}` : '');
        if (!AS_TEXT.test(file) || file.includes('/.') || file.startsWith('.') || !fs.statSync(full).isFile()) return null;
        this.copies.add(file);
        return `files/${file}.txt`;
    }

    /** Renders one page; returns the Markdown files that it links to. */
    #render(source) {
        const tokens = lex(fs.readFileSync(path.join(this.root, source), 'utf8'));
        const found = [], headings = [], anchors = new Set(), entries = [];
        const unique = anchor => {
            let name = anchor;
            for (let n = 1; anchors.has(name); n++) name = `${anchor}-${n}`;
            anchors.add(name);
            return name;
        };
        // headings first: a row's name must not take the anchor of a heading below it
        for (const t of tokens)
            if (t.type === 'heading') {
                t.anchor = unique(slug(plain(t.tokens)));
                headings.push({ depth: t.depth, text: plain(t.tokens), anchor: t.anchor });
            }
        const title = headings[0]?.text ?? path.posix.basename(source);
        const manual = this;
        const marked = new Marked({ renderer: {
            heading({ tokens: inner, depth, anchor }) {
                const text = this.parser.parseInline(inner);
                return depth === 1 ? `<h1 id="${anchor}">${text}</h1>\n` :
                    `<h${depth} id="${anchor}">${text} <a class="anchor" href="#${anchor}" aria-label="link to this section">#</a></h${depth}>\n`;
            },
            html: ({ text }) => text.startsWith('<!--') ? '' : text,
            link({ href, tokens: inner }) {
                const text = this.parser.parseInline(inner), to = manual.#target(source, href, found);
                return to === null ? `<span class="source" title="in the source tree: ${escape(href)}">${text}</span>` :
                    `<a href="${escape(to)}">${text}</a>`;
            },
            image({ href, text }) {
                const to = manual.#target(source, href, found);
                return `<a href="${escape(to ?? href)}"><img src="${escape(to ?? href)}" alt="${escape(text)}" loading="lazy"></a>`;
            },
            code: ({ text, lang }) => `<pre tabindex="0"><code${lang ? ` class="language-${escape(lang)}"` : ''}>${escape(text)}\n</code></pre>\n`,
            table({ header, rows }) {
                const cells = (row, tag) => row.map(c => `<${tag}${c.align ? ` class="${c.align}"` : ''}>${this.parser.parseInline(c.tokens)}</${tag}>`).join('');
                const head = header.some(c => c.tokens.length) ? `<thead><tr>${cells(header, 'th')}</tr></thead>\n` : '';
                return `<div class="scroll" tabindex="0" role="region" aria-label="table"><table>\n${head}<tbody>\n${
                    rows.map(r => `<tr${r.anchor ? ` id="${r.anchor}"` : ''}>${cells(r, 'td')}</tr>`).join('\n')}\n</tbody></table></div>\n`;
            },
        } });
        let section = null, part = '';
        const say = text => { if (section) section.text += ` ${text}`; };
        for (const t of tokens) {
            if (t.type === 'heading') {
                if (t.depth <= 2) part = t.depth === 2 ? t.anchor : '';
                entries.push(section = { heading: plain(t.tokens), anchor: t.anchor, part, text: '' });
            } else if (t.type === 'table')
                for (const row of t.rows) {
                    const name = rowName(row), text = row.slice(name ? 1 : 0).map(c => plain(c.tokens)).join(' ');
                    if (!name) say(text);
                    else {
                        const anchor = rowAnchor(name);
                        if (anchor && !anchors.has(anchor)) anchors.add(row.anchor = anchor);
                        entries.push({ heading: plain(row[0].tokens), anchor: row.anchor ?? section?.anchor ?? '', part, text, row: true });
                    }
                }
            else if (t.type === 'list') for (const item of t.items) say(plain(item.tokens));
            else if (t.tokens) say(plain(t.tokens));
            else if (t.type === 'code') say(t.text);
        }
        this.pages.set(source, { title, headings, anchors, entries, html: marked.parser(tokens) });
        return found;
    }

    /** The title in the navigation of a part of a page; undefined: it has none of its own. */
    #place(source, part) {
        return this.listed.find(p => p.source === source && p.anchor === part)?.title;
    }

    /** What the search knows: [page's file, page's title, anchor, heading, text, 1 for a row of a table]. */
    searchEntries() {
        const seen = new Set();
        return this.listed.filter(p => !seen.has(p.source) && seen.add(p.source)).flatMap(({ source, title }) =>
            this.pages.get(source).entries.map(e => [pageFile(source), this.#place(source, e.part) ?? title, e.anchor, e.heading,
                e.text.replace(/\s+/g, ' ').trim(), e.row ? 1 : 0]));
    }

    /** The whole page around a rendered text. */
    document(source) {
        const { title, html, headings } = this.pages.get(source);
        const at = this.listed.findIndex(p => p.source === source && !p.anchor);
        const section = this.sections.find(s => s.pages.some(p => p.source === source && !p.anchor));
        const link = p => `${pageFile(p.source)}${p.anchor ? `#${p.anchor}` : ''}`;
        const contents = this.sections.map(s => `<h2>${escape(s.title)}</h2>\n<ul>${s.pages.map(p =>
            `<li><a href="${link(p)}"${p.source === source && !p.anchor ? ' aria-current="page"' : ''}>${escape(p.title)}</a></li>`).join('\n')}</ul>`).join('\n');
        const below = headings.filter(h => h.depth === 2 || h.depth === 3);
        const toc = below.length < 2 ? '' : `<nav class="toc" aria-label="on this page"><h2>On this page</h2><ul>${below.map(h =>
            `<li class="d${h.depth}"><a href="#${h.anchor}">${escape(h.text)}</a></li>`).join('\n')}</ul></nav>`;
        const step = (p, rel, word) => p ? `<a rel="${rel}" href="${link(p)}"><small>${word}</small> ${escape(p.title)}</a>` : '<span></span>';
        return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${escape(title)} - abrd manual</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="../demo/icon.svg">
<link rel="stylesheet" href="../page.css">
<link rel="stylesheet" href="manual.css">
<script type="module" src="manual.js"></script>
</head>
<body class="manual">
<a class="skip" href="#main">skip to the text</a>
<header>
<a class="brand" href="index.html">abrd <small>manual</small></a>
<form class="search" role="search" action="index.html">
<input id="search" type="search" placeholder="Search: option, metric, topic" aria-label="search the manual" autocomplete="off" spellcheck="false">
<ol id="results" hidden></ol>
</form>
<nav class="places" aria-label="pages of the daemon"><a href="../index.html">Demo</a> <a href="../dashboard.html">Dashboard</a> <a href="../api.html">API</a></nav>
</header>
<div class="columns">
<input type="checkbox" id="menu" aria-label="show the contents"><label for="menu">Contents</label>
<nav class="contents" aria-label="contents">
${contents}
</nav>
<main id="main">
${section ? `<p class="kind">${escape(section.title)}</p>\n` : ''}${html}
<nav class="steps" aria-label="next pages">${at < 0 ? '' : step(this.listed[at - 1], 'prev', 'before') + step(this.listed[at + 1], 'next', 'next')}</nav>
<p class="from">Source: <code>${escape(source)}</code></p>
</main>
${toc}
</div>
</body>
</html>
`;
    }

    /** Writes all pages below `out`, and removes what an earlier run wrote. */
    write(out) {
        fs.mkdirSync(out, { recursive: true });
        for (const f of fs.readdirSync(out)) if (f.endsWith('.html') || f === 'files') fs.rmSync(path.join(out, f), { recursive: true });
        for (const source of this.pages.keys()) fs.writeFileSync(path.join(out, pageFile(source)), this.document(source));
        fs.writeFileSync(path.join(out, 'search.json'), JSON.stringify(this.searchEntries()));
        for (const file of this.copies) {
            const to = path.join(out, 'files', `${file}.txt`);
            fs.mkdirSync(path.dirname(to), { recursive: true });
            fs.copyFileSync(path.join(this.root, file), to);
        }
    }
}

if (process.argv[1] && path.resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
    const manual = new Manual();
    for (const [source, href] of manual.dangling) console.error(`${source}: ${href} leads nowhere`);
    manual.write(path.resolve(process.argv[2] ?? path.join(ROOT, 'web/docs')));
}
