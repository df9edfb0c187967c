// Charts drawn from numbers by uPlot: hover shows values, a drag zooms, a double click shows all again.
// The library is fetched when a chart comes into view; a report's file holds it. Each chart has its table beside it,
// which is closed here.

import { cellPlot } from "./cells.js";

const settings = document.getElementById("charts-script")?.dataset;
const drawn = new Map(); // the element of a chart -> its uPlot
const waiting = new Set();
let library = null;
let printing = false;

function load() {
  if (globalThis.uPlot) return globalThis.uPlot;
  library ??= new Promise((resolve, reject) => {
    document.head.append(
      Object.assign(document.createElement("link"), { rel: "stylesheet", href: settings.style }),
    );
    const script = Object.assign(document.createElement("script"), { src: settings.library });
    script.addEventListener("load", () => resolve(globalThis.uPlot));
    script.addEventListener("error", reject);
    document.head.append(script);
  });
  return library;
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A colour of the theme, on paper of the light one, as the canvas understands it: the browser works out `light-dark()`. */
function colour(name) {
  const style = `color: var(${name});${printing ? "color-scheme: light" : ""}`;
  const probe = Object.assign(document.createElement("span"), { style, hidden: true });
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** An amount with at most so many decimals. */
const written = (amount, digits) => amount.toLocaleString("en", { maximumFractionDigits: digits });

const sizes = ["B", "KiB", "MiB", "GiB", "TiB"];
function bytes(value) {
  let place = 0;
  let amount = value;
  for (; Math.abs(amount) >= 1024 && place < sizes.length - 1; place += 1) amount /= 1024;
  const digits = amount >= 100 || place === 0 ? 0 : 1;
  return `${written(amount, digits)} ${sizes[place]}`;
}

function seconds(value) {
  if (value < 60) return `${written(value, 1)} s`;
  if (value < 3600) return `${written(value / 60, 1)} min`;
  return `${written(value / 3600, 2)} h`;
}

const dated = (value, more) =>
  new Date(1000 * value)
    .toLocaleString("en-GB", { day: "numeric", month: "short", ...more })
    .replace("Sept", "Sep");
const minus = (text) => text.replace("-", "−");
const formats = {
  score: (value) => minus(value.toFixed(3)),
  bytes,
  share: (value) => `${Math.round(100 * value)} %`,
  seconds,
  number: (value) => minus(String(Number(value.toPrecision(4)))),
  date: (value) => dated(value, { hour: "2-digit", minute: "2-digit" }),
};
formats.whole = formats.number;
const ticks = { ...formats, score: (value) => minus(String(Number(value.toFixed(3)))) };
const day = (value) => dated(value);

/** Where ticks may stand on the axis of bytes and of time: at round numbers of their unit. */
const steps = {
  bytes: Array.from({ length: 45 }, (_, power) => 2 ** power),
  date: [
    60, 300, 900, 3600, 10800, 21600, 43200, 86400, 172800, 345600, 604800, 1209600, 2419200, 7862400,
    31449600,
  ],
  whole: [1, 2, 5].flatMap((step) => [step, 10 * step, 100 * step, 1000 * step]).sort((a, b) => a - b),
  seconds: [0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 18000, 36000, 86400],
};

/** How long the longest name is, and whether names must be turned to stand beside each other. */
function room(names, width) {
  const longest = Math.max(...names.map((name) => name.length), 1);
  return { longest, turned: longest * 7.2 > (width - 60) / Math.max(names.length, 1) };
}

/** What turned names need on the left: they end below their point, and the first must not be cut. */
function overhang(spec, width) {
  if (spec.x.kind !== "names") return 0;
  const { longest, turned } = room(spec.x.names, width);
  return turned ? Math.max(0, longest * 4.4 - 60) : 0;
}

function xAxis(spec, text, grid, width) {
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid }, font: font() };
  if (spec.x.kind !== "names") {
    const format = ticks[spec.x.kind];
    const days = (low, high) => spec.x.kind === "date" && high - low >= 2 * 86400; // then no hours are told
    return {
      ...axis,
      space: (_, __, low, high) => (days(low, high) ? 60 : spec.x.kind === "date" ? 100 : 70),
      label: spec.x.kind === "seconds" ? undefined : spec.x.label,
      labelFont: font(),
      labelSize: 20,
      incrs:
        spec.x.kind === "date"
          ? (_, __, low, high) => steps.date.filter((step) => !days(low, high) || step >= 86400)
          : steps[spec.x.kind],
      values: ({ scales }, found) => found.map(days(scales.x.min, scales.x.max) ? day : format),
    };
  }
  const names = spec.x.names;
  const { longest, turned } = room(names, width);
  return {
    ...axis,
    grid: { show: false },
    rotate: turned ? 50 : 0,
    size: turned ? Math.min(150, 16 + longest * 5.4) : 34,
    splits: () => names.map((_, place) => place),
    values: (_, found) => found.map((place) => names[place] ?? ""),
  };
}

