// Numbers with units for people, the ticks of an axis, and the points of a chart as CSV.
// The scripts page_*.js are joined into one module in the order of cmake/RafterPageAssets.cmake.

const SI_PREFIXES = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const SMALL_PREFIXES = [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
const BINARY_PREFIXES = [[2 ** 50, "Pi"], [2 ** 40, "Ti"], [2 ** 30, "Gi"], [2 ** 20, "Mi"], [2 ** 10, "Ki"], [1, ""]];

// Three digits at most, and no zeros after the last that counts: "4.48", "64", "0.25".
function digits(value) {
  if (value === 0) return "0";
  const magnitude = Math.abs(value);
  if (magnitude >= 1e6 || magnitude < 1e-3) return value.toExponential(1).replace(".0e", "e").replace("e+", "e");
  return String(Number(value.toPrecision(magnitude >= 100 ? Math.ceil(Math.log10(magnitude) + 1e-9) : 3)));
}

function prefixesOf(unit) {
  if (unit === "B") return BINARY_PREFIXES;
  return unit === "s" ? SMALL_PREFIXES : SI_PREFIXES;
}

function withUnit(value, unit) {
  if (!Number.isFinite(value)) return "-";
  if (unit === "" || unit === "FLOP/B") return unit === "" ? digits(value) : `${digits(value)} ${unit}`;
  const prefixes = prefixesOf(unit);
  const last = prefixes[prefixes.length - 1];
  const [size, prefix] = prefixes.find(([size]) => Math.abs(value) >= size * 0.9995) ?? (value === 0 ? [1, ""] : last);
  return `${digits(value / size)} ${prefix}${unit}`;
}

// What stands at a tick. A ratio needs its unit in the title of the axis alone.
function tickText(value, unit) {
  return unit === "FLOP/B" ? digits(value) : withUnit(value, unit);
}

// Where a logarithmic axis has its lines: powers of ten, or of two for sizes, as many as there is room for; on a short axis
// also some between them.
function logTicks(axis, room) {
  const base = axis.unit === "B" ? 2 : 10;
  const exponent = (value) => Math.log(value) / Math.log(base);
  const span = exponent(axis.max) - exponent(axis.min);
  const step = Math.max(1, Math.ceil(span / room));
  const between = base === 10 && span < 1.5 ? [1, 1.5, 2, 3, 5, 7] : base === 10 && span < 3 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let e = Math.floor(exponent(axis.min) / step) * step; e <= exponent(axis.max); e += step) {
    for (const factor of between) {
      const exact = factor * base ** e;
      const value = base === 10 ? Number(exact.toPrecision(12)) : exact; // 10 ** -5 is no round number in binary
      if (value >= axis.min && value <= axis.max) ticks.push({ value });
    }
  }
  return ticks;
}

// A name as it may be shown: what has no looks, or would turn the direction of writing, as an escape that can be seen.
function shown(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

// One field of RFC 4180. A name that a spreadsheet would take for a formula gets an apostrophe.
function csvField(value) {
  if (value === null || value === undefined) return "";
  let text = String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function titled(axis) {
  return axis.unit === "" ? axis.title : `${axis.title} (${axis.unit})`;
}

function csvOf(data) {
  const rows = [];
  if (data.kind === "waterfall" || data.kind === "timeline") {
    rows.push(["row", "name", "group", `from (${data.x.unit})`, `to (${data.x.unit})`, "remarks"]);
    for (const p of data.points) rows.push([data.rows[p.row], p.name, p.group, p.from, p.to, p.remarks.join("; ")]);
  } else if (data.kind === "roofline") {
    rows.push(["name", "short_name", "group", "flop_per_byte", "flop_per_s", "seconds", "remarks"]);
    for (const p of data.points) {
      rows.push([p.name, p.short_name, p.group, p.flop_per_byte, p.flop_per_s, p.seconds, p.remarks.join("; ")]);
    }
  } else {
    rows.push(["curve", titled(data.x), titled(data.y), "spread"]);
    for (const curve of data.curves) for (const [x, y, spread] of curve.points) rows.push([curve.name, x, y, spread]);
  }
  return rows.map((row) => row.map(csvField).join(",") + "\r\n").join("");
}
