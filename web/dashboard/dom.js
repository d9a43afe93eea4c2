/**
 * dom.js - elements, and numbers that say which metric they are.
 *
 * A number on the page that Prometheus can read too has `data-metric`, the sample as it stands in
 * /metrics; with `data-over` it is divided by the sum of those samples, and `data-scale` is what
 * it was multiplied by (percent: 100). So whoever looks can check, and the tests do.
 *
 * @module dashboard/dom
 */
/** A new element: el('td', {class: 'x', title: 'y'}, 'text', child). */
export function el(tag, attributes = {}, ...children) {
    const e = document.createElement(tag);
    set(e, attributes);
    e.append(...children);
    return e;
}

export function svg(tag, attributes = {}, ...children) {
    const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
    set(e, attributes);
    e.append(...children);
    return e;
}

function set(e, attributes) {
    for (const [name, value] of Object.entries(attributes))
        if (value !== null && value !== undefined) e.setAttribute(name, value);
}

/** Writes only what has changed, so that nothing else is laid out. */
export function text(e, value) {
    if (e.textContent !== value) e.textContent = value;
}

const NONE = '–';

const formats = []; // by digits: making one costs more than using it a hundred times

/** 1234.5 -> "1,234.5"; what is no number is a dash. */
export function number(v, digits = 0) {
    if (v === null || v === undefined || !Number.isFinite(v)) return NONE;
    formats[digits] ??= new Intl.NumberFormat('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return formats[digits].format(v);
}

/** sample('abrd_x', {profile: 'news'}) -> 'abrd_x{profile="news"}' */
export const sample = (name, labels = {}) => {
    const inside = Object.entries(labels).map(([k, v]) => `${k}="${v}"`).join(',');
    return inside ? `${name}{${inside}}` : name;
};

/**
 * Shows a number and says which metric it is.
 * @param {Element} e
 * @param {number|null} value as the metric has it
 * @param {{metric: string, over?: string[], digits?: number, scale?: number, unit?: string}} how
 */
export function metric(e, value, { metric: name, over, digits = 0, scale = 1, unit = '' }) {
    if (e.dataset.metric !== name) e.dataset.metric = name;
    if (over && e.dataset.over !== over.join(' ')) e.dataset.over = over.join(' ');
    if (scale !== 1 && !e.dataset.scale) e.dataset.scale = scale;
    const shown = number(value === null ? null : value * scale, digits);
    text(e, unit && shown !== NONE ? `${shown} ${unit}` : shown);
    return e;
}

/** The rows of a table body, made anew only when their number or keys change. */
export function rows(body, keys, make) {
    const wanted = keys.join('\u0000');
    if (body.dataset.keys === wanted) return [...body.children];
    body.dataset.keys = wanted;
    body.replaceChildren(...keys.map(make));
    return [...body.children];
}