const font = () => `12px ${css("--font-sans") || "Inter, sans-serif"}`;

/** Intervals as whiskers. Where an interval is undefined there is none. */
function whiskers(spec, looks) {
  return (plot) => {
    const { ctx } = plot;
    const ratio = devicePixelRatio || 1;
    const { left, top, width, height } = plot.bbox;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    ctx.lineWidth = 1.5 * ratio;
    spec.series.forEach((series, place) => {
      if (!series.low || !plot.series[place + 1].show) return;
      ctx.strokeStyle = looks[place].stroke;
      spec.at.forEach((at, index) => {
        if (series.low[index] === null || series.high[index] === null) return;
        const x = plot.valToPos(at, "x", true);
        const low = plot.valToPos(series.low[index], "y", true);
        const high = plot.valToPos(series.high[index], "y", true);
        const cap = 4 * ratio;
        ctx.beginPath();
        ctx.moveTo(x, low);
        ctx.lineTo(x, high);
        for (const end of [low, high]) {
          ctx.moveTo(x - cap, end);
          ctx.lineTo(x + cap, end);
        }
        ctx.stroke();
      });
    });
    if (spec.limit !== null) {
      ctx.strokeStyle = colour("--text-2");
      ctx.setLineDash([6 * ratio, 5 * ratio]);
      const y = plot.valToPos(spec.limit, "y", true);
      ctx.beginPath();
      ctx.moveTo(left, y);
      ctx.lineTo(left + width, y);
      ctx.stroke();
    }
    ctx.restore();
  };
}

/** The range of y: all values, their intervals as far as they are not absurdly wide, and a limit that is near. */
function range(spec) {
  const values = spec.series.flatMap((series) => series.values).filter((value) => value !== null);
  if (!values.length) return [0, 1];
  let [low, high] = [Math.min(...values), Math.max(...values)];
  const room = Math.max(high - low, 0.25);
  for (const series of spec.series)
    for (const [ends, pick] of [
      [series.low, Math.min],
      [series.high, Math.max],
    ])
      for (const end of ends ?? [])
        if (end !== null) {
          if (pick === Math.min) low = Math.min(low, Math.max(end, Math.min(...values) - room));
          else high = Math.max(high, Math.min(end, Math.max(...values) + room));
        }
  if (["bytes", "share"].includes(spec.y.kind) || spec.limit) low = Math.min(0, low);
  if (spec.limit && spec.limit < 4 * high) high = Math.max(high, spec.limit);
  if (spec.limit === 0) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  const pad = 0.06 * (high - low || Math.abs(high) || 1);
  return [low === 0 ? 0 : low - pad, high + pad];
}

function valuesOf(spec) {
  return [spec.at, ...spec.series.map((series) => series.values)];
}

