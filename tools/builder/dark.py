"""Figures for the dark theme: the same picture with colours mapped, not inverted.

A colour is a mixture of white, black and one pure hue (HWB). White becomes the page, black becomes
the text, and the hue stays, lighter where it is too dark for a dark page (blue). The mapping is
linear within a hue: what is half transparent on white looks half transparent on the dark page.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Colors = NDArray[np.float64]  # (n, 3), from 0 to 1

PAGE = np.array([0x12, 0x12, 0x12]) / 255  # background and text of the theme in the dark
TEXT = np.array([0xE6, 0xEA, 0xEE]) / 255
LIGHTEST = 0.35  # luminance that a pure hue has at least
_LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


def darken(colors: Colors) -> Colors:
    """Return colours (n, 3) for the dark page.

    >>> darken(np.array([[1.0, 1, 1], [0, 0, 0], [0, 0, 1]])).round(2)
    array([[0.07, 0.07, 0.07],
           [0.9 , 0.92, 0.93],
           [0.58, 0.58, 1.  ]])
    """
    low, high = colors.min(axis=1, keepdims=True), colors.max(axis=1, keepdims=True)
    chroma = high - low
    hue = np.divide(colors - low, chroma, out=np.zeros_like(colors), where=chroma > 0)
    luminance = (hue**2.2 @ _LUMINANCE)[:, None]
    lift = np.clip((LIGHTEST - luminance) / (1 - luminance), 0, None) ** (1 / 2.2)
    return low * PAGE + (1 - high) * TEXT + chroma * (hue + (1 - hue) * lift)


def write_dark(path: Path) -> None:
    """Write the dark variant of a picture beside it."""
    picture = Image.open(path).convert("RGBA")
    white = Image.new("RGBA", picture.size, "white")
    pixels = np.asarray(Image.alpha_composite(white, picture).convert("RGB"))
    packed = pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], dtype=np.uint32)
    found, places = np.unique(packed, return_inverse=True)
    colors = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1) / 255
    mapped = np.rint(255 * darken(colors)).astype(np.uint8)[places].reshape(pixels.shape)
    Image.fromarray(mapped).save(dark_name(path))


def dark_name(path: Path) -> Path:
    """Return where the dark variant of a picture is."""
    return path.with_stem(f"{path.stem}-dark")


def write_all(paths: Iterable[Path]) -> None:
    """Write the dark variants of pictures, several at a time."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(write_dark, paths))
