/**
 * page.js - what the demo page and the dashboard share: elements, the daemon's line, and how their
 * charts (uPlot) look. Colours are variables of the style sheet, so that the dark ones are stated in
 * one place.
 *
 * @module abrd/page
 */
export const $ = id => document.getElementById(id);

/** A variable of the style sheet, as it is now. */
export const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Calls fn whenever the system turns dark or light. */
export const onScheme = fn => matchMedia('(prefers-color-scheme: dark)').addEventListener('change', fn);

/** An axis of a chart; ink: the colour of its words. */
export const axis = ink => ({
    stroke: css(ink), font: '11px system-ui, sans-serif',
    grid: { stroke: css('--grid'), width: 1 }, ticks: { show: false },
});

/** Gives a chart the width of its box, and the height when it is not given; a hidden box has none. */
export function fit(plot, box, height = box.clientHeight) {
    const width = box.clientWidth;
    if (width && (width !== plot.width || height !== plot.height)) plot.setSize({ width, height });
}

/** Whether the daemon answers, and what there is to say of it. */
export function reachable(up, line) {
    const e = $('daemon-line');
    e.dataset.up = up ? 'yes' : 'no';
    if (e.textContent !== line) e.textContent = line;
}