/** Options and data of a chart for uPlot. */
function plotOf(spec, box) {
  const width = Math.max(box.clientWidth - 2 * Number.parseFloat(getComputedStyle(box).paddingLeft), 200);
  if (!spec.cells) return [options(spec, width), valuesOf(spec)];
  const [text, strong, surface] = [colour("--text-2"), colour("--text"), colour("--surface")];
  const look = { text, strong, surface, colour: colour("--series-1"), font: font() };
  return cellPlot(spec, width, look, xAxis(spec, text, text, width));
}

// Six colours and five dashes make thirty different lines. Points alone have no dash: theirs are hollow in every second
// round of the colours, and larger in every round.
const dashes = [[], [6, 4], [2, 3], [12, 3], [10, 3, 2, 3]];
function lookOf(spec) {
  const colours = [1, 2, 3, 4, 5, 6].map((place) => colour(`--series-${place}`));
  const surface = colour("--surface");
  return spec.series.map((series, place) => {
    const round = Math.floor(place / colours.length);
    const stroke = colours[place % colours.length];
    const line = Boolean(series.line || series.steps);
    const dash = line ? dashes[place % dashes.length] : [];
    return { stroke, line, dash, fill: round % 2 ? surface : stroke, larger: 2 * round };
  });
}

/** What stands beside a name in the legend: its line with its gaps, as a CSS background, or the fill of its points. */
function sample({ stroke, line, dash, fill }) {
  if (!line) return fill;
  if (!dash.length) return stroke;
  const stops = [];
  let end = 0;
  dash.forEach((length, place) => {
    const ink = place % 2 ? "transparent" : stroke;
    stops.push(`${ink} ${end}px`, `${ink} ${end + length}px`);
    end += length;
  });
  return `repeating-linear-gradient(90deg, ${stops.join(", ")})`;
}

function options(spec, width) {
  const looks = lookOf(spec);
  const [text, grid] = [colour("--text-2"), colour("--border")];
  const xFormat = spec.x.kind === "names" ? (at) => spec.x.names[Math.round(at)] ?? "" : formats[spec.x.kind];
  const few = spec.at.length <= 60;
  return {
    width,
    height: 280,
    padding: [12, 12, 0, overhang(spec, width)],
    scales: {
      x: { time: false, range: (_, low, high) => xRange(spec, low, high) },
      y: { range: () => range(spec) },
    },
    axes: [
      xAxis(spec, text, grid, width),
      {
        stroke: text,
        grid: { stroke: grid, width: 1 },
        ticks: { stroke: grid },
        font: font(),
        size: spec.y.kind === "bytes" ? 68 : 50,
        incrs: steps[spec.y.kind],
        values: (_, found) => found.map(ticks[spec.y.kind]),
      },
    ],
    series: [
      { label: spec.x.label, value: (_, at) => (at === null ? "–" : xFormat(at)) },
      ...spec.series.map((series, place) => ({
        label: series.label,
        stroke: looks[place].stroke,
        width: 2,
        dash: looks[place].dash,
        spanGaps: true,
        paths: pathOf(series),
        points: {
          show: !series.bare && (few || !series.line),
          size: (series.low || series.line ? 6 : 5) + looks[place].larger,
          fill: looks[place].fill,
        },
        value: (_, value, __, index) => shown(spec, series, value, index),
      })),
    ],
    cursor: { drag: { x: true, y: false }, y: false },
    legend: {
      show: true,
      markers: {
        width: (_, place) => (looks[place - 1]?.line === false ? 2 : 0),
        fill: (_, place) => (place ? sample(looks[place - 1]) : "none"),
      },
    },
    hooks: { draw: [whiskers(spec, looks)] },
  };
}

/** Values that stand until the next one are steps; what lies between measured ones is a line. */
function pathOf(series) {
  if (series.steps) return globalThis.uPlot.paths.stepped({ align: 1 });
  return series.line ? undefined : () => null;
}

function shown(spec, series, value, index) {
  if (value === null || value === undefined) return "–";
  const format = formats[spec.y.kind];
  const high = series.high?.[index];
  return high === null || high === undefined ? format(value) : `${format(value)} ± ${format(high - value)}`;
}

