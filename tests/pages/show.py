#!/usr/bin/env python3
"""Pictures of every sample page in a folder, for a person to look at: light, dark, narrow, with a hover, and printed.

    show.py FOLDER    writes FOLDER/NAME_LOOK.png and NAME.pdf
"""

import pathlib
import sys

from browser import Browser, find_browser

TALLEST = 2000  # pixels
LOOKS = {"light": {}, "dark": {"dark": True}, "narrow": {"width": 390, "height": 800}}


def main(folder):
    browser = Browser(find_browser())
    try:
        for page in sorted(folder.glob("*.html")):
            browser.view()
            browser.open(page)
            for look, view in LOOKS.items():
                browser.view(**view)
                page.with_name(f"{page.stem}_{look}.png").write_bytes(browser.screenshot(TALLEST))
            browser.view(dark=True)
            page.with_suffix(".pdf").write_bytes(browser.pdf())
            browser.view()
            canvas = "document.querySelector('.canvas > canvas')"
            if browser.evaluate(f"{canvas} !== null"):
                browser.evaluate(f"{canvas}.focus()")
                browser.press("End")
                page.with_name(f"{page.stem}_hover.png").write_bytes(browser.screenshot(TALLEST))
            print(page.stem, browser.evaluate("JSON.stringify(document.body.dataset)"), browser.complaints(), browser.requests()[1:])
    finally:
        browser.close()


main(pathlib.Path(sys.argv[1]))
