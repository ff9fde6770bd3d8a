"""A Haar cascade as a nested buffer, read from the XML that OpenCV's training writes."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

import trilby as tb
from trilby import f32, i32


class Cascade(tb.Buffer):
    """Stages of weak classifiers; a window has to pass all stages, one after the other."""

    class Stump(tb.Struct):
        """Two or three weighted rectangles; their sum decides which of two votes is cast."""

        class Rectangle(tb.Struct):
            x: i32
            y: i32
            width: i32
            height: i32
            weight: f32

        rectangle: tb.Array[Rectangle] = tb.array(3)
        threshold: f32
        below: f32
        above: f32

    class Stage(tb.Struct):
        first: i32
        count: i32
        threshold: f32

    width: i32
    height: i32
    stages: i32
    stumps: i32
    stage: tb.Array[Stage] = tb.array("stages")
    stump: tb.Array[Stump] = tb.array("stumps")


def read_cascade(path: Path) -> Cascade:
    """Read the XML that OpenCV's training writes: stumps over upright rectangles."""
    root = ET.parse(path).getroot().find("cascade")  # noqa: S314 -- a file that the user names
    if root is None or root.findtext("featureType") != "HAAR":
        message = f"{path} holds no Haar cascade"
        raise SystemExit(message)
    features = [_rectangles(feature) for feature in root.iterfind("features/_")]
    stages = list(root.iterfind("stages/_"))
    weak = [list(stage.iterfind("weakClassifiers/_")) for stage in stages]
    nodes = [_numbers(stump, "internalNodes") for stumps in weak for stump in stumps]
    if any(len(node) != 4 for node in nodes) or root.find("features/_/tilted") is not None:
        message = f"{path} has trees or tilted features: this program knows upright stumps"
        raise SystemExit(message)
    cascade = Cascade.create(stages=len(stages), stumps=len(nodes))
    cascade.width, cascade.height = (int(root.findtext(k, "0")) for k in ("width", "height"))
    counts = [len(stumps) for stumps in weak]
    cascade.stage.count[:] = counts
    cascade.stage.first[:] = np.cumsum([0, *counts[:-1]])
    limits = np.array([float(stage.findtext("stageThreshold", "")) for stage in stages], np.float32)
    cascade.stage.threshold[:] = limits - np.float32(1e-5)  # so does OpenCV
    cascade.stump.threshold[:] = [node[3] for node in nodes]
    leaves = np.array([_numbers(stump, "leafValues") for stumps in weak for stump in stumps])
    cascade.stump.below[:], cascade.stump.above[:] = leaves.T
    parts = np.array([features[int(node[2])] for node in nodes])
    rectangle, sides = cascade.stump.rectangle, parts.astype(np.int32)
    rectangle.x[:], rectangle.y[:] = sides[..., 0], sides[..., 1]
    rectangle.width[:], rectangle.height[:] = sides[..., 2], sides[..., 3]
    rectangle.weight[:] = parts[..., 4]
    return cascade


def _numbers(element: ET.Element, name: str) -> list[float]:
    return [float(text) for text in element.findtext(name, "").split()]


def _rectangles(feature: ET.Element) -> list[list[float]]:
    """Three of them; one that is not there weighs nothing."""
    found = [[float(n) for n in (part.text or "").split()] for part in feature.iterfind("rects/_")]
    return [*found, *[[0.0] * 5] * (3 - len(found))]
