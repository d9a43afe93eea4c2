// contrast.mjs - the least contrast of texts of a page and what they stand on, as WCAG computes it.
const luminance = rgb => rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);

/** The least contrast among the first visible elements of these selectors. */
export const leastContrast = async (page, selectors) => {
    const pairs = await page.evaluate(list => {
        const rgb = c => c.match(/[\d.]+/g).map(Number);
        return list.flatMap(q => {
            const e = [...document.querySelectorAll(q)].find(x => x.checkVisibility());
            if (!e) return [];
            let on = e;
            while (on && (rgb(getComputedStyle(on).backgroundColor)[3] ?? 1) === 0) on = on.parentElement;
            return { q, ink: rgb(getComputedStyle(e).color), paper: rgb(getComputedStyle(on).backgroundColor) };
        });
    }, selectors);
    return pairs.map(({ q, ink, paper }) => {
        const [a, b] = [luminance(ink.slice(0, 3)), luminance(paper.slice(0, 3))].sort((x, y) => y - x);
        return { q, ratio: (a + 0.05) / (b + 0.05) };
    }).reduce((a, b) => b.ratio < a.ratio ? b : a);
};
