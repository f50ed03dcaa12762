# SPDX-License-Identifier: Apache-2.0
"""Decodes one image file to its full range of values; rejects files with an ambiguous meaning."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockful_py.errors import LearningError

Pixels = NDArray[np.float32]
"""Values from 0 to 255, float32 (side, side, channels)."""

FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP", "PPM", "JPEG2000")
"""Accepted Pillow formats; others run programs (EPS) or hold several sizes (ICO)."""

PLAIN = frozenset({"1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr"})
"""Pillow modes with at most 8 bits per value, which Pillow converts to grey and to RGB."""

SCALED = frozenset({"PNG", "PPM"})
"""Formats whose grey values Pillow may return as 32-bit integers from 0 to 65,535."""

BITS, PHOTOMETRIC, WHITE_IS_ZERO = 258, 262, 0
"""TIFF 6.0, sections 8 and 3: two tags, and the photometric interpretation with inverted values."""

OPAQUE = 255
ON_WHITE = 'Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))'


def decode(data: bytes, side: int, channels: int) -> Pixels:
    """Decodes the upright image of a file, grey for one channel, RGB for three.

    EXIF's orientation is applied.  Grey of 9 to 16 bits and of floats from 0 to 1 is scaled to [0, 255]
    without rounding.  Palettes, CMYK (without its profile) and single bits are converted, and a fully opaque
    alpha channel is dropped.  A camera's file of several pictures (MPO) counts as its first picture.

    Raises:
        LearningError: the file is damaged, of another size, has several frames or transparent pixels, or its
            values have no stated range.  The message is a predicate whose subject is the image.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the size is checked here
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                _require_one(image, side)
                ImageOps.exif_transpose(image, in_place=True)
                return _grey(image, channels) if image.mode[0] in "IF" else _plain(image, channels)
    except LearningError:
        raise
    except UnidentifiedImageError:
        raise LearningError(
            f"is not a readable image ({', '.join(FORMATS)}): save it as PNG of 8 or 16 bits."
        ) from None
    except Image.DecompressionBombError:
        raise LearningError(f"states over {2 * Image.MAX_IMAGE_PIXELS:,} pixels: take the row out.") from None
    except Exception as error:  # Pillow's decoders raise any exception for a damaged file
        raise LearningError(f"is damaged ({error}): fetch the file again or take the row out.") from None


def _require_one(image: Any, side: int) -> None:
    """Checks that an opened, not yet decoded file has one picture of side x side.  Raises LearningError."""
    if image.size != (side, side):
        raise LearningError(
            f"has {image.width}x{image.height} pixels, not {side}x{side}: "
            "resize the images, or name the files' own data set."
        )
    frames = getattr(image, "n_frames", 1)
    if frames > 1 and image.format != "MPO":
        raise LearningError(f"has {frames} frames: give each frame to use a row of its own.")


def _plain(image: Any, channels: int) -> Pixels:
    if image.mode not in PLAIN:
        raise LearningError(f"has pixels of mode {image.mode}: save it as RGB or as grey.")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        if image.getchannel("A").getextrema()[0] < OPAQUE:
            raise LearningError(
                "has transparent pixels, and an undefined background: lay the images on one "
                f"background, for example by {ON_WHITE}."
            )
    pixels = np.asarray(image.convert("L" if channels == 1 else "RGB"), np.float32)
    return pixels.reshape(*pixels.shape[:2], channels)


def _grey(image: Any, channels: int) -> Pixels:
    """Decodes grey of 16-bit or 32-bit integers or floats, which Pillow would clip at 255."""
    if "transparency" in image.info:
        raise LearningError("has a transparent shade of grey: save it without one.")
    tags = getattr(image, "tag_v2", {})
    values = np.asarray(image).astype(np.float32)
    if image.mode == "F":
        top = 1
        if not 0 <= values.min() <= values.max() <= top:
            raise LearningError(
                f"has floats from {values.min():g} to {values.max():g}, whose range is undefined: "
                "scale them to 0 to 1."
            )
    elif image.mode == "I" and image.format not in SCALED:
        raise LearningError(
            "has signed or 32-bit integers, whose range is undefined: scale them to 0 to 65535 and save "
            "them as unsigned 16-bit, or to 0 to 1 and save them as floats."
        )
    else:
        top = 2 ** tags.get(BITS, (16,))[0] - 1
    if tags.get(PHOTOMETRIC) == WHITE_IS_ZERO:
        values = top - values
    return np.repeat(values[..., None] * np.float32(255 / top), channels, axis=2)
