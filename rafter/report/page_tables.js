// Tables that are sorted by a click on the head of a column: down, up, and as they came.

const FACTORS = { n: 1e-9, u: 1e-6, "µ": 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 };

// A cell as a number where it is one, with its prefix: "1.82 ms", "12.3%", "4.48 TB/s"; else null.
function amountOf(text) {
  const parts = /^(-?[\d.]+)(e-?\d+)?\s*([^\d\s].*)?$/.exec(text.trim());
  if (!parts) return null;
  const number = Number(parts[1] + (parts[2] ?? ""));
  const unit = parts[3] ?? "";
  return Number.isNaN(number) ? null : number * (unit.length > 1 ? FACTORS[unit[0]] ?? 1 : 1);
}

// Numbers before text, whichever the direction: what is not known comes last.
function inOrder(a, b, down) {
  const [x, y] = [amountOf(a), amountOf(b)];
  if (x !== null && y !== null) return down ? y - x : x - y;
  if (x !== null || y !== null) return x !== null ? -1 : 1;
  return down ? a.localeCompare(b) : b.localeCompare(a);
}

function makeSortable(table) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...body.rows];
  if (rows.length < 2) return;
  heads.forEach((head, column) => {
    // No <button>: Chromium prints those in the first of a table's repeated heads alone.
    const button = element("span", head.textContent, { role: "button", tabindex: "0", title: "Sort by this column" });
    head.replaceChildren(button);
    button.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      button.click();
    });
    button.addEventListener("click", () => {
      const next = { none: "descending", descending: "ascending", ascending: "none" }[head.getAttribute("aria-sort") ?? "none"];
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (next !== "none") head.setAttribute("aria-sort", next);
      const text = (row) => row.cells[column].textContent;
      const sorted = next === "none" ? rows : [...rows].sort((a, b) => inOrder(text(a), text(b), next === "descending"));
      body.replaceChildren(...sorted);
    });
  });
}
