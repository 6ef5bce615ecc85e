"""Cases of image files: PNG, JPEG, GIF and BMP, decoded and encoded."""

import base64
import struct
import zlib

import numpy as np

from cases.table import U8, U16, Table

TABLE = Table("image_files")
case, error_case = TABLE.case, TABLE.error_case
_TEXT = {
    "palette": (
        "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAGBAMAAAD51Ul4AAAAFVBMVEWd7rkq3TjTjEdylMSfWLAnSXOADJ3uZ/Q6AAAAIUlEQVR4"
        "nGMUFJRjEeb5wKTz2YCJ1fEB09+/Akz/1wsAAEb3B5ovdsybAAAAAElFTkSuQmCC"
    ),
    "palette_alpha": (
        "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAGBAMAAAD51Ul4AAAAFVBMVEWd7rkq3TjTjEdylMSfWLAnSXOADJ3uZ/Q6AAAAA3RSTlMA"
        "ZMhuWCD/AAAAIUlEQVR4nGMUFJRjEeb5wKTz2YCJ1fEB09+/Akz/1wsAAEb3B5ovdsybAAAAAElFTkSuQmCC"
    ),
    "two_colors": (
        "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAGAQAAAAAjgGnmAAAAFElEQVR4nGOwYLjBkMF0gYmDgQMAESgCXeNUtLsAAAAASUVORK5C"
        "YII="
    ),
    "keyed": (
        "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAGCAIAAACEmcMcAAAABnRSTlMAJQDrAIwmPlevAAAAa0lEQVR4nAFgAJ//ASXrjCMU/YOG"
        "xvULMgy3bAD8hhmyFP5lktSL/OqcnY4AMkTX1+nx995gVo3piQc/AT0WOcRqA9CInLxr110GGQAeR4PGlTE5A8QY8StMGjQEMibw"
        "Yz3eF8FVV/G+GADCqUordzOZbogAAAAASUVORK5CYII="
    ),
    "gray_keyed": (
        "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAGCAAAAAAukAuXAAAAAnRSTlMAJT2XGX8AAAAtSURBVHicY1RVbv7Kw/hn22Y1QSYz1Umn"
        "3zJxa90yT2SQO2Yp4cMYcFNcXwIA5VULxAmlyywAAAAASUVORK5CYII="
    ),
    "gray_alpha": (
        "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAGCAQAAACh8pzAAAAATUlEQVR4nAFCAL3/ASXrIxSDhvULDLcC15tqFZoNy2zQVgAyRNfp"
        "995WjYkHAgvSKpfaKjfmYXIAHkfGlTkDGPFMGgQyJmM9F8FX8RgAiHgZvUUapxMAAAAASUVORK5CYII="
    ),
    "animation": (
        "R0lGODdhCgAMAIMAAMjsvlzxsCLlQkDEGdqLM8CQgYGYsVaN6bx2vFBtc6oxwxtZh0waNMIO64kHPzsNfyH5BAQAAAAALAAAAAAK"
        "AAwAAAhYAAMIDECAQIECDRoMJGgQYYOCCQ8cEHgQYgOJFAtIBACgoEQHDjZ2JPDRAQMGCxYkNGAAAYKTKVe2RJCy4IMHAgTAXGAT"
        "p04GCRIMGDpAoAIFQYkWDXA0IAAh+QQEAAAAACwCAAMAAwADAIPI7L5c8bAi5UJAxBnaizPAkIGBmLFWjem8drxQbXOqMcMbWYdM"
        "GjTCDuuJBz87DX8IBwAHCBw4MCAAOw=="
    ),
    "still": (
        "R0lGODdhCgAMAIMAAMjsvlzxsCLlQkDEGdqLM8CQgYGYsVaN6bx2vFBtc6oxwxtZh0waNMIO64kHPzsNfywAAAAACgAMAAAIWAAD"
        "CAxAgECBAg0aDCRoEGGDggkPHBB4EGIDiRQLSAQAoKBEBw42diTw0QEDBgsWJDRgAAGCkylXtkSQsuCDBwIEwFxgE6dOBgkSDBg6"
        "QKACBUGJFg1wNCAAOw=="
    ),
    "bmp": (
        "Qk2WAAAAAAAAADYAAAAoAAAABQAAAAYAAAABABgAAAAAAGAAAADEDgAAxA4AAAAAAAAAAAAAc21QD9IpGcRA1+JvmRqHAINHHjGV"
        "xsQDOSvxGDQaTAA5Fj08gAHYCNGvc43IeeoA10Qy8enXYN736Y1WPweJABmG/P4UstSSZer8i46dnACM6yWJ/0hPhcuBkMDtR8wA"
    ),
    "bmp_gray": (
        "Qk1mBAAAAAAAADYEAAAoAAAABQAAAAYAAAABAAgAAAAAADAAAADEDgAAxA4AAAABAAAAAQAAAAAAAAEBAQACAgIAAwMDAAQEBAAF"
        "BQUABgYGAAcHBwAICAgACQkJAAoKCgALCwsADAwMAA0NDQAODg4ADw8PABAQEAAREREAEhISABMTEwAUFBQAFRUVABYWFgAXFxcA"
        "GBgYABkZGQAaGhoAGxsbABwcHAAdHR0AHh4eAB8fHwAgICAAISEhACIiIgAjIyMAJCQkACUlJQAmJiYAJycnACgoKAApKSkAKioq"
        "ACsrKwAsLCwALS0tAC4uLgAvLy8AMDAwADExMQAyMjIAMzMzADQ0NAA1NTUANjY2ADc3NwA4ODgAOTk5ADo6OgA7OzsAPDw8AD09"
        "PQA+Pj4APz8/AEBAQABBQUEAQkJCAENDQwBEREQARUVFAEZGRgBHR0cASEhIAElJSQBKSkoAS0tLAExMTABNTU0ATk5OAE9PTwBQ"
        "UFAAUVFRAFJSUgBTU1MAVFRUAFVVVQBWVlYAV1dXAFhYWABZWVkAWlpaAFtbWwBcXFwAXV1dAF5eXgBfX18AYGBgAGFhYQBiYmIA"
        "Y2NjAGRkZABlZWUAZmZmAGdnZwBoaGgAaWlpAGpqagBra2sAbGxsAG1tbQBubm4Ab29vAHBwcABxcXEAcnJyAHNzcwB0dHQAdXV1"
        "AHZ2dgB3d3cAeHh4AHl5eQB6enoAe3t7AHx8fAB9fX0Afn5+AH9/fwCAgIAAgYGBAIKCggCDg4MAhISEAIWFhQCGhoYAh4eHAIiI"
        "iACJiYkAioqKAIuLiwCMjIwAjY2NAI6OjgCPj48AkJCQAJGRkQCSkpIAk5OTAJSUlACVlZUAlpaWAJeXlwCYmJgAmZmZAJqamgCb"
        "m5sAnJycAJ2dnQCenp4An5+fAKCgoAChoaEAoqKiAKOjowCkpKQApaWlAKampgCnp6cAqKioAKmpqQCqqqoAq6urAKysrACtra0A"
        "rq6uAK+vrwCwsLAAsbGxALKysgCzs7MAtLS0ALW1tQC2trYAt7e3ALi4uAC5ubkAurq6ALu7uwC8vLwAvb29AL6+vgC/v78AwMDA"
        "AMHBwQDCwsIAw8PDAMTExADFxcUAxsbGAMfHxwDIyMgAycnJAMrKygDLy8sAzMzMAM3NzQDOzs4Az8/PANDQ0ADR0dEA0tLSANPT"
        "0wDU1NQA1dXVANbW1gDX19cA2NjYANnZ2QDa2toA29vbANzc3ADd3d0A3t7eAN/f3wDg4OAA4eHhAOLi4gDj4+MA5OTkAOXl5QDm"
        "5uYA5+fnAOjo6ADp6ekA6urqAOvr6wDs7OwA7e3tAO7u7gDv7+8A8PDwAPHx8QDy8vIA8/PzAPT09AD19fUA9vb2APf39wD4+PgA"
        "+fn5APr6+gD7+/sA/Pz8AP39/QD+/v4A////AFApQG+HAAAAHsY5GEwAAAA9AdGN6gAAADLX91aJAAAA/LJli5wAAAAlSMvAzAAA"
        "AA=="
    ),
    "cmyk": (
        "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwADAgIDAgIDAwMDBAMDBAUIBQUEBAUKBwcGCAwKDAwLCgsLDQ4SEA0OEQ4LCxAWEBETFBUV"
        "FQwPFxgWFBgSFBUU/8AAFAgAGAAUBEMRAE0RAFkRAEsRAP/EAB8AAAEFAQEBAQEBAAAAAAAAAAABAgMEBQYHCAkKC//EALUQAAIB"
        "AwMCBAMFBQQEAAABfQECAwAEEQUSITFBBhNRYQcicRQygZGhCCNCscEVUtHwJDNicoIJChYXGBkaJSYnKCkqNDU2Nzg5OkNERUZH"
        "SElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6g4SFhoeIiYqSk5SVlpeYmZqio6Slpqeoqaqys7S1tre4ubrCw8TFxsfIycrS09TV"
        "1tfY2drh4uPk5ebn6Onq8fLz9PX29/j5+v/aAA4EQwBNAFkASwAAPwDS8R/8E3P+FS/Z/wDi4n9q/wBobv8AmCeT5fl4/wCnhs53"
        "+3SvWPir/wAFMf8AhSP9l/8AFuP7a/tPzf8AmO+R5Xl7P+nZs58z2xjvmt39jJf+Gvv+Ew/5lL/hHvsf/T79o8/z/wDrnt2+R753"
        "dsc/qnXoGjftGf8ACUed/wAU99m8jH/L7v3bs/8ATMY6Vq/BX4I/8LO/tn/idf2b9h8n/l183fv8z/bXGNnv1r0L4ffsT/2R9v8A"
        "+Ky83zPL/wCYXtxjd/02PrRXc/8AC1/+oX/5Mf8A2NfNv/DMf/Uyf+SH/wBsr0X/AIas/wCpX/8AKh/9qor8+fhB+1x/wyN/a3/F"
        "Kf8ACV/8JB5P/MR+x/Z/I3/9MpN27z/bG3vniP8AYJ/aJ/4Q/wD4Tr/in/tf2n7D/wAvuzbt+0f9Mzn736V4Jov/AAUz/szzv+Lb"
        "+Zv2/wDMdxjGf+nb3or7t/bQsP8AhZn/AAh37z+zfsX2zt5u/f5H+7jGz361saP+21/w0153/FGf8I3/AGJj/mKfavO87P8A0xTb"
        "t8n3zu7Y59i+FHgf/hm3+1P9N/4SL+2vK/5ZfZfJ8nf/ALT7s+b7Y2988FdP/wAMn/8AU0/+U7/7bXzL/wAMYf8AU4f+Uz/7dXz7"
        "/wAMD/8AU9f+Uj/7fRX58/Ar4w/8Mq/23/xKP+Eo/t7yP+Xn7J5HkeZ/sSbt3ne2NvfPH17+y78Jf7T/AOEm/wCJr5ez7L/y75zn"
        "zf8Ab9q+b/2pfFv2D/hGP9E37/tX/LTGMeV7e9FcDZfCr/hYW/8A4mn2D7Hj/l38zfv/AOBDGNv616r+wZ+y9/wyp/wnP/FTf8JR"
        "/b32H/lw+yeR5H2j/prJu3ed7Y2988e4+HR/w8a+0f8ANPf+EO2/9RP7Z9rz/wBcfL2fZf8Aazv7Y5K9v/4Up/1Gf/JX/wCzr8iK"
        "5H/hkj/qa/8Aynf/AG2iv//Z"
    ),
}
FILES = {name: base64.b64decode(text) for name, text in _TEXT.items()}


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data) & 0xFFFFFFFF)


