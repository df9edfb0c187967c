// A matrix of shares: a cell is the stronger the higher its share, the diagonal is outlined, the pointer reads one.

const LINE = 20; // pixels of a row
const MOST_WRITTEN = 12; // columns that have room for numbers

/** Options and data for uPlot; `look` has the colours and the font of the page. */
export function cellPlot(spec, width, look, across) {
  const { rows, values, label } = spec.cells;
  const columns = spec.x.names;
  const left = 16 + Math.max(...rows.map((name) => name.length)) * 6.6;
  const axis = { stroke: look.text, grid: { show: false }, ticks: { show: false }, font: look.font };
  const every = Math.ceil((16 * columns.length) / (width - left));
  const named = (names, found, step) => found.map((place) => (place % step ? "" : names[place]));
  const under = (plot) => {
    const { left: x, top: y } = plot.cursor;
    if (x < 0 || y < 0) return null;
    const place = [Math.round(plot.posToVal(y, "y")), Math.round(plot.posToVal(x, "x"))];
    return rows[place[0]] && columns[place[1]] ? place : null;
  };
  const told = (words) => (plot) => {
    const place = under(plot);
    return place ? words(...place) : "–";
  };
  return [
    {
      width,
      height: LINE * rows.length + 12 + (across.size ?? 34) + 20,
      padding: [12, 12, 0, 0],
      scales: {
        x: { time: false, range: () => [-0.5, columns.length - 0.5] },
        y: { dir: -1, range: () => [-0.5, rows.length - 0.5] },
      },
      axes: [
        {
          ...across,
          label: spec.x.label,
          labelFont: look.font,
          labelSize: 20,
          ...axis,
          values: (_, found) => named(columns, found, every),
        },
        {
          ...axis,
          size: left,
          splits: () => rows.map((_, place) => place),
          values: (_, found) => named(rows, found, 1),
        },
      ],
      series: [
        { label, value: told((row, column) => share(values[row][column])) },
        {
          label: spec.y.label,
          value: told((row) => rows[row]),
          show: true,
          paths: () => null,
          points: { show: false },
        },
        {
          label: spec.x.label,
          value: told((_, column) => columns[column]),
          paths: () => null,
          points: { show: false },
        },
      ],
      cursor: { drag: { x: false, y: false }, points: { show: false } },
      legend: { show: true, markers: { show: false }, isolate: true },
      hooks: {
        setCursor: [(plot) => plot.setLegend({ idx: plot.cursor.idx }, false)],
        draw: [(plot) => paint(plot, values, look)],
      },
    },
    [spec.at, columns.map(() => 0), columns.map(() => 0)],
  ];
}

const share = (value) => (value === null ? "never met" : `${Math.round(100 * value)} %`);

/** The colour of a cell, and that of its number: a mistake of 5 % is seen, and each number is read. */
export function cellColours(value, look) {
  const strength = 0.06 + 0.94 * Math.sqrt(value);
  const [of, on] = [parts(look.colour), parts(look.surface)];
  const mixed = on.map((part, place) => Math.round(part + strength * (of[place] - part)));
  const dark = luminance(mixed) < 0.179; // where black and white have the same contrast, 4.6
  return { fill: `rgb(${mixed.join(", ")})`, ink: dark ? "#fff" : "#000" };
}

/** Red, green and blue, 0 to 255, of "#0072b2" or "rgb(0, 114, 178)". */
function parts(colour) {
  const hex = /^#(..)(..)(..)$/.exec(colour.trim());
  return hex
    ? hex.slice(1).map((two) => Number.parseInt(two, 16))
    : colour
        .match(/[\d.]+/g)
        .slice(0, 3)
        .map(Number);
}

/** The relative luminance of WCAG 2, 0 to 1. */
function luminance(colour) {
  const linear = colour.map((part) => (part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

function paint(plot, values, look) {
  const { ctx } = plot;
  const ratio = devicePixelRatio || 1;
  const at = (column, row) => [plot.valToPos(column, "x", true), plot.valToPos(row, "y", true)];
  const gap = ratio;
  ctx.save();
  ctx.font = look.font.replace(/^\d+px/, `${12 * ratio}px`);
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  values.forEach((found, row) => {
    found.forEach((value, column) => {
      const [[x, y], [right, below]] = [at(column - 0.5, row - 0.5), at(column + 0.5, row + 0.5)];
      const box = [x + gap, y + gap, right - x - 2 * gap, below - y - 2 * gap];
      if (value !== null) {
        const { fill, ink } = cellColours(value, look);
        ctx.fillStyle = fill;
        ctx.fillRect(...box);
        ctx.fillStyle = ink;
        if (found.length <= MOST_WRITTEN) ctx.fillText(share(value), ...at(column, row));
      }
      ctx.strokeStyle = look.text;
      ctx.lineWidth = ratio;
      if (row === column) ctx.strokeRect(...box);
    });
  });
  ctx.restore();
}
