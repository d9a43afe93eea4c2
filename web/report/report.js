// The charts of a report. The page contains it after uPlot; it draws the data of #report-data into the
// figures of the page. Colours come from the style sheet, so a change between light, dark and paper
// redraws the charts.
(() => {
  'use strict';

  const figures = JSON.parse(document.getElementById('report-data').textContent);
  const FONT = '12px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
  const SMALL = '11px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
  const DASH = [7, 5];
  const ruler = document.createElement('canvas').getContext('2d');

  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const alpha = (hex, a) => hex + Math.round(a * 255).toString(16).padStart(2, '0');
  const isNumber = v => typeof v === 'number';

  function textWidth(text) {
    ruler.font = FONT;
    return ruler.measureText(text).width;
  }

  // ---- numbers

  const decimals = step => Math.min(10, (String(+step.toPrecision(6)).split('.')[1] || '').length);

  function power(v) {
    const [m, e] = v.toExponential(3).split('e');
    return `${+m}e${+e}`;
  }

  // the ticks of a linear axis, with as many digits as their distance needs
  function ticks(values, step) {
    const top = Math.max(...values.map(Math.abs));
    if (step < 1e-4) return values.map(v => (v === 0 ? '0' : power(v)));
    const [unit, sign] = top >= 1e6 ? [1e6, 'M'] : top >= 1e4 ? [1e3, 'k'] : [1, ''];
    const digits = decimals(step / unit);
    return values.map(v => (Math.abs(v) < step / 1e6 ? '0' : (v / unit).toFixed(digits) + sign));
  }

  function brief(v) {
    if (!isNumber(v)) return '-';
    const size = Math.abs(v);
    if (size !== 0 && size < 1e-3) return power(v);
    if (size >= 1e6) return `${+(v / 1e6).toPrecision(4)}M`;
    if (size >= 1e4) return `${+(v / 1e3).toPrecision(4)}k`;
    return String(+v.toPrecision(4));
  }

  // ---- ranges

  function extent(panel, axis) {
    const columns = axis === 'x' ? ['x'] : ['y', 'lo', 'hi'];
    let lo = Infinity;
    let hi = -Infinity;
    const log = panel[axis].log;
    const add = v => {
      if (!isNumber(v) || (log && v <= 0)) return;
      lo = Math.min(lo, v);
      hi = Math.max(hi, v);
    };
    for (const s of panel.series) for (const c of columns) (s[c] || []).forEach(add);
    for (const r of panel.rules) if (r.axis === axis) add(r.at);
    if (axis === 'y' && !log && panel.series.some(s => s.kind === 'bars')) add(0);
    return lo <= hi ? [lo, hi] : log ? [1, 10] : [0, 1];
  }

  // uPlot counts the ticks of a log axis from its lower end, which must be a tick: 0.0037 becomes 0.003
  function leading(v, round) {
    const unit = Math.pow(10, Math.floor(Math.log10(v)));
    return +(round(+(v / unit).toPrecision(9)) * unit).toPrecision(9);
  }

  // room for half a bar at both ends of an axis with bars at numbers
  function barStep(panel) {
    let step = Infinity;
    for (const s of panel.series)
      if (s.kind === 'bars') for (let i = 1; i < s.x.length; i++) step = Math.min(step, s.x[i] - s.x[i - 1]);
    return isFinite(step) ? step : 1;
  }

  function range(panel, axis) {
    const a = panel[axis];
    if (isNumber(a.lo)) return [a.lo, a.hi];
    if (axis === 'x' && panel.category) return [-0.5, panel.category.length - 0.5];
    let [lo, hi] = extent(panel, axis);
    if (a.log) {
      const pad = Math.max(Math.pow(hi / lo, axis === 'x' ? 0.02 : 0.06), 1.05);
      return [leading(lo / pad, Math.floor), leading(hi * pad, Math.ceil)];
    }
    if (axis === 'x' && panel.series.some(s => s.kind === 'bars')) {
      const half = barStep(panel) / 2;
      return [lo - half, hi + half];
    }
    if (lo === hi) return [lo - (Math.abs(lo) || 1) * 0.1, hi + (Math.abs(hi) || 1) * 0.1];
    const points = panel.series.some(s => s.kind === 'points');
    const pad = (hi - lo) * (axis === 'x' ? (points ? 0.03 : 0) : 0.06);
    const zero = panel.series.some(s => s.kind === 'bars') && axis === 'y';
    return [zero && lo === 0 ? 0 : lo - pad, zero && hi === 0 ? 0 : hi + pad];
  }

  // ---- axes

  // The labels of a vertical axis are as wide as the widest.
  function sideSize(u, values, index, cycle) {
    const axis = u.axes[index];
    if (cycle > 1) return axis._size;
    const widest = Math.max(0, ...(values || []).map(v => textWidth(v || '')));
    return Math.ceil(axis.ticks.size + axis.gap + widest + 2);
  }

  function axisOptions(panel, which, width) {
    const a = panel[which];
    const o = {
      scale: which,
      label: a.label,
      labelFont: FONT,
      labelSize: 20,
      labelGap: 2,
      font: FONT,
      gap: 4,
      stroke: () => css('--soft'),
      grid: { stroke: () => css('--grid'), width: 1 },
      ticks: { stroke: () => css('--line'), width: 1, size: 5 },
    };
    o.values = a.log
      ? (u, splits) => splits.map(v => (v === null ? '' : brief(v)))
      : (u, splits, i, space, step) => ticks(splits, step);
    if (which === 'y') o.size = sideSize;
    else o.size = 26;
    if (which === 'x' && panel.category) categoryAxis(o, panel.category, width);
    return o;
  }

  // The label of the last tick is centred on it. If the tick is at the end, half of the label needs
  // room beyond the chart.
  function rightPad(u) {
    const axis = u.axes[0];
    const last = (axis._values || []).filter(Boolean).pop();
    return last && !axis._rotate ? Math.max(12, Math.ceil(textWidth(last) / 2) + 3) : 12;
  }

  // names below their places; slanted if they would touch
  function categoryAxis(o, names, width) {
    const widest = Math.max(...names.map(textWidth));
    const slant = widest + 8 > (width - 60) / names.length;
    o.splits = () => names.map((_, i) => i);
    o.values = () => names;
    o.grid = { show: false };
    if (!slant) return;
    o.rotate = 35;
    o.size = Math.ceil(14 + Math.min(widest, 130) * Math.sin((35 * Math.PI) / 180) + 12);
  }

  // ---- series

  function look(legend, s) {
    const key = [...legend.children].find(b => b.dataset.name === s.name);
    return {
      colour: css(`--c${key.dataset.colour}`),
      dashed: s.kind === 'dashed' || 'dashed' in key.dataset,
      shown: key.getAttribute('aria-pressed') === 'true',
    };
  }

  const cleaned = (values, log) =>
    values.map(v => (isNumber(v) && !(log && v <= 0) ? v : null));

  // Bars of several series are next to each other, and so are points at named places: each series has
  // its own places on x.
  function places(panel) {
    const step = panel.category ? 1 : barStep(panel);
    const aside = panel.series.filter(s => s.kind === 'bars' || (panel.category && s.kind === 'points'));
    const bars = aside.some(s => s.kind === 'bars');
    const width = (step * (!bars ? 0.6 : aside.length > 1 ? 0.8 : 0.86)) / aside.length;
    return s => {
      const k = aside.indexOf(s);
      return { shift: k < 0 ? 0 : (k - (aside.length - 1) / 2) * width, width: width / step };
    };
  }

  // What uPlot draws: one entry per column, with the series that it belongs to.
  function columns(panel, legend) {
    const place = places(panel);
    const log = panel.y.log;
    return panel.series.map(s => {
      const x = s.x.map(v => v + place(s).shift);
      const y = cleaned(s.y, log);
      const band = s.lo && (s.kind === 'line' || s.kind === 'dashed');
      const floor = v => (log && isNumber(v) && v <= 0 ? Number.MIN_VALUE : v);
      const table = band ? [x, y, cleaned(s.hi, log), cleaned(s.lo.map(floor), log)] : [x, y];
      return { s, look: look(legend, s), place: place(s), band, table, x };
    });
  }

  function seriesOptions(c, panel) {
    const { colour, dashed, shown } = c.look;
    const o = { label: c.s.name, show: shown, stroke: colour, width: 2, points: { show: false } };
    if (dashed) o.dash = DASH;
    if (c.s.kind === 'line' || c.s.kind === 'dashed') {
      // a few places are shown as points
      if (c.s.x.length <= 24 && c.s.kind === 'line')
        o.points = { show: true, size: 5, width: 1, fill: colour };
    } else if (c.s.kind === 'points') {
      o.width = 0;
      o.paths = () => null;
      o.points = { show: true, size: 8, width: 0, fill: colour };
    } else {
      o.width = 1;
      o.fill = alpha(colour, dashed ? 0.35 : 0.75);
      o.paths = uPlot.paths.bars({ size: [c.place.width, 400] });
      o.fillTo = u => (panel.y.log ? u.scales.y.min : 0);
    }
    return o;
  }

  function build(panel, legend) {
    const cols = columns(panel, legend);
    const series = [{}];
    const bands = [];
    const shade = cols.filter(c => c.band).length > 2 ? 0.12 : 0.2; // many bands overlap
    for (const c of cols) {
      c.at = series.length;
      series.push(seriesOptions(c, panel));
      if (!c.band) continue;
      const hidden = { show: c.look.shown, stroke: 'transparent', width: 0, points: { show: false } };
      series.push({ ...hidden }, { ...hidden });
      bands.push({ series: [c.at + 1, c.at + 2], fill: alpha(c.look.colour, shade) });
    }
    const data = cols.length ? uPlot.join(cols.map(c => c.table)) : [[]];
    const scale = axis => ({ time: false, distr: panel[axis].log ? 3 : 1, range: range(panel, axis) });
    // zooming along x: uPlot asks a function again
    const [x0, x1] = range(panel, 'x');
    const x = scale('x');
    x.range = (u, lo, hi) => (u.zoomed ? [lo, hi] : [x0, x1]);
    return {
      cols,
      data,
      options: { series, bands, scales: { x, y: scale('y') } },
    };
  }

  // ---- whiskers, rules

  function whiskers(u, cols) {
    const { ctx } = u;
    const px = uPlot.pxRatio;
    for (const c of cols) {
      if (!c.s.lo || c.band || !u.series[c.at].show) continue;
      ctx.strokeStyle = c.s.kind === 'bars' ? css('--ink') : c.look.colour;
      ctx.lineWidth = 1.5 * px;
      ctx.beginPath();
      c.x.forEach((v, i) => {
        const [lo, hi] = [c.s.lo[i], c.s.hi[i]];
        if (!isNumber(lo) || !isNumber(hi)) return;
        const at = u.valToPos(v, 'x', true);
        const top = u.valToPos(hi, 'y', true);
        const end = u.valToPos(u.scales.y.distr === 3 ? Math.max(lo, u.scales.y.min) : lo, 'y', true);
        const cap = 4 * px;
        ctx.moveTo(at, top);
        ctx.lineTo(at, end);
        for (const y of [top, end]) {
          ctx.moveTo(at - cap, y);
          ctx.lineTo(at + cap, y);
        }
      });
      ctx.stroke();
    }
  }

  function rule(u, r, last) {
    const { ctx } = u;
    const px = uPlot.pxRatio;
    const { left, top, width, height } = u.bbox;
    const at = u.valToPos(r.at, r.axis, true);
    const inside = r.axis === 'x' ? at >= left && at <= left + width : at >= top && at <= top + height;
    if (!inside) return last;
    ctx.setLineDash([4 * px, 3 * px]);
    ctx.lineWidth = px;
    ctx.strokeStyle = css('--soft');
    ctx.beginPath();
    ctx.moveTo(r.axis === 'x' ? at : left, r.axis === 'x' ? top : at);
    ctx.lineTo(r.axis === 'x' ? at : left + width, r.axis === 'x' ? top + height : at);
    ctx.stroke();
    ctx.setLineDash([]);
    if (!r.label) return last;
    ctx.font = SMALL.replace('11px', `${11 * px}px`);
    ctx.fillStyle = css('--soft');
    const w = ctx.measureText(r.label).width;
    if (r.axis === 'y') {
      ctx.fillText(r.label, left + width - w - 4 * px, at - 4 * px);
      return last;
    }
    // a label that would run over the one before it, or out of the chart, is left out or turned in
    const x = at + 4 * px + w > left + width ? at - 4 * px - w : at + 4 * px;
    if (x < last) return last;
    ctx.fillText(r.label, x, top + 12 * px);
    return x + w;
  }

  function overlay(u, panel, cols) {
    u.ctx.save();
    u.ctx.textAlign = 'left';
    u.ctx.textBaseline = 'alphabetic';
    let last = -Infinity;
    for (const r of panel.rules) last = rule(u, r, last);
    whiskers(u, cols);
    u.ctx.restore();
  }

  // ---- what is under the pointer

  function tooltip(u, panel, cols, tip) {
    const { left } = u.cursor;
    const idxs = u.cursor.idxs || [];
    const rows = cols.filter(c => u.series[c.at].show && isNumber(u.data[c.at][idxs[c.at]]));
    tip.hidden = !(left >= 0) || !rows.length;
    if (tip.hidden) return;
    tip.textContent = '';
    const line = (text, colour, strong) => {
      const div = document.createElement('div');
      if (colour) {
        const mark = document.createElement('i');
        mark.style.background = colour;
        div.append(mark);
      }
      const words = document.createElement(strong ? 'b' : 'span');
      words.textContent = text;
      div.append(words);
      tip.append(div);
    };
    const first = rows[0];
    const x = u.data[0][idxs[first.at]];
    line(panel.category ? panel.category[Math.round(x - first.place.shift)] : `${panel.x.label}: ${brief(x - first.place.shift)}`, null, true);
    for (const c of rows) {
      const i = idxs[c.at];
      const own = c.x.indexOf(u.data[0][i]);
      const span = c.s.lo && own >= 0 ? `  (${brief(c.s.lo[own])} to ${brief(c.s.hi[own])})` : '';
      line(`${c.s.name}: ${brief(u.data[c.at][i])}${span}`, c.look.colour);
    }
    const right = left > u.over.clientWidth / 2;
    const inset = u.over.offsetLeft;
    tip.style.left = right ? '' : `${inset + left + 12}px`;
    tip.style.right = right ? `${u.root.clientWidth - inset - left + 12}px` : '';
  }

  // the nearest place where this series has a value, near the pointer
  function nearest(u, series, index, x) {
    if (series === 0) return index;
    const values = u.data[series];
    const close = i => (i >= 0 && i < values.length ? Math.abs(u.data[0][i] - x) : Infinity);
    let [down, up] = [index, index];
    while (down >= 0 && !isNumber(values[down])) down--;
    while (up < values.length && !isNumber(values[up])) up++;
    const best = close(down) <= close(up) ? down : up;
    return close(best) <= (u.scales.x.max - u.scales.x.min) / 4 ? best : index;
  }

  // ---- drawing

  function draw(panel, legend, box) {
    const width = box.clientWidth;
    const b = build(panel, legend);
    const tip = document.createElement('div');
    tip.className = 'tip';
    tip.hidden = true;
    const u = new uPlot(
      {
        width,
        height: box.clientHeight,
        pxAlign: 1,
        padding: [8, rightPad, 0, 0],
        legend: { show: false },
        ...b.options,
        axes: [axisOptions(panel, 'x', width), axisOptions(panel, 'y', width)],
        cursor: {
          dataIdx: nearest,
          points: { show: false },
          y: false,
          drag: { x: !panel.category, y: false, setScale: !panel.category },
        },
        hooks: {
          draw: [self => overlay(self, panel, b.cols)],
          setCursor: [self => tooltip(self, panel, b.cols, tip)],
          setSelect: [self => (self.zoomed = true)],
        },
      },
      b.data,
      box,
    );
    u.over.addEventListener('dblclick', () => {
      u.zoomed = false;
      u.setScale('x', { min: null, max: null });
    }, true);
    box.append(tip);
    return { u, cols: b.cols, width };
  }

  const plots = []; // one entry per panel

  function renew(p) {
    if (p.drawn) p.drawn.u.destroy();
    p.box.textContent = '';
    p.drawn = draw(p.panel, p.legend, p.box);
  }

  function toggle(p, name, show) {
    for (const c of p.drawn.cols) {
      if (c.s.name !== name) continue;
      const last = c.at + (c.band ? 2 : 0);
      for (let i = c.at; i <= last; i++) p.drawn.u.setSeries(i, { show });
    }
  }

  for (const f of figures) {
    const figure = document.getElementById(f.id);
    const legend = figure.querySelector('.legend');
    const boxes = figure.querySelectorAll('.plot');
    const own = f.panels.map((panel, i) => ({ panel, legend, box: boxes[i] }));
    plots.push(...own);
    legend.addEventListener('click', event => {
      const key = event.target.closest('button');
      if (!key) return;
      const show = key.getAttribute('aria-pressed') !== 'true';
      key.setAttribute('aria-pressed', String(show));
      for (const p of own) toggle(p, key.dataset.name, show);
    });
  }
  plots.forEach(renew);

  const all = () => plots.forEach(renew);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', all);
  addEventListener('beforeprint', () => {
    document.documentElement.classList.add('print');
    all();
  });
  addEventListener('afterprint', () => {
    document.documentElement.classList.remove('print');
    all();
  });
  new ResizeObserver(() => {
    for (const p of plots) if (p.box.clientWidth !== p.drawn.width) renew(p);
  }).observe(document.body);
})();
