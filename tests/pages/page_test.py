#!/usr/bin/env python3
"""Report pages in headless Chromium, from a file and with no network: what a reader sees, hovers, prints and saves.

    page_test.py SAMPLE_PAGES [test ...]

SAMPLE_PAGES is the program of sample_pages.cpp. Without a browser the test is skipped, and says so.
"""

import csv
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from browser import Browser, find_browser

SKIPPED = 77  # the exit status that tests/pages/CMakeLists.txt knows
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = {"roofline": (1, 200), "lines": (2, 588), "hostile": (4, 50), "empty": (0, 0), "empty_charts": (5, 0), "step": (2, 270), "long_step": (1, 1126)}

# How many points there are, and how many of them have ink where they should be.
POINTS_WITH_INK = """
(() => {
  let points = 0, inked = 0;
  for (const canvas of document.querySelectorAll(".canvas > canvas")) {
    const context = canvas.getContext("2d"), ratio = canvas.width / canvas.clientWidth;
    for (const meta of Chart.getChart(canvas).getSortedVisibleDatasetMetas()) {
      for (const { x, y } of meta.data.map((drawn) => drawn.getCenterPoint())) {
        points += 1;
        inked += context.getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data[3] > 100;
      }
    }
  }
  return [points, inked];
})()
"""
CANVAS = "document.querySelector('.canvas > canvas')"
TIP = "document.querySelector('.tip')"
CURVE_COLOUR = f"Chart.getChart({CANVAS}).data.datasets[0].borderColor"


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="rafter-pages-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        subprocess.run([SAMPLE_PAGES, cls.folder], check=True)
        cls.browser = Browser(find_browser())
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.view()

    def open(self, name):
        page = self.folder / f"{name}.html"
        self.browser.open(page)
        return page

    def value(self, script):
        return self.browser.evaluate(script)

    def expect_quiet(self, page):
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual([url for url in self.browser.requests() if url != page.resolve().as_uri()], [])

    def test_every_page_loads_from_a_file_and_draws_all_its_points(self):
        for name, (charts, points) in PAGES.items():
            for view in ({}, {"dark": True}, {"width": 390, "height": 800}):
                with self.subTest(name, **view):
                    self.browser.view(**view)
                    page = self.open(name)
                    self.expect_quiet(page)
                    self.assertEqual(self.value("[document.body.dataset.charts, document.body.dataset.points]"),
                                     [str(charts), str(points)])
                    self.assertEqual(self.value(POINTS_WITH_INK), [points, points])
                    self.assertLessEqual(self.value("document.documentElement.scrollWidth"), view.get("width", 1280))

    def test_hostile_names_are_text(self):
        page = self.open("hostile")
        self.assertEqual(self.value("document.title"), "<script>document.title='owned'</script>")
        self.assertEqual(self.value("document.querySelectorAll('img, iframe, object, embed, link, form, base').length"), 0)
        # The data of four charts, Chart.js, and the module.
        self.assertEqual(self.value("document.scripts.length"), 6)
        self.value(f"{CANVAS}.focus()")
        for _ in range(10):
            self.browser.press("ArrowRight")
        self.assertIn("right-to-left \\u202e gnp.exe", self.value("document.querySelector('.legend').textContent"))
        self.assertEqual(self.value(f"{TIP}.querySelectorAll('script, img').length"), 0)
        self.expect_quiet(page)

    def test_the_policy_stops_scripts_and_requests_that_slip_in(self):
        self.open("lines")
        slip = "const s = document.createElement('script'); s.textContent = 'window.owned = 1'; document.body.append(s);"
        self.assertEqual(self.value(slip + "typeof window.owned"), "undefined")
        self.assertEqual(self.value("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')"), "refused")
        refused = [c["entry"]["text"] for c in self.browser.complaints() if "entry" in c]
        self.assertTrue(any("Content Security Policy" in text and "127.0.0.1" in text for text in refused), refused)

    def test_charts_follow_the_theme_while_the_page_is_open(self):
        self.open("lines")
        light = self.value(f"[getComputedStyle(document.body).backgroundColor, {CURVE_COLOUR}]")
        self.browser.view(dark=True)
        dark = self.value(f"[getComputedStyle(document.body).backgroundColor, {CURVE_COLOUR}]")
        self.assertEqual(light[0], "rgb(255, 255, 255)")
        self.assertNotEqual(light[0], dark[0])
        self.assertNotEqual(light[1], dark[1])
        self.open("step")
        bar = f"[{CURVE_COLOUR}, Chart.getChart({CANVAS}).getDatasetMeta(0).data[0].options.backgroundColor]"
        for dark in (False, True):
            self.browser.view(dark=dark)
            self.assertEqual(*self.value(bar))

    def test_paper_is_light_and_the_screen_comes_back(self):
        self.browser.view(dark=True)
        self.open("lines")
        dark = self.value(CURVE_COLOUR)
        self.value("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(self.value("getComputedStyle(document.documentElement).getPropertyValue('--paper')").strip(), "#ffffff")
        self.assertNotEqual(self.value(CURVE_COLOUR), dark)
        self.assertEqual(self.value(f"{CANVAS}.width"), 1400)
        self.value("dispatchEvent(new Event('afterprint'))")
        self.browser.settle()
        self.assertEqual(self.value(CURVE_COLOUR), dark)
        self.assertEqual(self.value(f"{CANVAS}.clientWidth === {CANVAS}.parentElement.clientWidth"), True)

    def test_prints_every_row_and_no_buttons(self):
        page = self.open("roofline")
        printed = self.browser.pdf()
        self.assertTrue(printed.startswith(b"%PDF"))
        self.expect_quiet(page)
        if not shutil.which("pdftotext"):
            self.skipTest("no pdftotext: install poppler-utils")
        text = subprocess.run(["pdftotext", "-layout", "-", "-"], input=printed, capture_output=True, check=True).stdout.decode()
        self.assertEqual(len(re.findall(r"dram\.read_\d+ +1\.00 GiB +4\.15 TB/s", text)), 80)
        self.assertGreater(text.count("remark"), 1, "the head of a table is on each of its pages")
        self.assertIn("Kernels under the roofs", text)
        self.assertNotIn("Save points", text)

    def test_the_pointer_and_the_keys_show_the_whole_name(self):
        self.open("roofline")
        spot = self.value(f"(() => {{ const box = {CANVAS}.getBoundingClientRect(), chart = Chart.getChart({CANVAS});"
                          "const p = chart.getDatasetMeta(0).data[0];"
                          "return [box.x + p.x, box.y + p.y, chart.data.datasets[0].data[0].name]; })()")
        self.assertTrue(self.value(f"{TIP}.hidden"))
        self.browser.move_to(*spot[:2])
        self.assertIn(spot[2], self.value(f"{TIP}.textContent"))
        self.browser.move_to(1, 1)
        self.assertTrue(self.value(f"{TIP}.hidden"))
        self.value(f"{CANVAS}.focus()")
        self.browser.press("End")
        rightmost = self.value("(() => { const data = JSON.parse(document.querySelector('figure > script').textContent).points;"
                               "return data.sort((a, b) => b.flop_per_byte - a.flop_per_byte)[0].name; })()")
        self.assertIn(rightmost, self.value(f"{TIP}.textContent"))
        self.assertIn(rightmost, self.value("document.querySelector('.spoken').textContent"))
        self.browser.press("Escape")
        self.assertTrue(self.value(f"{TIP}.hidden"))

    def test_a_bar_tells_the_whole_name(self):
        self.open("step")
        spot = self.value(f"(() => {{ const box = {CANVAS}.getBoundingClientRect(), chart = Chart.getChart({CANVAS});"
                          "const p = chart.getDatasetMeta(0).data[0].getCenterPoint();"
                          "return [box.x + p.x, box.y + p.y, chart.data.datasets[0].data[0].name]; })()")
        self.browser.move_to(*spot[:2])
        self.assertIn(spot[2], self.value(f"{TIP}.textContent"))

    def test_a_click_on_the_head_sorts_a_table_and_the_third_undoes_it(self):
        self.open("step")
        table = "document.querySelector('main > section > .table table')"
        column = f"[...{table}.tBodies[0].rows].map((row) => row.cells[2].textContent)"
        before = self.value(column)
        self.value(f"{table}.tHead.rows[0].cells[2].firstChild.click()")
        self.assertEqual(self.value(column), ["1.20 ms", "30.0 us", "2.50 us", "900 ns", "unknown"])
        self.value(f"{table}.tHead.rows[0].cells[2].firstChild.click()")
        self.assertEqual(self.value(column), ["900 ns", "2.50 us", "30.0 us", "1.20 ms", "unknown"])
        self.value(f"{table}.tHead.rows[0].cells[2].firstChild.click()")
        self.assertEqual(self.value(column), before)

    def test_the_legend_hides_and_shows_a_curve(self):
        self.open("lines")
        button = "document.querySelector('.legend button')"
        for pressed in ("false", "true"):
            self.value(f"{button}.click()")
            self.assertEqual(self.value(f"[{button}.getAttribute('aria-pressed'), String(Chart.getChart({CANVAS}).isDatasetVisible(0))]"),
                             [pressed, pressed])

    def test_the_points_are_saved_as_they_are(self):
        page = self.open("hostile")
        buttons = "document.querySelectorAll('figure [data-save]')"
        data = [json.loads(text) for text in self.value("[...document.querySelectorAll('figure > script')].map(s => s.textContent)")]
        for chart, count in ((0, 10), (1, 20), (2, 10), (3, 10)):
            saved = self.browser.downloads(f"{buttons}[{2 * chart}].click(); {buttons}[{2 * chart + 1}].click()", 2)
            self.assertEqual(sorted(name.rsplit(".", 1)[1] for name in saved), ["csv", "json"])
            for name, text in saved.items():
                if name.endswith(".json"):
                    self.assertEqual(json.loads(text), data[chart])
                    continue
                rows = list(csv.reader(io.StringIO(text, newline="")))
                self.assertEqual(len(rows), count + 1)
                self.assertTrue(all(len(row) == len(rows[0]) for row in rows))
                if chart == 0:
                    names = [p["name"] for p in data[0]["points"]]
                    # A spreadsheet would run what starts as a formula.
                    self.assertEqual([row[0] for row in rows[1:]], ["'" + n if n.startswith("=") else n for n in names])
        self.expect_quiet(page)

    def test_without_scripts_the_tables_remain(self):
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        self.addCleanup(self.browser.call, "Emulation.setScriptExecutionDisabled", value=False)
        self.browser.navigate((self.folder / "lines.html").resolve().as_uri())
        root = self.browser.call("DOM.getDocument")["root"]["nodeId"]
        html = self.browser.call("DOM.getOuterHTML", nodeId=root)["outerHTML"]
        self.assertIn("scripts are switched off", html)
        self.assertIn("<td>TLB cold</td>", html)


class Colours(unittest.TestCase):
    """Text has a contrast of 4.5 or more against the page and curves of 3 or more (WCAG 2), light and dark."""

    @staticmethod
    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(self, a, b):
        low, high = sorted((self.luminance(a), self.luminance(b)))
        return (high + 0.05) / (low + 0.05)

    def test_contrast(self):
        style = (ROOT / "rafter/report/page.css").read_text()
        palettes = [dict(re.findall(r"--([\w-]+): (#\w{6});", block)) for block in re.findall(r":root[^{]*\{([^}]*)\}", style)]
        self.assertEqual(len(palettes), 2)
        for palette in palettes:
            for name, colour in palette.items():
                least = 4.5 if name in ("text", "muted", "link") else 3 if name.startswith("series") else 0
                self.assertGreaterEqual(self.contrast(colour, palette["paper"]), least, f"{name} {colour} on {palette['paper']}")


def missing():
    if not find_browser():
        return "no Chromium on PATH: install Debian's package chromium (scripts/setup --browser)"
    charts = subprocess.run([SAMPLE_PAGES, "--charts"], check=False).returncode == 0
    return "" if charts else "this build has no Chart.js: install libjs-chart.js and configure again"


if __name__ == "__main__":
    SAMPLE_PAGES = sys.argv.pop(1)
    reason = missing()
    if reason:
        print(f"page_test.py:1: Skipped\n{reason}")
        sys.exit(SKIPPED)
    unittest.main()
