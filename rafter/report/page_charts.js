// Charts of points, curves and rooflines, in the terms of Chart.js. Colours come from page.css, so that a browser's theme sets them.

const SHAPES = ["circle", "triangle", "rect", "rectRot", "crossRot", "star", "cross"];
const DASHES = [[], [8, 4], [2, 3], [10, 4, 2, 4], [5, 2]];
const LABELLED_POINTS = 16; // those that took the most time, where there is room

function themeColours() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: colour("text"), muted: colour("muted"), grid: colour("grid"), paper: colour("paper"),
    series: SHAPES.map((_, i) => colour(`series-${i + 1}`)),
  };
}

function seriesLook(i, colours) {
  const n = SHAPES.length;
  const colour = colours.series[i % n];
  return {
    pointStyle: SHAPES[(i + Math.floor(i / n)) % n],
    borderColor: colour,
    pointBorderColor: colour,
    // The outlined shapes have no inside; the others let what lies below them through.
    pointBackgroundColor: colour + "99",
    backgroundColor: colour,
    borderDash: DASHES[Math.floor(i / n) % DASHES.length],
  };
}

function axisOptions(axis, colours, room) {
  const log = axis.scale === "log";
  return {
    type: log ? "logarithmic" : "linear",
    min: axis.min,
    max: axis.max,
    title: { display: true, text: shown(titled(axis)), color: colours.text },
    grid: { color: colours.grid, borderColor: colours.muted },
    ticks: {
      color: colours.text, includeBounds: false, maxRotation: 0, maxTicksLimit: room,
      callback: (value) => tickText(value, axis.unit),
    },
    afterBuildTicks: log ? (scale) => { scale.ticks = logTicks(axis, room); } : undefined,
  };
}

function pixels(chart, [x, y]) {
  return [chart.scales.x.getPixelForValue(x), chart.scales.y.getPixelForValue(y)];
}

function strokeLine(context, [x0, y0], [x1, y1], colour, dash, width) {
  context.save();
  context.beginPath();
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.setLineDash(dash);
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
  context.restore();
}

function clipped(chart, draw) {
  const { ctx, chartArea: a } = chart;
  ctx.save();
  ctx.beginPath();
  ctx.rect(a.left, a.top, a.right - a.left, a.bottom - a.top);
  ctx.clip();
  draw(ctx);
  ctx.restore();
}

// A line of the chart as small discs that a label of something else should not cover.
function lineDiscs([x0, y0], [x1, y1]) {
  const count = Math.max(1, Math.ceil(Math.hypot(x1 - x0, y1 - y0) / 6));
  return Array.from({ length: count + 1 }, (_, i) => ({ x: x0 + (i * (x1 - x0)) / count, y: y0 + (i * (y1 - y0)) / count, radius: 1 }));
}

// Every point that is drawn, and the curve through it, as something that a label should not cover.
function pointDiscs(chart) {
  return chart.getSortedVisibleDatasetMetas().flatMap((meta) => {
    const points = meta.data.map((point) => ({ x: point.x, y: point.y, radius: (point.options.radius ?? 3) + 1 }));
    if (!chart.data.datasets[meta.index].showLine) return points;
    return [...points, ...points.slice(1).flatMap((p, i) => lineDiscs([points[i].x, points[i].y], [p.x, p.y]))];
  });
}

// Curves: bars for the spread and the marks under the points, the names of the marks above them (vertical ones read from
// below, and begin at the top).
function lineDecoration(data, theme) {
  const bars = (chart, ctx) => chart.getSortedVisibleDatasetMetas().forEach((meta) => {
    const dataset = chart.data.datasets[meta.index];
    for (const point of dataset.data) {
      if (!(point.spread > 0)) continue;
      const lowest = data.y.scale === "log" ? data.y.min : -Infinity;
      const ends = [-0.5, 0.5].map((side) => pixels(chart, [point.x, Math.max(lowest, point.y + side * point.spread)]));
      strokeLine(ctx, ends[0], ends[1], dataset.borderColor, [], 1.5);
      for (const [x, y] of ends) strokeLine(ctx, [x - 3, y], [x + 3, y], dataset.borderColor, [], 1.5);
    }
  });
  return {
    id: "lineDecoration",
    beforeDatasetsDraw: (chart) => clipped(chart, (ctx) => {
      const { chartArea: a } = chart;
      for (const mark of data.vertical) {
        const x = chart.scales.x.getPixelForValue(mark.at);
        strokeLine(ctx, [x, a.top], [x, a.bottom], theme.colours.muted, [6, 4], 1.25);
      }
      for (const mark of data.horizontal) {
        const y = chart.scales.y.getPixelForValue(mark.at);
        strokeLine(ctx, [a.left, y], [a.right, y], theme.colours.muted, [6, 4], 1.25);
      }
      bars(chart, ctx);
    }),
    ...labelling(theme, (chart) => {
      const { chartArea: a } = chart;
      const marks = [
        ...data.horizontal.map(({ at, label }) => {
          const y = chart.scales.y.getPixelForValue(at);
          return { label, from: [a.left, y], to: [a.right, y] };
        }),
        ...data.vertical.map(({ at, label }) => {
          const x = chart.scales.x.getPixelForValue(at);
          return { label, from: [x, a.bottom], to: [x, a.top] };
        }),
      ];
      const lines = marks.map(({ from, to }) => lineDiscs(from, to));
      return marks.map(({ label, from, to }, i) => ({
        text: label, colour: theme.colours.text, firm: true, avoid: lines.filter((_, other) => other !== i).flat(),
        places: placesAlong(from, to, true),
      }));
    }),
  };
}

