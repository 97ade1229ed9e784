// Text on a chart that does not collide: each label has places where it may stand, and takes the first that is free.
// A label that finds none is left out; the table below the chart has all of them.

const LABEL_GAP = 9; // between a line and the middle of its label
const LABEL_STEPS = 20; // places that are tried along a line

// A box of text at any angle is a row of discs along its middle: two labels collide where two discs do.
function discsOf(width, height, place) {
  const radius = height / 2;
  const count = Math.max(2, Math.ceil(width / radius));
  const discs = [];
  for (let i = 0; i < count; ++i) {
    const along = radius + (i * Math.max(0, width - 2 * radius)) / (count - 1);
    discs.push({ x: place.x + along * Math.cos(place.angle), y: place.y + along * Math.sin(place.angle), radius });
  }
  return discs;
}

function meets(discs, others) {
  return discs.some((a) => others.some((b) => (a.x - b.x) ** 2 + (a.y - b.y) ** 2 < (a.radius + b.radius) ** 2));
}

function inside(discs, area) {
  return discs.every((d) => d.x - d.radius >= area.left - 1 && d.x + d.radius <= area.right + 1
    && d.y - d.radius >= area.top - 1 && d.y + d.radius <= area.bottom + 1);
}

function setFont(context, size) {
  context.font = `${size}px ${Chart.defaults.font.family}`;
}

// labels: {text, colour, places: width => [{x, y, angle}]}, x and y the middle of the left end. A label looks for a place clear
// of `points` and of the lines it has in `avoid`, then of points alone; one that is `firm` would rather cover either than be
// left out. Returns {text, colour, place} of those that found one.
function placeLabels(context, area, labels, points, size) {
  context.save();
  setFont(context, size);
  const taken = [];
  const placed = [];
  for (const { text: name, colour, places, avoid = [], firm = false } of labels) {
    const text = shown(name);
    const width = context.measureText(text).width;
    const options = places(width).map((place) => ({ place, discs: discsOf(width, size + 3, place) }))
      .filter(({ discs }) => inside(discs, area) && !meets(discs, taken));
    const offPoints = options.filter(({ discs }) => !meets(discs, points));
    const chosen = offPoints.find(({ discs }) => !meets(discs, avoid)) ?? offPoints[0] ?? (firm ? options[0] : undefined);
    if (chosen === undefined) continue;
    taken.push(...chosen.discs);
    placed.push({ text, colour, place: chosen.place });
  }
  context.restore();
  return placed;
}

function drawLabels(context, placed, { size, halo }) {
  context.save();
  setFont(context, size);
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 4;
  context.strokeStyle = halo;
  for (const { text, colour, place } of placed) {
    context.save();
    context.translate(place.x, place.y);
    context.rotate(place.angle);
    context.strokeText(text, 0, 0);
    context.fillStyle = colour;
    context.fillText(text, 0, 0);
    context.restore();
  }
  context.restore();
}

// A plugin's two steps: finding places takes long and is done when the chart changes, drawing whenever the pointer moves.
function labelling(theme, labelsOf) {
  let placed = [];
  return {
    afterUpdate: (chart) => {
      placed = placeLabels(chart.ctx, chart.chartArea, labelsOf(chart), pointDiscs(chart), theme.labelSize);
    },
    afterDatasetsDraw: (chart) => drawLabels(chart.ctx, placed, { size: theme.labelSize, halo: theme.colours.paper }),
  };
}

// Places along a line in pixels, above it and then below it, from its start or from its end on.
function placesAlong([x0, y0], [x1, y1], fromEnd) {
  const length = Math.hypot(x1 - x0, y1 - y0);
  const angle = Math.atan2(y1 - y0, x1 - x0);
  return (width) => {
    const room = length - width - 8;
    if (room < 0) return [];
    const places = [];
    for (const side of [-LABEL_GAP, LABEL_GAP]) {
      for (let step = 0; step <= LABEL_STEPS; ++step) {
        const along = 4 + (room * (fromEnd ? LABEL_STEPS - step : step)) / LABEL_STEPS;
        places.push({
          x: x0 + along * Math.cos(angle) - side * Math.sin(angle),
          y: y0 + along * Math.sin(angle) + side * Math.cos(angle),
          angle,
        });
      }
    }
    return places;
  };
}

function placesAround(x, y, radius) {
  const gap = radius + 3;
  return (width) => [
    { x: x + gap, y, angle: 0 },
    { x: x - gap - width, y, angle: 0 },
    { x: x - width / 2, y: y - gap - 6, angle: 0 },
    { x: x - width / 2, y: y + gap + 6, angle: 0 },
  ];
}
