// Text on a chart that does not collide: each label has places where it may stand, and takes the first that is free.
// A label that finds none is left out; the table below the chart has all of them.

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
  return discs.some((a) => others.some((b) => Math.hypot(a.x - b.x, a.y - b.y) < a.radius + b.radius));
}

function inside(discs, area) {
  return discs.every((d) => d.x - d.radius >= area.left - 1 && d.x + d.radius <= area.right + 1
    && d.y - d.radius >= area.top - 1 && d.y + d.radius <= area.bottom + 1);
}

// labels: {text, colour, places: width => [{x, y, angle}]}, x and y the middle of the left end. A label looks for a place clear
// of `points` and of the lines it has in `avoid`, then of points alone; one that is `firm` would rather cover either than be
// left out.
function drawLabels(context, area, labels, points, { size, halo }) {
  context.save();
  context.font = `${size}px ${Chart.defaults.font.family}`;
  context.textBaseline = "middle";
  context.lineJoin = "round";
  const taken = [];
  for (const label of labels) {
    const width = context.measureText(label.text).width;
    const options = label.places(width).map((place) => ({ place, discs: discsOf(width, size + 3, place) }))
      .filter(({ discs }) => inside(discs, area) && !meets(discs, taken));
    const offPoints = options.filter(({ discs }) => !meets(discs, points));
    const chosen = offPoints.find(({ discs }) => !meets(discs, label.avoid ?? [])) ?? offPoints[0]
      ?? (label.firm ? options[0] : undefined);
    if (chosen === undefined) continue;
    taken.push(...chosen.discs);
    context.save();
    context.translate(chosen.place.x, chosen.place.y);
    context.rotate(chosen.place.angle);
    context.lineWidth = 4;
    context.strokeStyle = halo;
    context.strokeText(label.text, 0, 0);
    context.fillStyle = label.colour;
    context.fillText(label.text, 0, 0);
    context.restore();
  }
  context.restore();
}

// Places along a line from (x0, y0) to (x1, y1) in pixels, above it and then below it; `from` is where to begin, 0 to 1.
function placesAlong(x0, y0, x1, y1, from, gap) {
  return (width) => {
    const length = Math.hypot(x1 - x0, y1 - y0);
    const angle = Math.atan2(y1 - y0, x1 - x0);
    const room = length - width - 8;
    if (room < 0) return [];
    const places = [];
    for (const side of [-gap, gap]) {
      for (let step = 0; step <= 20; ++step) {
        const share = from > 0.5 ? 1 - step / 20 : step / 20;
        const along = 4 + share * room;
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