function xRange(spec, low, high) {
  if (spec.x.kind === "names") return [-0.6, spec.x.names.length - 0.4];
  if (low === high) return [low - 1, high + 1];
  const room = spec.series[0].low ? 0.03 * (high - low) : 0; // whiskers at the ends are drawn whole
  return [low - room, high + room];
}

async function draw(box) {
  waiting.add(box);
  const uPlot = await load();
  if (waiting.delete(box)) place(uPlot, box);
}

function place(uPlot, box) {
  const spec = JSON.parse(box.dataset.chart);
  drawn.get(box)?.plot.destroy();
  drawn.set(box, { spec, plot: new uPlot(...plotOf(spec, box), box) });
}

function redraw() {
  for (const box of drawn.keys())
    if (box.offsetParent) draw(box);
    else seen.observe(box); // folded, it has no width
}

/** On paper, which waits for nothing: charts in light colours, or their tables where no chart was drawn yet. */
function print(begins) {
  printing = begins;
  for (const box of document.querySelectorAll("figure:not([hidden]) [data-chart]")) {
    if (!box.offsetParent) continue; // folded, it is not printed
    const table = box.closest("figure").querySelector(".chart__table");
    if (globalThis.uPlot) place(globalThis.uPlot, box);
    else if (table) table.open = begins;
  }
}

const seen = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      draw(target);
    }
  },
  { rootMargin: "300px" },
);

let wide = innerWidth;
let later = 0;
addEventListener("resize", () => {
  if (innerWidth === wide) return; // on a phone the bar of the browser comes and goes
  wide = innerWidth;
  clearTimeout(later);
  later = setTimeout(redraw, 150);
});

/** Another attempt of a run begins all its charts anew, also those that it has no points for yet. */
function begin(run, epoch) {
  for (const figure of document.querySelectorAll(`figure[data-key$="${CSS.escape(`.${run}`)}"]`)) {
    if (figure.dataset.epoch && figure.dataset.epoch !== epoch) {
      const box = figure.querySelector("[data-chart]");
      const spec = JSON.parse(box.dataset.chart);
      spec.at = [];
      for (const series of spec.series) series.values = [];
      box.dataset.chart = JSON.stringify(spec);
      figure.hidden = true;
    }
    figure.dataset.epoch = epoch;
  }
}

/** New points of a run that goes on: `points` by the key of their chart, `epochs` by run. */
export function grow({ points, epochs }) {
  for (const [run, epoch] of Object.entries(epochs)) begin(run, String(epoch));
  for (const [key, rows] of Object.entries(points)) {
    const figure = document.querySelector(`figure[data-key="${CSS.escape(key)}"]`);
    if (!figure) continue;
    const box = figure.querySelector("[data-chart]");
    const spec = JSON.parse(box.dataset.chart);
    const last = spec.at.at(-1) ?? Number.NEGATIVE_INFINITY;
    for (const [at, ...values] of rows) {
      if (at < last) continue; // sent again after a lost connection
      if (
        at === spec.at.at(-1) &&
        spec.series.every((series, place) => series.values.at(-1) === values[place])
      )
        continue;
      spec.at.push(at);
      spec.series.forEach((series, place) => {
        series.values.push(values[place]);
      });
    }
    box.dataset.chart = JSON.stringify(spec);
    if (figure.hidden) {
      figure.hidden = false;
      document.getElementById("running-empty")?.remove();
    }
    if (drawn.has(box)) draw(box);
    else seen.observe(box);
  }
}

if (settings) {
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  for (const table of document.querySelectorAll(".chart__table")) table.open = false;
  for (const box of document.querySelectorAll("figure:not([hidden]) [data-chart]")) seen.observe(box);
  if (document.querySelector("figure[data-key]:not([hidden])"))
    document.getElementById("running-empty")?.remove();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}
