"""The code of a Python function as text in a configuration file, with a stamp that says which Python can load it.

Bytecode differs from one minor version of Python to the next, and running another one's crashes the interpreter. The stamp
stands after the marshalled bytes, where every reader of such files, TensorFlow 1.15 among them, ignores it.
"""

from __future__ import annotations

import binascii
import codecs
import hashlib
import importlib.util
import marshal
import re
import sys
import types

_MAGIC = importlib.util.MAGIC_NUMBER.hex()
_RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"
_STAMP = re.compile(rb"\nPython (\S+) bytecode ([0-9a-f]+) sha256 ([0-9a-f]{64})\n\Z")


def dumps(code: types.CodeType) -> str:
    """Code in base64."""
    raw = marshal.dumps(code)
    stamp = f"\nPython {_RUNNING} bytecode {_MAGIC} sha256 {hashlib.sha256(raw).hexdigest()}\n"
    return codecs.encode(raw + stamp.encode(), "base64").decode("ascii")


def loads(text: str, owner: str, key: str) -> types.CodeType:
    """The code that `dumps` made text of.

    Args:
      text: base64.
      owner: whose function it is, for messages.
      key: the name under which `custom_objects` can hold a function instead.

    Raises:
      ValueError: another version of Python wrote the text, or an unknown one, or it is damaged.
    """
    remedy = (
        f"Load it with custom_objects={{{key!r}: function}}, where `function` is that function in your program, "
        f"or save the model again by the Python that wrote it, with the function in a class of layer of its own."
    )
    try:
        raw = codecs.decode(text.encode("ascii"), "base64")
    except (UnicodeEncodeError, binascii.Error) as error:
        raise ValueError(f"The code of the function of {owner} is not base64: {error}. {remedy}") from error
    stamp = _STAMP.search(raw)
    if stamp is None:
        raise ValueError(
            f"The function of {owner} is stored as Python bytecode that does not say which Python wrote it "
            f"(TensorFlow 1.15 runs on Python 2.7 and 3.3 to 3.7); Python {_RUNNING} cannot run it safely. {remedy}"
        )
    version, magic, digest = (group.decode() for group in stamp.groups())
    if magic != _MAGIC:
        raise ValueError(
            f"The function of {owner} is stored as bytecode of Python {version}, which Python {_RUNNING} cannot run. {remedy}"
        )
    raw = raw[: stamp.start()]
    if hashlib.sha256(raw).hexdigest() != digest:
        raise ValueError(f"The bytecode of the function of {owner} is damaged. {remedy}")
    return marshal.loads(raw)
