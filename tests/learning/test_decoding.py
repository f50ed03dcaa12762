# SPDX-License-Identifier: Apache-2.0
"""A zoo of image files: each keeps its pixels, or is refused with one line of advice."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image

from blockful_py.errors import LearningError
from blockful_py.learning.datasets.decoding import OPAQUE, decode

SIDE = 8
RAMP = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
DEEP = (RAMP * 1040).astype(np.uint16)
"""From 0 to 65,520, every value another."""
COLOURS = np.stack([RAMP * 4, 255 - RAMP * 4, RAMP], 2).astype(np.uint8)
RGB = Image.fromarray(COLOURS)
TAGS = {"bits": 258, "photometric": 262, "orientation": 274}


def saved(image: Image.Image, form: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def grey(values: np.ndarray[Any, Any], form: str) -> bytes:
    return saved(Image.fromarray(values), form)


def opaque(mode: str, least: int = OPAQUE) -> Image.Image:
    image = Image.fromarray(COLOURS).convert(mode)
    alpha = Image.new("L", (SIDE, SIDE), OPAQUE)
    alpha.putpixel((0, 0), least)
    image.putalpha(alpha)
    return image


def turned(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[TAGS["orientation"]] = orientation
    return saved(RGB, "PNG", exif=exif)


def tagged(data: bytes, tag: int, value: int) -> bytes:
    """A little-endian TIFF file with the (short) value of one tag replaced."""
    at = data.index(struct.pack("<HHI", tag, 3, 1)) + 8
    return data[:at] + struct.pack("<H", value) + data[at + 2 :]


def bomb(side: int) -> bytes:
    """A PNG file whose header states side x side pixels."""
    header = b"IHDR" + struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n\0\0\0\r" + header + struct.pack(">I", zlib.crc32(header)) + saved(RGB)[33:]


def decoded(data: bytes, channels: int = 1) -> np.ndarray[Any, Any]:
    found = decode(data, SIDE, channels)
    assert found.dtype == np.float32 and found.shape == (SIDE, SIDE, channels)
    return found


@pytest.mark.parametrize("form", ["PNG", "TIFF", "PPM", "JPEG2000"])
def test_grey_of_16_bits_keeps_every_value(form: str) -> None:
    data = grey(DEEP, form)
    assert np.allclose(decoded(data)[..., 0], DEEP / 257)
    assert np.array_equal(decoded(data, 3), np.repeat(decoded(data), 3, 2))


def test_big_endian_and_inverted_tiffs_are_read() -> None:
    big = Image.frombytes("I;16B", (SIDE, SIDE), DEEP.astype(">u2").tobytes())
    assert np.allclose(decoded(saved(big, "TIFF"))[..., 0], DEEP / 257)
    inverted = tagged(grey(DEEP, "TIFF"), TAGS["photometric"], 0)
    assert np.allclose(decoded(inverted)[..., 0], 255 - DEEP / 257, atol=1e-4)


def test_12_bits_have_their_own_range() -> None:
    values = RAMP * 65
    pairs = values.reshape(-1, 2)
    packed = np.stack([pairs[:, 0] >> 4, (pairs[:, 0] & 15) << 4 | pairs[:, 1] >> 8, pairs[:, 1] & 255], 1)
    whole = grey(DEEP, "TIFF")
    strip = whole.index(DEEP.tobytes())
    data = whole[:strip] + packed.astype(np.uint8).tobytes().ljust(DEEP.nbytes, b"\0")
    data = tagged(data + whole[strip + DEEP.nbytes :], TAGS["bits"], 12)
    assert np.allclose(decoded(data)[..., 0], values * 255 / 4095)


def test_floats_from_0_to_1_keep_every_value() -> None:
    values = (RAMP / 63).astype(np.float32)
    assert np.allclose(decoded(grey(values, "TIFF"))[..., 0], 255 * values)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_an_image_stands_upright(orientation: int) -> None:
    upright = {
        1: COLOURS,
        2: COLOURS[:, ::-1],
        3: COLOURS[::-1, ::-1],
        4: COLOURS[::-1],
        5: COLOURS.swapaxes(0, 1),
        6: np.rot90(COLOURS, -1),
        7: COLOURS[::-1, ::-1].swapaxes(0, 1),
        8: np.rot90(COLOURS),
    }
    assert np.array_equal(decoded(turned(orientation), 3), upright[orientation])


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGB", "RGBA", "CMYK", "YCbCr"])
def test_plain_modes_show_what_pillow_shows(mode: str) -> None:
    image = opaque("L") if mode == "LA" else opaque("RGB") if mode == "RGBA" else RGB.convert(mode)
    data = saved(image, "TIFF")
    for channels, target in ((1, "L"), (3, "RGB")):
        expected = np.asarray(image.convert(target)).reshape(SIDE, SIDE, channels)
        assert np.array_equal(decoded(data, channels), expected)


def test_a_cameras_two_pictures_count_as_the_first() -> None:
    data = saved(RGB, "MPO", save_all=True, append_images=[Image.new("RGB", (SIDE, SIDE))], quality=100)
    assert np.abs(decoded(data, 3) - COLOURS).mean() < 10


ON_PALETTE = RGB.convert("P", palette=Image.Palette.ADAPTIVE)
REFUSED = {
    "transparent": (saved(opaque("RGB", 254)), r"transparent pixels.*alpha_composite\(Image\.new"),
    "transparent grey": (saved(opaque("L", 0)), "transparent pixels"),
    "transparent in a palette": (saved(ON_PALETTE, transparency=0), "transparent pixels"),
    "a transparent colour": (saved(RGB, transparency=(0, 255, 0)), "transparent pixels"),
    "a transparent shade": (saved(Image.fromarray(DEEP), transparency=5), "transparent shade of grey"),
    "animated": (
        saved(RGB, "GIF", save_all=True, append_images=[Image.new("RGB", (SIDE, SIDE))]),
        "has 2 frames: give each frame to use a row",
    ),
    "pages": (
        saved(RGB, "TIFF", save_all=True, append_images=[RGB]),
        "has 2 frames",
    ),
    "signed": (grey(RAMP.astype(np.int32), "TIFF"), "32-bit integers, whose range is undefined: scale"),
    "floats": (grey(RAMP.astype(np.float32), "TIFF"), "has floats from 0 to 63.*scale them to 0 to 1"),
    "no number": (grey(np.full((8, 8), np.nan, np.float32), "TIFF"), "has floats from nan to nan"),
    "lab": (saved(Image.new("LAB", (SIDE, SIDE)), "TIFF"), "mode LAB: save it as RGB"),
    "a bomb": (bomb(60_000), "states over .* pixels: take the row out"),
    "nearly a bomb": (bomb(10_000), "has 10000x10000 pixels, not 8x8"),
    "another size": (saved(RGB.resize((9, 8))), "has 9x8 pixels, not 8x8: resize"),
    "truncated": (saved(RGB)[:50], "is damaged .*: fetch the file again or take the row out"),
    "truncated jpeg": (saved(RGB, "JPEG")[:-300], "is damaged|is not a readable image"),
    "a text": (b"no image", r"is not a readable image \(PNG, JPEG"),
    "a program": (saved(RGB, "EPS"), "is not a readable image"),
    "nothing": (b"", "is not a readable image"),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("channels", [1, 3])
def test_what_has_no_one_meaning_is_refused(what: str, channels: int) -> None:
    data, reason = REFUSED[what]
    with pytest.raises(LearningError, match=reason):
        decode(data, SIDE, channels)


@pytest.mark.parametrize("form", ["PNG", "TIFF", "JPEG", "GIF", "WEBP", "JPEG2000", "BMP", "PPM"])
def test_a_damaged_file_is_one_error_wherever_the_damage_is(form: str) -> None:
    whole, rng = saved(RGB, form), np.random.default_rng(0)
    for _ in range(60):
        data = bytearray(whole[: rng.integers(1, len(whole) + 1)])
        for place in rng.integers(0, len(data), 4):
            data[place] = rng.integers(256)
        try:
            decode(bytes(data), SIDE, 3)
        except LearningError as error:
            assert "\n" not in str(error) and " at 0x" not in str(error)
