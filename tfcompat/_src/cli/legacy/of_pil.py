"""Pillow: names removed in 7, 10 and 13."""

from __future__ import annotations

from typing import Any

from tfcompat._src.cli.legacy.keywords import Tables

Names = dict[Any, dict[str, Any]]


def _text_size(draw: Any, text: str, font: Any = None, spacing: float = 4, *more: Any, **options: Any) -> tuple[int, int]:
    left, top, right, bottom = draw.textbbox((0, 0), text, font, None, spacing, *more, **options)
    return right, bottom


def _font_size(font: Any, text: str, *more: Any, **options: Any) -> tuple[int, int]:
    left, top, right, bottom = font.getbbox(text, *more, **options)
    return right, bottom


def _font_offset(font: Any, text: str) -> tuple[int, int]:
    return font.getbbox(text)[:2]


def _fonts(fonts: Any) -> Names:
    kinds = (fonts.FreeTypeFont, fonts.ImageFont, fonts.TransposedFont)
    return {kind: dict(getsize=_font_size) for kind in kinds} | {fonts.FreeTypeFont: dict(getsize=_font_size, getoffset=_font_offset)}


def _image(image: Any) -> Names:
    return {image: dict(ANTIALIAS=image.LANCZOS, LINEAR=image.BILINEAR, CUBIC=image.BICUBIC,
                        isImageType=lambda t: isinstance(t, image.Image))}  # fmt: skip


ADDED: Tables = {
    "PIL": lambda module: {module: dict(PILLOW_VERSION=module.__version__)},
    "PIL.Image": _image,
    "PIL.ImageDraw": lambda module: {module.ImageDraw: dict(textsize=_text_size, multiline_textsize=_text_size)},
    "PIL.ImageFont": _fonts,
}
REPLACED: Tables = {}
MOVED: dict[str, str] = {}
