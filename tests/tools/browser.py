"""Looking at pages in a real browser: Debian's Chromium, without a window.

A page is shown with a script at its end that measures what came of it.
"""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")

needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed: apt-get install chromium"
)

_PROBE = """
<script>
  const texts = [...document.querySelectorAll("svg")].map(svg => {
    const outer = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll("text")].map(text => {
      const box = text.getBoundingClientRect();
      return {text: text.textContent, left: box.left, right: box.right,
              top: box.top, bottom: box.bottom};
    });
    const outside = boxes.filter(box => box.left < outer.left - 1 || box.right > outer.right + 1
      || box.top < outer.top - 1 || box.bottom > outer.bottom + 1);
    const overlaps = [];
    boxes.forEach((one, n) => boxes.slice(n + 1).forEach(other => {
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (wide > 1 && high > 3) overlaps.push([one.text, other.text]);
    }));
    return {outside: outside.map(box => box.text), overlaps};
  });
  const colour = (element, name) => getComputedStyle(element).getPropertyValue(name);
  const count = selector => document.querySelectorAll(selector).length;
  const report = {
    title: document.title,
    text: document.body.innerText,
    sections: [...document.querySelectorAll("h2")].map(one => one.textContent),
    width: document.documentElement.scrollWidth,
    outside: texts.flatMap(one => one.outside),
    overlaps: texts.flatMap(one => one.overlaps),
    ink: colour(document.body, "color"),
    paper: colour(document.body, "background-color"),
    loaded: performance.getEntriesByType("resource").map(one => one.name),
    counts: Object.fromEntries(SELECTORS.map(one => [one, count(one)])),
  };
  const probe = document.createElement("script");
  probe.type = "application/json";
  probe.id = "probe";
  probe.textContent = JSON.stringify(report);
  document.body.append(probe);
</script>
"""


@dataclass(frozen=True)
class Seen:
    """A page as the browser has it."""

    title: str
    text: str
    sections: list[str]
    width: int
    outside: list[str]
    """Texts in drawings that are cut off."""
    overlaps: list[list[str]]
    """Texts in drawings that lie on each other."""
    ink: str
    paper: str
    loaded: list[str]
    counts: dict[str, int]


def look_at(
    page: str, folder: Path, *selectors: str, dark: bool = False, width: int = 1240
) -> Seen:
    """Show a page, and say what is on it; `selectors` are counted."""
    probe = _PROBE.replace("SELECTORS", json.dumps(selectors))
    file = folder / "page.html"
    file.write_text(page.replace("</body>", f"{probe}</body>"), "utf-8")
    done = subprocess.run(
        [
            CHROMIUM or "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={width},1200",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            "--dump-dom",
            file.as_uri(),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(
        r'<script type="application/json" id="probe">(.*?)</script>', done.stdout, re.DOTALL
    )
    assert found, done.stdout[-2000:]
    report: dict[str, Any] = json.loads(unescape(found[1]))
    return Seen(**report)


def brightness(colour: str) -> float:
    """From 0, black, to 255, white, of what `getComputedStyle` gives."""
    red, green, blue = (float(part) for part in re.findall(r"[\d.]+", colour)[:3])
    return 0.299 * red + 0.587 * green + 0.114 * blue
