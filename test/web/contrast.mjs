// contrast.mjs - visible texts of a page that have too little contrast with what they stand on, as WCAG computes it.

/** Runs in the page: every element with a text of its own, and its contrast. */
function measure(least) {
    const CONTROLS = 'input:not([type=checkbox], [type=range]), select, textarea';
    const rgba = colour => {
        const [r, g, b, a = 1] = (/color\(srgb/.test(colour) ? colour.match(/-?[\d.]+/g).map((v, i) => (i < 3 ? 255 * v : +v)) :
            colour.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
        return [r, g, b, a];
    };
    const over = ([r, g, b, a], below) => [r, g, b].map((v, i) => a * v + (1 - a) * below[i]);
    const luminance = rgb => rgb.map(v => v / 255).map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const paper = e => {
        const layers = [];
        for (let x = e; x; x = x.parentElement) {
            const layer = rgba(getComputedStyle(x).backgroundColor);
            layers.push(layer);
            if (layer[3] === 1) break;
        }
        return layers.reduceRight((below, layer) => over(layer, below), [255, 255, 255]);
    };
    const opacity = e => (e ? Number(getComputedStyle(e).opacity) * opacity(e.parentElement) : 1);
    const texts = [...document.querySelectorAll('body *')].filter(e => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
        !e.matches(':disabled, :disabled *, script, style, option') && e.getBoundingClientRect().width > 1 &&
        (e.matches(CONTROLS) || [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.textContent.trim())));
    return texts.map(e => {
        const style = getComputedStyle(e), below = paper(e);
        const [r, g, b, a] = rgba(e instanceof SVGElement ? style.fill : style.color);
        const [x, y] = [luminance(over([r, g, b, a * opacity(e)], below)), luminance(below)].sort((p, q) => q - p);
        return { text: `${e.tagName.toLowerCase()}${e.id && `#${e.id}`}.${[...e.classList].join('.')} "${(e.matches(CONTROLS) ? e.value : e.textContent).trim().slice(0, 30)}"`,
            ratio: (x + 0.05) / (y + 0.05) };
    }).filter(t => t.ratio < least).map(t => `${t.text} ${t.ratio.toFixed(2)}`);
}

/** The texts with less contrast than `least` among all visible ones, each once, with its contrast. */
export const faint = async (page, least = 4.5) => [...new Set(await page.evaluate(measure, least))];
