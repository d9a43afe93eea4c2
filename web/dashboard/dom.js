/**
 * dom.js - elements, and numbers that name their metric.
 *
 * A number that is also in /metrics has `data-metric`, the name of the sample there. `data-over` lists
 * samples by whose sum it is divided. `data-scale` is the factor that it is multiplied by (percent:
 * 100). Several names in `data-metric` are a sum. The tests compare page and metrics this way.
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

/** Writes only if the text has changed, to avoid layout work. */
export function text(e, value) {
    if (e.textContent !== value) e.textContent = value;
}

const NONE = '–';

const formats = []; // by digits: to create one costs more than to use it a hundred times

/** 1234.5 -> "1,234.5"; a dash if it is not a number. */
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
 * Shows a number and names its metric.
 * @param {Element} e
 * @param {number|null} value as in /metrics
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

/** The rows of a table body; creates them only if the keys have changed. */
export function rows(body, keys, make) {
    const wanted = keys.join('\u0000');
    if (body.dataset.keys === wanted) return [...body.children];
    body.dataset.keys = wanted;
    body.replaceChildren(...keys.map(make));
    return [...body.children];
}
