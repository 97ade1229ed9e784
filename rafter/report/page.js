// Brings a page to life: draws each chart, its legend and hover text, follows the theme and the printer, saves the points.
// The data of a chart is the JSON block in its <figure>. Names in it are untrusted: they reach the page as text, never as
// markup. When all is done <body> says how much was drawn: data-charts and data-points.

const LABELS_OF_A_TIP = 4; // points under one spot whose names are shown; the others are counted
const PRINTED = { width: 700, height: 420, ratio: 2 }; // pixels of a chart on paper, which has no window to fill
const NARROW = 520;
const FEW_ROWS = 3; // of bars: they need less height than a chart of points

function element(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = shown(text);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function save(text, type, name) {
  const link = element("a", "", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function fileName(data, ending) {
  const stem = data.title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);
  return `${stem || "chart"}.${ending}`;
}

function offerPoints(figure, data) {
  figure.querySelector(".actions").hidden = false;
  for (const button of figure.querySelectorAll("[data-save]")) {
    const csv = button.dataset.save === "csv";
    button.addEventListener("click", () => (csv ? save(csvOf(data), "text/csv;charset=utf-8", fileName(data, "csv"))
      : save(JSON.stringify(data, null, 1) + "\n", "application/json", fileName(data, "json"))));
  }
}

// What is under the pointer, as text in the page: it wraps where the canvas would cut a long kernel name off.
function showTip(chart, tooltip, describe) {
  const tip = chart.canvas.parentElement.querySelector(".tip");
  tip.hidden = tooltip.opacity === 0 || !tooltip.dataPoints?.length;
  if (tip.hidden) return;
  const items = tooltip.dataPoints.map((item) => describe(item.raw, item.dataset.label));
  tip.replaceChildren(...items.slice(0, LABELS_OF_A_TIP).flatMap(({ title, lines }) =>
    [element("strong", title), ...lines.map((line) => element("div", line))]));
  if (items.length > LABELS_OF_A_TIP) tip.append(element("div", `and ${items.length - LABELS_OF_A_TIP} more at this spot`));
  const room = chart.canvas.parentElement;
  const x = tooltip.caretX + 14 + tip.offsetWidth > room.clientWidth ? tooltip.caretX - 14 - tip.offsetWidth : tooltip.caretX + 14;
  tip.style.left = `${Math.max(0, Math.min(x, room.clientWidth - tip.offsetWidth))}px`;
  tip.style.top = `${Math.max(0, Math.min(tooltip.caretY - tip.offsetHeight / 2, room.clientHeight - tip.offsetHeight))}px`;
}

function drawSwatch(swatch, dataset, kind) {
  const ratio = window.devicePixelRatio || 1;
  swatch.width = 28 * ratio;
  swatch.height = 16 * ratio;
  const context = swatch.getContext("2d");
  context.scale(ratio, ratio);
  if (kind === "waterfall" || kind === "timeline") {
    context.fillStyle = dataset.backgroundColor;
    return void context.fillRect(2, 3, 24, 10);
  }
  if (kind === "line") strokeLine(context, [0, 8], [28, 8], dataset.borderColor, dataset.borderDash, 2);
  context.fillStyle = dataset.pointBackgroundColor;
  context.strokeStyle = dataset.pointBorderColor;
  context.lineWidth = 1.5;
  Chart.helpers.drawPoint(context, { pointStyle: dataset.pointStyle, radius: 5, borderWidth: 1.5, rotation: 0 }, 14, 8);
}

// A button for each curve or kind, which hides it and shows it again.
function fillLegend(legend, chart, data, theme) {
  const buttons = chart.data.datasets.map((dataset, i) => {
    const button = element("button", "", { type: "button", "aria-pressed": "true", title: dataset.label });
    button.append(element("canvas", "", { "aria-hidden": "true" }), element("span", dataset.label));
    button.addEventListener("click", () => {
      chart.setDatasetVisibility(i, !chart.isDatasetVisible(i));
      button.setAttribute("aria-pressed", String(chart.isDatasetVisible(i)));
      chart.update("none");
    });
    return button;
  });
  const roofs = (data.roofs ?? []).map((roof) => roof.measured);
  const keys = [[true, "measured roof"], [false, "datasheet roof"]].filter(([measured]) => roofs.includes(measured));
  const keyNodes = keys.map(([measured, text]) => {
    const key = element("span", "", { class: "key" });
    key.append(element("canvas", "", { "aria-hidden": "true" }), element("span", text));
    return key;
  });
  if (data.kind === "roofline" && data.points.some((p) => p.seconds > 0)) keyNodes.push(element("span", "area: share of the time", { class: "key" }));
  legend.replaceChildren(...buttons, ...keyNodes);
  return () => {
    buttons.forEach((button, i) => drawSwatch(button.firstChild, chart.data.datasets[i], data.kind));
    keys.forEach(([measured], i) => {
      const swatch = keyNodes[i].firstChild;
      drawRoofKey(swatch, measured, theme.colours);
    });
  };
}

function drawRoofKey(swatch, measured, colours) {
  const ratio = window.devicePixelRatio || 1;
  swatch.width = 28 * ratio;
  swatch.height = 16 * ratio;
  const context = swatch.getContext("2d");
  context.scale(ratio, ratio);
  strokeLine(context, [0, 8], [28, 8], measured ? colours.text : colours.muted, measured ? [] : [7, 5], 2);
}

// The arrow keys walk over the points from left to right; each is shown as under the pointer, and said.
function walkByKeys(canvas, chart, spoken, describe) {
  let at = -1;
  canvas.addEventListener("keydown", (event) => {
    const points = chart.getSortedVisibleDatasetMetas()
      .flatMap((meta) => meta.data.map((point, index) => ({ datasetIndex: meta.index, index, x: point.x, y: point.y })))
      .sort((a, b) => a.x - b.x || a.y - b.y);
    const last = points.length - 1;
    const next = { ArrowRight: Math.min(at + 1, last), ArrowLeft: Math.max(at - 1, 0), Home: 0, End: last, Escape: -1 }[event.key];
    if (next === undefined || last < 0) return;
    event.preventDefault();
    at = next;
    const active = at < 0 ? [] : [points[at]];
    chart.setActiveElements(active);
    chart.tooltip.setActiveElements(active, active[0] ?? { x: 0, y: 0 });
    chart.update("none");
    if (at < 0) return void (spoken.textContent = "");
    const dataset = chart.data.datasets[points[at].datasetIndex];
    const { title, lines } = describe(dataset.data[points[at].index], dataset.label);
    spoken.textContent = shown([title, ...lines].join(", "));
  });
}

function chartOptions(data, theme, describe) {
  return {
    animation: false,
    indexAxis: isBars(data) ? "y" : "x",
    maintainAspectRatio: false,
    responsive: true,
    layout: { padding: { top: 8, right: 12 } },
    interaction: { mode: "nearest", intersect: data.kind !== "line" },
    scales: axesOf(data, theme),
    plugins: {
      legend: { display: false },
      tooltip: { enabled: false, external: ({ chart, tooltip }) => showTip(chart, tooltip, describe) },
    },
  };
}

function axesOf(data, theme) {
  const x = axisOptions(data.x, theme.colours, theme.narrow ? 5 : 11);
  return { x, y: isBars(data) ? rowAxis(data, theme) : axisOptions(data.y, theme.colours, 9) };
}

const CONFIGS = { line: lineConfig, roofline: rooflineConfig, waterfall: waterfallConfig, timeline: timelineConfig };

// Draws a chart into its figure. Returns what draws it anew when the theme or the medium has changed.
function drawChart(figure, data) {
  const canvas = figure.querySelector(".canvas > canvas");
  figure.classList.toggle("low", isBars(data) && data.rows.length <= FEW_ROWS);
  const theme = {};
  const look = (printing) => {
    theme.colours = themeColours();
    theme.narrow = !printing && canvas.parentElement.clientWidth < NARROW;
    theme.labelSize = theme.narrow || printing ? 11 : 13;
  };
  look(false);
  const { describe, ...config } = CONFIGS[data.kind](data, theme);
  config.options = { ...chartOptions(data, theme, describe), onResize: () => look(document.documentElement.classList.contains("printing")) };
  const chart = new Chart(canvas, config);
  const drawLegend = fillLegend(figure.querySelector(".legend"), chart, data, theme);
  walkByKeys(canvas, chart, figure.querySelector(".spoken"), describe);
  const redraw = (printing) => {
    look(printing);
    chart.data.datasets.forEach((dataset, i) => Object.assign(dataset, seriesLook(i, theme.colours)));
    chart.options.scales = axesOf(data, theme);
    chart.options.devicePixelRatio = printing ? PRINTED.ratio : undefined;
    if (printing) chart.resize(PRINTED.width, PRINTED.height);
    else chart.resize();
    chart.update(); // without "none", which leaves the colours that all bars share as they were
    drawLegend();
  };
  drawLegend();
  return redraw;
}

function start() {
  const redraws = [];
  let points = 0;
  const canDraw = typeof Chart !== "undefined";
  if (canDraw) {
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    Chart.defaults.font.size = 13;
  }
  for (const figure of document.querySelectorAll("figure")) {
    const data = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
    offerPoints(figure, data);
    if (!canDraw) continue;
    redraws.push(drawChart(figure, data));
    points += data.curves ? data.curves.reduce((sum, curve) => sum + curve.points.length, 0) : data.points.length;
  }
  document.querySelectorAll("main > section > .table table").forEach(makeSortable);
  const redrawAll = (printing) => {
    // The class takes the dark colours away (page.css): paper is white.
    document.documentElement.classList.toggle("printing", printing);
    redraws.forEach((redraw) => redraw(printing));
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redrawAll(false));
  window.addEventListener("beforeprint", () => redrawAll(true));
  window.addEventListener("afterprint", () => redrawAll(false));
  document.body.dataset.charts = String(redraws.length);
  document.body.dataset.points = String(points);
}

start();
