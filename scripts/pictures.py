"""Draw the pictures of the documentation anew: runs the examples, and makes what they draw small.

`.venv/bin/python scripts/pictures.py` writes to docs/pictures.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageSequence

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"

RUNS = {
    "fourier.png": "fourier",
    "glider_gun.gif": "life --pattern gosper_glider_gun.rle --width 90 --height 60"
    " --generations 240 --every 3",
    "heal.png": "heal",
    "image_pipeline.png": "image_pipeline",
    "k_means.png": "k_means",
    "life.gif": "life --width 200 --height 150 --generations 120 --every 2",
    "mandel.png": "mandel --frames 0 --at -0.7435 0.1314 0.004 --steps 600",
    "n_body.gif": "n_body",
    "viola_jones.png": "viola_jones",
}
"""Each picture, and the command that draws it."""

WIDEST = 640


def shrink(path: Path, to: Path) -> None:
    """A still picture with few colours, and no wider than a page."""
    with Image.open(path) as picture:
        small = picture.convert("RGB")
    small.thumbnail((WIDEST, WIDEST), Image.Resampling.LANCZOS)
    small.quantize(160, dither=Image.Dither.NONE).save(to, optimize=True)


def animate(path: Path, to: Path) -> None:
    """An animation with few colours, those of its middle."""
    with Image.open(path) as picture:
        frames = [frame.convert("RGB") for frame in ImageSequence.Iterator(picture)]
        pace = picture.info["duration"]
    palette = frames[len(frames) // 2].quantize(16)
    first, *rest = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    first.save(to, save_all=True, append_images=rest, duration=pace, loop=0, optimize=True)


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    for name, command in RUNS.items():
        program, *arguments = command.split()
        to = PICTURES / name
        with tempfile.TemporaryDirectory() as folder:
            path = ROOT / "examples" / f"{program}.py"
            subprocess.run([sys.executable, path, *arguments, "--out", folder], check=True)
            drawn = Path(folder, program).with_suffix(to.suffix)
            make_small = animate if to.suffix == ".gif" else shrink
            make_small(drawn, to)
    for path in sorted(PICTURES.iterdir()):
        print(f"{path.stat().st_size:9,}  {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
