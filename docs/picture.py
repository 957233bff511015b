"""Makes the README's picture of the console anew: the demo as a service, a minute of events, a browser without a window.

`make picture` runs it; it needs chromium.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).with_name("console.png")
SIZE = (1180, 1000)
COLOURS = 200
RUNS = 75_000
"""Milliseconds of events before the picture is taken."""


def taken(link: str) -> None:
    """A picture of the plan with one query in it, once batches have measured it."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]}, color_scheme="light")
        page.goto(link)
        page.wait_for_timeout(RUNS)
        page.evaluate("() => { location.hash = '#/plan/price_range' }")
        page.locator(".paper g.mine").first.wait_for()
        page.wait_for_timeout(3_000)
        page.screenshot(path=PICTURE)
        browser.close()
    Image.open(PICTURE).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
        PICTURE, optimize=True
    )


def main() -> None:
    """Start the demo, take the picture, stop the demo."""
    thalweg = str(Path(sys.executable).with_name("thalweg"))
    with tempfile.TemporaryDirectory() as folder:
        command = [thalweg, "demo", "--serve", "--dir", "demo", "--port", "0"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as demo:
            try:
                assert demo.stdout is not None
                told = next(line for line in demo.stdout if "#token=" in line)
                found = re.search(r"http://\S+", told)
                assert found is not None
                taken(found[0])
            finally:
                demo.send_signal(signal.SIGTERM)
                demo.wait()
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
