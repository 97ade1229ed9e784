// Charts of bars that lie in rows: a sum as a waterfall, and lanes of spans in time. Both have points of {row, from, to}.

const ROW_NAME = 30; // characters of a row's name beside it; the whole of it is under the pointer
const ROW_NAME_NARROW = 14;

function isBars(data) {
  return data.kind === "waterfall" || data.kind === "timeline";
}

function shortened(text, length) {
  return text.length <= length ? text : text.slice(0, length - 1) + "…";
}

function rowAxis(data, theme) {
  const length = theme.narrow ? ROW_NAME_NARROW : ROW_NAME;
  return {
    type: "linear",
    reverse: true,
    min: -0.5,
    max: Math.max(1, data.rows.length) - 0.5,
    grid: { display: false, borderColor: theme.colours.muted },
    ticks: { color: theme.colours.text, callback: (row) => shortened(shown(data.rows[row] ?? ""), length) },
    afterBuildTicks: (scale) => { scale.ticks = data.rows.map((_, value) => ({ value })); },
  };
}

function barsConfig(data, theme, plugins, describe) {
  const groups = [...new Set(data.points.map((p) => p.group))];
  return {
    type: "bar",
    data: {
      datasets: groups.map((group, i) => ({
        label: group,
        grouped: false,
        barPercentage: 0.78,
        categoryPercentage: 1,
        maxBarThickness: 56,
        minBarLength: 2, // pixels: less is no colour
        data: data.points.filter((p) => p.group === group).map((p) => ({ ...p, x: [p.from, p.to], y: p.row })),
        ...seriesLook(i, theme.colours),
      })),
    },
    plugins,
    describe,
  };
}

// The amount of each bar beside it, to the right where there is room.
function amounts(data, theme) {
  return {
    id: "amounts",
    afterDatasetsDraw: (chart) => chart.getSortedVisibleDatasetMetas().forEach((meta) => meta.data.forEach((bar, i) => {
      const { ctx, chartArea: area } = chart;
      const text = withUnit(chart.data.datasets[meta.index].data[i].value, data.x.unit);
      const [left, right] = [Math.min(bar.x, bar.base), Math.max(bar.x, bar.base)];
      ctx.save();
      setFont(ctx, theme.labelSize);
      const fits = right + 6 + ctx.measureText(text).width <= area.right;
      ctx.textAlign = fits ? "left" : "right";
      ctx.textBaseline = "middle";
      ctx.lineWidth = 4;
      ctx.lineJoin = "round";
      ctx.strokeStyle = theme.colours.paper;
      ctx.fillStyle = theme.colours.text;
      const at = fits ? right + 6 : left - 6;
      const inside = !fits && left - 6 - ctx.measureText(text).width < area.left;
      ctx.strokeText(text, inside ? right - 6 : at, bar.y);
      ctx.fillText(text, inside ? right - 6 : at, bar.y);
      ctx.restore();
    })),
  };
}

function waterfallConfig(data, theme) {
  return barsConfig(data, theme, [amounts(data, theme)], (p, group) => ({
    title: p.name,
    lines: [group, withUnit(p.value, data.x.unit), ...p.remarks],
  }));
}

function timelineConfig(data, theme) {
  return barsConfig(data, theme, [], (p, group) => ({
    title: p.name,
    lines: [
      ...(group === p.name ? [] : [group]),
      `${data.rows[p.row]}: from ${withUnit(p.from, "s")}, ${withUnit(p.to - p.from, "s")} long`,
      ...p.remarks,
    ],
  }));
}