def _png(depth, color, rows, interlace=0, size=(4, 3), extra=b""):
    """A PNG file of these filtered rows."""
    header = struct.pack(">IIBBBBB", size[0], size[1], depth, color, 0, 0, interlace)
    parts = [_chunk(b"IHDR", header), extra, _chunk(b"IDAT", zlib.compress(rows)), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _filtered(width, seed):
    """Rows with each of the five filters in turn."""
    random = np.random.RandomState(seed)
    return b"".join(bytes(bytearray([n % 5])) + random.bytes(width) for n in range(7))


FILES["filters"] = _png(8, 2, _filtered(4 * 3, 1), size=(4, 7))
FILES["filters_16"] = _png(16, 6, _filtered(4 * 8, 2), size=(4, 7))
FILES["filters_two_bits"] = _png(2, 0, _filtered(3, 3), size=(11, 7))
_PASSES = ((1, 1), (1, 1), (2, 1), (1, 2), (3, 1), (2, 3), (5, 2))
_random = np.random.RandomState(4)
FILES["interlaced"] = _png(
    8, 0, b"".join(b"".join(b"\0" + _random.bytes(w) for _ in range(h)) for w, h in _PASSES), 1, size=(5, 5)
)
FILES["gamma"] = _png(8, 2, _filtered(4 * 3, 5), size=(4, 7), extra=_chunk(b"gAMA", struct.pack(">I", 45455)))


def _string(data):
    return np.array(data, object)


for name in ("palette", "palette_alpha", "two_colors", "keyed", "gray_keyed", "gray_alpha", "filters", "filters_16",
             "filters_two_bits", "interlaced", "gamma"):  # fmt: skip
    for channels in (0, 1, 3, 4):
        case(
            "png_%s_%d" % (name, channels),
            lambda tf, c, n=channels: [tf.image.decode_png(c, n), tf.image.decode_png(c, n, tf.uint16)],
            grad=False,
            c=_string(FILES[name]),
        )
case("gif_animation", lambda tf, c: tf.image.decode_gif(c), grad=False, c=_string(FILES["animation"]))
case("gif_still", lambda tf, c: [tf.image.decode_gif(c), tf.image.decode_png(c)], grad=False, c=_string(FILES["still"]))
case("bmp", lambda tf, c: tf.image.decode_bmp(c), grad=False, c=_string(FILES["bmp"]))
case("jpeg_cmyk", lambda tf, c: tf.image.decode_jpeg(c), grad=False, c=_string(FILES["cmyk"]))
case("jpeg_cmyk_shape", lambda tf, c: tf.image.extract_jpeg_shape(c), grad=False, c=_string(FILES["cmyk"]))
for name in ("palette", "animation", "bmp", "cmyk"):
    case("any_" + name, lambda tf, c: tf.image.decode_image(c), grad=False, c=_string(FILES[name]))
case(
    "any_float",
    lambda tf, c: tf.image.decode_image(c, 3, tf.float32, name="pixels"),
    grad=False,
    c=_string(FILES["palette"]),
)
case(
    "any_first_frame",
    lambda tf, c: tf.image.decode_image(c, expand_animations=False),
    grad=False,
    c=_string(FILES["animation"]),
)
for channels in (1, 2, 3, 4):
    case("encode_png_%d" % channels, lambda tf, x: tf.image.encode_png(x), grad=False, x=U8(9, 11, channels, high=256))
case("encode_png_16", lambda tf, x: tf.image.encode_png(x, 9), grad=False, x=U16(5, 6, 3, high=65536))
for label, options in {
    "plain": {},
    "low": {"quality": 20},
    "progressive": {"progressive": True},
    "optimized": {"optimize_size": True},
    "full_chroma": {"chroma_downsampling": False},
    "density": {"density_unit": "cm", "x_density": 80, "y_density": 90},
    "metadata": {"xmp_metadata": "some text"},
}.items():
    case("encode_jpeg_" + label, lambda tf, x, o=options: tf.image.encode_jpeg(x, **o), grad=False, x=U8(19, 23, 3, high=256))
for label, options in {
    "plain": {},
    "gray": {"channels": 1},
    "accurate": {"dct_method": "INTEGER_ACCURATE"},
    "simple": {"fancy_upscaling": False},
    "half": {"ratio": 2},
    "eighth": {"ratio": 8},
}.items():
    case(
        "decode_jpeg_" + label,
        lambda tf, x, o=options: tf.image.decode_jpeg(tf.image.encode_jpeg(x), **o),
        grad=False,
        x=U8(39, 43, 3, high=256),
    )
case(
    "crop_jpeg",
    lambda tf, x: tf.image.decode_and_crop_jpeg(tf.image.encode_jpeg(x), [3, 5, 10, 20]),
    grad=False,
    x=U8(39, 43, 3, high=256),
)
case("jpeg_quality", lambda tf, x: tf.image.adjust_jpeg_quality(x, 40), grad=False, x=U8(19, 23, 3, high=256))
case("is_jpeg", lambda tf, c: tf.image.is_jpeg(c), grad=False, c=_string(FILES["cmyk"]))
for name, data in {
    "nothing": b"",
    "text": b"no image at all",
    "cut": FILES["filters"][:-20],
    "header": FILES["filters"][:20],
    "checksum": FILES["filters"][:45] + b"?" + FILES["filters"][46:],
}.items():
    error_case("png_error_" + name, lambda tf, c: tf.image.decode_png(c), c=_string(data))
error_case("gif_error_cut", lambda tf, c: tf.image.decode_gif(c), c=_string(FILES["animation"][:-30]))
error_case("gif_error_frames", lambda tf, c: tf.image.decode_png(c), c=_string(FILES["animation"]))
error_case("bmp_error_cut", lambda tf, c: tf.image.decode_bmp(c), c=_string(FILES["bmp"][:-9]))
error_case("jpeg_error_cut", lambda tf, c: tf.image.decode_jpeg(c), c=_string(FILES["cmyk"][:200]))
error_case("jpeg_error_no_scan", lambda tf, c: tf.image.extract_jpeg_shape(c), c=_string(FILES["cmyk"][:200]))
error_case("jpeg_error_channels", lambda tf, c: tf.image.decode_jpeg(c, channels=4), c=_string(FILES["cmyk"]))
error_case(
    "crop_jpeg_error",
    lambda tf, x: tf.image.decode_and_crop_jpeg(tf.image.encode_jpeg(x), [30, 5, 10, 20]),
    x=U8(39, 43, 3, high=256),
)
error_case("encode_png_error", lambda tf, x: tf.image.encode_png(x), x=U8(4, 4, 5))
error_case("encode_jpeg_error", lambda tf, x: tf.image.encode_jpeg(x), x=U8(4, 4, 2))
error_case("any_error_channels", lambda tf, c: tf.image.decode_image(c, channels=2), c=_string(b""))
