"""Draw the pictures of the documentation anew: runs the examples, and makes what they draw small.

`.venv/bin/python scripts/pictures.py` writes to docs/pictures.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
LIFE = ["--width", "200", "--height", "150", "--generations", "120", "--every", "2"]

RUNS: list[tuple[str, list[str]]] = [
    ("fourier", []),
    ("heal", []),
    ("image_pipeline", []),
    ("k_means", []),
    ("life", LIFE),
    ("mandel", ["--frames", "0", "--at", "-0.7435", "0.1314", "0.004", "--steps", "600"]),
    ("n_body", []),
    ("viola_jones", []),
]
"""Each program, and what it is given."""

WIDEST = 640


def shrink(path: Path, to: Path) -> None:
    """A still picture with few colours, and no wider than a page."""
    with Image.open(path) as picture:
        small = picture.convert("RGB")
    small.thumbnail((WIDEST, WIDEST), Image.Resampling.LANCZOS)
    small.quantize(160, dither=Image.Dither.NONE).save(to, optimize=True)


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in RUNS:
            command = [sys.executable, ROOT / "examples" / f"{name}.py", *arguments]
            subprocess.run([*command, "--out", folder], check=True)
        for drawn in sorted(Path(folder).iterdir()):
            to = PICTURES / drawn.name
            if drawn.suffix == ".gif":
                to.write_bytes(drawn.read_bytes())
            elif drawn.name != "life.png":  # the animation shows more
                shrink(drawn, to)
            print(f"{to.stat().st_size:9,}  {to.relative_to(ROOT)}" if to.exists() else drawn.name)


if __name__ == "__main__":
    main()
