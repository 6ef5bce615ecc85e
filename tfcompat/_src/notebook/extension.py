"""`%load_ext tfcompat`: what a notebook gets. IPython calls it and is not imported here."""

from __future__ import annotations

import ast
import html
import importlib
import os
import re
import sys
from typing import Any

from google.protobuf import text_format

from tfcompat._src.base.export import export
from tfcompat._src.base.tracebacks import folded
from tfcompat._src.graph import picture
from tfcompat._src.platform.versions import VERSION
from tfcompat._src.proto import messages
from tfcompat._src.shim.install import install_in_place_of_imported

_OLD_FRAME = re.compile(r'pbtxt = (?P<text>\'(?:[^\'\\]|\\.)*\'|"(?:[^"\\]|\\.)*");.*?<tf-graph-basic', re.DOTALL)
"""The page of `show_graph`, a snippet of many notebooks since 2015: it loads a program of tensorboard.appspot.com, which is gone."""


@export("load_ipython_extension")
def load_ipython_extension(ipython: Any) -> None:
    """Makes `import tensorflow` mean tfcompat in a notebook, accepts `%tensorflow_version 1.x`, and draws graphs.

    Args:
      ipython: the `InteractiveShell`. Where TensorFlow was imported before, a note says which names still refer to it.
    """
    replaced = install_in_place_of_imported()
    if replaced is not None:
        print(_note_on(replaced, ipython.user_ns))
    _drop_arguments_of_kernel()
    ipython.register_magic_function(tensorflow_version, "line")
    if not ipython.custom_exceptions:  # a handler that the program has set stays
        ipython.set_custom_exc((BaseException,), show_error)
    formatter = ipython.display_formatter.formatters["text/html"]
    formatter.for_type(messages.GraphDef, picture.graph_def_html)
    formatter.for_type_by_name("IPython.core.display", "HTML", revived)


def show_error(ipython: Any, kind: type[BaseException], error: BaseException, trace: Any, tb_offset: int | None = None) -> None:
    """Shows an exception of a cell without the frames of tfcompat and JAX; `%debug` and `%tb` have all of them."""
    with folded(error) as note:
        shown = note and ipython.InteractiveTB.structured_traceback(kind, error, error.__traceback__, tb_offset=tb_offset)
    if not note or hasattr(error, "_render_traceback_"):
        ipython.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=True)
        return
    error._render_traceback_ = lambda: [note, *shown]  # type: ignore[attr-defined]  # IPython asks for it
    try:
        ipython.showtraceback((kind, error, trace))
    finally:
        del error._render_traceback_  # type: ignore[attr-defined]


def _note_on(replaced: object, names: dict[str, Any]) -> str:
    held = sorted(name for name, value in names.items() if value is replaced and not name.startswith("_"))
    still = f" {', '.join(held)} still {'refers' if len(held) == 1 else 'refer'} to it: run the import again." if held else ""
    return (
        f"TensorFlow {getattr(replaced, '__version__', 'of an unknown version')} was already imported in this kernel. From now on, "
        f"`import tensorflow` gives tfcompat (TensorFlow {VERSION}).{still} Both stay in memory; restart the kernel and run "
        "`%load_ext tfcompat` first to have tfcompat alone."
    )


def _drop_arguments_of_kernel() -> None:
    """Takes the kernel's own `-f connection.json` from `sys.argv`, where tf.app.flags would refuse it."""
    if len(sys.argv) > 2 and sys.argv[1] == "-f" and os.path.basename(sys.argv[2]).endswith(".json"):
        del sys.argv[1:3]
    elif len(sys.argv) > 1 and re.fullmatch(r"(-f|--f)=.*\.json", sys.argv[1]):
        del sys.argv[1]


def tensorflow_version(line: str) -> None:
    """The magic `%tensorflow_version`, which Colab had: accepts 1.x and versions 1.15; others are errors."""
    wanted = line.partition("#")[0].strip()
    if wanted in ("", "1", "1.x") or wanted.startswith("1.15"):
        print(f"TensorFlow {VERSION} (tfcompat)")
        return
    usage_error = importlib.import_module("IPython.core.error").UsageError
    raise usage_error(
        f"%tensorflow_version {wanted}: this kernel has TensorFlow {VERSION}, by tfcompat. tf.compat.v2 has parts of TensorFlow 2's "
        "interface; for an installed TensorFlow 2, restart the kernel and do not load tfcompat."
    )


def revived(shown: Any) -> str:
    """Returns the HTML of `IPython.display.HTML`, with a picture in place of what `show_graph` draws with a program that is gone."""
    text: str = shown._repr_html_()
    found = _OLD_FRAME.search(html.unescape(text)) if "tf-graph-basic" in text else None
    if found is None:
        return text
    graph_def = messages.GraphDef()
    try:
        text_format.Parse(ast.literal_eval(found["text"]), graph_def)
    except (text_format.ParseError, ValueError, SyntaxError):
        return text  # another page that names the same program
    return picture.graph_def_html(graph_def)