function lineConfig(data, theme) {
  return {
    type: "scatter",
    data: {
      datasets: data.curves.map((curve, i) => ({
        label: curve.name,
        showLine: true,
        borderWidth: 2,
        pointRadius: curve.points.length > 60 ? 2.5 : 4,
        pointHitRadius: 8,
        data: curve.points.map(([x, y, spread]) => ({ x, y, spread })).sort((a, b) => a.x - b.x),
        ...seriesLook(i, theme.colours),
      })),
    },
    plugins: [lineDecoration(data, theme)],
    describe: (point, label) => ({
      title: label,
      lines: [
        `${data.x.title}: ${withUnit(point.x, data.x.unit)}`,
        `${data.y.title}: ${withUnit(point.y, data.y.unit)}`
          + (point.spread === null ? "" : `, spread ${withUnit(point.spread, data.y.unit)}`),
      ],
    }),
  };
}

// The roofline: roofs under the points, their names along them, short names beside the points that took the most time.
function rooflineDecoration(data, theme) {
  return {
    id: "rooflineDecoration",
    beforeDatasetsDraw: (chart) => clipped(chart, (ctx) => {
      for (const roof of data.roofs) {
        const colour = roof.measured ? theme.colours.text : theme.colours.muted;
        strokeLine(ctx, pixels(chart, roof.from), pixels(chart, roof.to), colour, roof.measured ? [] : [7, 5],
          roof.measured ? 1.75 : 1.25);
      }
    }),
    ...labelling(theme, (chart) => {
      const ends = data.roofs.map((roof) => [pixels(chart, roof.from), pixels(chart, roof.to)]);
      const lines = ends.map(([from, to]) => lineDiscs(from, to));
      const roofLabels = data.roofs.map((roof, i) => ({
        text: `${roof.name} ${withUnit(roof.per_second, roof.unit)}`,
        colour: roof.measured ? theme.colours.text : theme.colours.muted,
        firm: true,
        avoid: lines.filter((_, other) => other !== i).flat(),
        places: placesAlong(...ends[i], roof.kind === "compute"),
      }));
      const pointLabels = chart.getSortedVisibleDatasetMetas()
        .flatMap((meta) => meta.data.map((point, i) => ({ point, value: chart.data.datasets[meta.index].data[i] })))
        .sort((a, b) => (b.value.seconds ?? 0) - (a.value.seconds ?? 0))
        .slice(0, LABELLED_POINTS)
        .map(({ point, value }) => ({
          text: value.short_name, colour: theme.colours.text, avoid: lines.flat(),
          places: placesAround(point.x, point.y, point.options.radius),
        }));
      return [...roofLabels, ...pointLabels];
    }),
  };
}

function rooflineConfig(data, theme) {
  const groups = [...new Set(data.points.map((p) => p.group))];
  const total = data.points.reduce((sum, p) => sum + Math.max(0, p.seconds ?? 0), 0);
  const share = (p) => (total > 0 && p.seconds > 0 ? p.seconds / total : 0);
  const radius = (p) => Math.max(4, Math.min(28, 36 * Math.sqrt(share(p))));
  return {
    type: "scatter",
    data: {
      datasets: groups.map((group, i) => {
        // The small ones last, so that they lie on top.
        const points = data.points.filter((p) => p.group === group).sort((a, b) => radius(b) - radius(a));
        return {
          label: group,
          borderWidth: 1.5,
          pointBorderWidth: 1.5,
          pointRadius: points.map(radius),
          pointHoverRadius: points.map((p) => radius(p) + 2),
          pointHitRadius: 3,
          data: points.map((p) => ({ x: p.flop_per_byte, y: p.flop_per_s, ...p })),
          ...seriesLook(i, theme.colours),
        };
      }),
    },
    plugins: [rooflineDecoration(data, theme)],
    describe: (p) => ({
      title: p.name,
      lines: [
        ...(p.group === "" ? [] : [p.group]),
        `${withUnit(p.flop_per_s, "FLOP/s")} at ${withUnit(p.flop_per_byte, "FLOP/B")}`,
        ...(p.seconds === null ? [] : [`${withUnit(p.seconds, "s")}, ${digits(100 * share(p))}% of the time shown`]),
        ...p.remarks,
      ],
    }),
  };
}
