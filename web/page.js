/**
 * page.js - shared by the demo page and the dashboard: elements, the line about the daemon, and the look of
 * charts (uPlot). Colours are variables of the style sheet, so dark colours have one place.
 *
 * @module abrd/page
 */
export const $ = id => document.getElementById(id);

/** The current value of a variable of the style sheet. */
export const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Calls fn when the system changes between dark and light. */
export const onScheme = fn => matchMedia('(prefers-color-scheme: dark)').addEventListener('change', fn);

/** An axis of a chart; ink: the colour of its text. */
export const axis = ink => ({
    stroke: css(ink), font: '11px system-ui, sans-serif',
    grid: { stroke: css('--grid'), width: 1 }, ticks: { show: false },
});

/** Gives a chart the width of its box, and the height if it is not given; a hidden box has no size. */
export function fit(plot, box, height = box.clientHeight) {
    const width = box.clientWidth;
    if (width && (width !== plot.width || height !== plot.height)) plot.setSize({ width, height });
}

/** Shows whether the daemon answers, with a line of text. */
export function reachable(up, line) {
    const e = $('daemon-line');
    e.dataset.up = up ? 'yes' : 'no';
    if (e.textContent !== line) e.textContent = line;
}
