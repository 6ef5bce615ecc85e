"""Writes the pages of docs/ that are made of data; `python docs/generate.py` from the root of the repository,
and `--check` ends with an error where a page is stale.

| page | of |
|---|---|
| names.md | `tfcompat/_src/base/tf1_names.txt`, and what `tfcompat` answers for each name |
| differences.md | `tests/deviations.py` |
| libraries.md | `tests/libraries.py` |
| reference.md | docstrings, and `docs/reference.txt` |

A test compares the files with what this gives.
"""

from __future__ import annotations

import collections
import pathlib
import re
import runpy
import sys
from typing import Any

import reference

import tfcompat as tf
from tfcompat._src.base import tf1_names

ROOT = pathlib.Path(__file__).parents[1]
MAX_NAMED = 12
"""How many missing names of a package of tf.contrib are written out."""
NOTE = "<!-- Written by docs/generate.py: change the data or the script, not this page. -->\n"


# ---- names ----


def get(path: str) -> Any:
    """The object `tf.path`; AttributeError where there is none."""
    found: Any = tf
    for name in path.split(".") if path else []:
        found = getattr(found, name)
    return found


def state(path: str) -> str:
    """What a program meets at `tf.path`: "works", "raises" (the name is there, and calling it raises by name) or "missing"."""
    try:
        found = get(path)
    except AttributeError:
        return "missing"
    first = (found.__doc__ or "").partition("\n\n")[0] if callable(found) else ""
    return "raises" if "raises NotImplementedError" in first else "works"


def states(space: str) -> dict[str, list[str]]:
    """State -> names of a namespace of TensorFlow 1.15, sorted."""
    found = collections.defaultdict(list)
    for name in sorted(tf1_names.spaces()[space]):
        found[state(f"{space}.{name}".strip("."))].append(name)
    return found


def listed(names: list[str], limit: int) -> str:
    """Names in code type, the first `limit` of them."""
    rest = len(names) - limit
    return ", ".join(f"`{name}`" for name in names[:limit]) + (f" and {rest} more" if rest > 0 else "")


def table(spaces: list[str], limit: int) -> str:
    """A row for each namespace in which a name is missing or raises, and a sentence about the others."""
    rows, whole, total, there = [], 0, 0, 0
    for space in spaces:
        found = states(space)
        lacking, raising = found["missing"], found["raises"]
        count = sum(map(len, found.values()))
        total, there = total + count, there + len(found["works"])
        if lacking or raising:
            lists = [f"{word} {listed(names, limit)}" for word, names in (("missing:", lacking), ("raises:", raising)) if names]
            rows.append(f"| `{'tf.' + space if space else 'tf'}` | {len(found['works'])} of {count} | {'; '.join(lists)} |\n")
        else:
            whole += 1
    head = f"{there:,} of {total:,} names work."
    if len(spaces) > 1:
        head += f" {whole} of the {len(spaces)} namespaces have all of their names; these do not:"
    head += "\n\n"
    return head + "| namespace | works | other |\n|---|---|---|\n" + "".join(rows)


def names_page() -> str:
    """What runs, what does not."""
    spaces = [space for space in sorted(tf1_names.spaces()) if not space.startswith("compat.v1")]
    contrib = [space for space in spaces if re.fullmatch(r"contrib(\.\w+)?", space)]
    v2 = [space for space in spaces if space.startswith("compat.v2")]
    public = [space for space in spaces if not space.startswith(("contrib", "compat.v2", "raw_ops"))]
    return f"""# What runs, what does not

{NOTE}
Every public name of TensorFlow 1.15.5 was asked of tfcompat. *Works* says that the name is there and does not refuse every call; tests hold what
each does against recordings of the real program. *Raises* says that calling it raises `NotImplementedError`, whose message says what to use
instead. [What is missing](missing.md) has the parts that are missing inside of names that work, for instance one argument of a function.

```pycon
>>> import tfcompat as tf
>>> tf.contrib.tpu.keras_to_tpu_model
Traceback (most recent call last):
AttributeError: tfcompat has no tf.contrib.tpu.keras_to_tpu_model: it is not built yet.
```

## tf

{table(public, 10**6)}
`tf.compat.v1` has the names of `tf`.

## tf.contrib

These packages have no list of public names: what they happen to import is counted too (`np`, `six`, and in `quantization` every operation of neural
networks), which nobody should miss.

{table(contrib, MAX_NAMED)}
## tf.raw_ops

{table(["raw_ops"], 10**6)}
## tf.compat.v2

TensorFlow 2's names as 1.15 has them.

{table(v2, 10**6)}"""


# ---- differences ----

ASPECTS = {
    "nodes": "nodes of the graph",
    "collections": "collections",
    "shapes": "static shapes",
    "values": "values",
    "gradients": "gradients",
    "error": "the class of an error",
    "roundtrip": "static shapes after an export and an import of the graph",
}
WORDS = {
    "other": "another shape",
    "refused there": "TensorFlow refuses it",
    "refused here": "tfcompat refuses it",
    "less known here": "TensorFlow knows more of it",
    "less known there": "tfcompat knows more of it",
}


def reasons(rows: dict[str, str]) -> str:
    """A table: each reason, and the rows of the tests that it explains."""
    found = collections.defaultdict(list)
    for row, reason in rows.items():
        found[reason].append(row)
    return "| why | cases |\n|---|---|\n" + "".join(f"| {reason} | {listed(found[reason], MAX_NAMED)} |\n" for reason in sorted(found))


def differences_page() -> str:
    """Where tfcompat knowingly differs from 1.15, and why."""
    known = runpy.run_path(str(ROOT / "tests" / "deviations.py"))
    by_aspect: dict[str, dict[str, str]] = collections.defaultdict(dict)
    for case, aspects in known["CASES"].items():
        for aspect, reason in aspects.items():
            by_aspect[aspect][case] = reason
    cases = "\n".join(f"### {ASPECTS[aspect].capitalize()}\n\n{reasons(by_aspect[aspect])}" for aspect in ASPECTS if by_aspect[aspect])
    shapes = "".join(
        f"| `{kind}` | {', '.join(WORDS[word] for word in words)} | {reason} |\n" for kind, (words, reason) in sorted(known["SHAPES"].items())
    )
    special: dict[str, dict[str, list[str]]] = collections.defaultdict(lambda: collections.defaultdict(list))
    for (name, where), reason in known["SPECIAL_VALUES"].items():
        special[where][reason].append(name)
    elements = "".join(
        f"| {where} | {reason} | {', '.join(f'`{name}`' for name in sorted(names))} |\n"
        for where, by_reason in special.items()
        for reason, names in by_reason.items()
    )
    return f"""# Differences from 1.15

{NOTE}
The tests compare tfcompat with recordings of TensorFlow 1.15.5: nodes, collections, static shapes, values, gradients, errors. Each known difference
is listed in `tests/deviations.py` with its reason, and this page prints that list. A difference that is not listed fails a test, and so does one that
is listed and no longer there. The names are those of the tests' rows.

```pycon
>>> import tfcompat as tf
>>> infinite = tf.placeholder_with_default([float("inf")] * 8, [8])
>>> tf.Session().run(tf.sqrt(infinite))  # TensorFlow 1.15: nan, eight times
array([inf, inf, inf, inf, inf, inf, inf, inf], dtype=float32)
```

## Graphs, values, gradients

{cases}
### At special values

Every elementwise operation, gradient kernel, cast and reduction was recorded at zeros, ties, infinities, NaN, denormal numbers and limits.

| elements with | why | operations and types |
|---|---|---|
{elements}
## Runs

{reasons(known["RUNS"])}
## Eager execution

{reasons(known["EAGER"])}
## Static shapes of operations

Of random inputs with partly known shapes:

| operation | difference | why |
|---|---|---|
{shapes}
## Malformed input

Graphs, checkpoints and records that were damaged on purpose. Both programs refuse nearly all; here they do it in other ways:

{reasons(known["MALFORMED"])}"""


def libraries_page() -> str:
    """The text of libraries.md."""

    def row(library: Any) -> str:
        run = f"`tfcompat run {library.options} PROGRAM`" if library.options else "`tfcompat run PROGRAM`"
        here, there = (", ".join(f"{number:.6g}" for number in numbers) for numbers in (library.here, library.by_1_15))
        return f"| {library.name} | {library.version} | {library.needs} | {run} | {library.ran} | {here} | {there or 'cannot run it'} | {library.differs} |\n"

    table = runpy.run_path(str(ROOT / "tests" / "libraries.py"))["LIBRARIES"]
    return f"""# Libraries

{NOTE}
Packages that were run unmodified, with the numbers of the same program under TensorFlow 1.15.5. Install each, and what it needs, with
`pip install --no-deps PACKAGE==VERSION`, since their requirements name a TensorFlow that no Python of today has; packages that come as sources may need
`--no-build-isolation` and `setuptools==65.5.0`.

| package | version | needs | run by | what was run | here | 1.15.5 | what differs |
|---|---|---|---|---|---|---|---|
{"".join(map(row, table))}
`--as 2.15` is for libraries that use `tf.compat.v1` of TensorFlow 2 and look at the version: `tf.__version__` and the package's metadata say 2.15.0, and
the names of TensorFlow 2.15's `tf.compat.v1` are there for what 1.15 has (`tf.config.list_physical_devices`, `tf.data.AUTOTUNE`, `tf.Tensor.ref` and others).
In a program of your own: `tfcompat.install_as_tensorflow("2.15")`.

```pycon
>>> import tfcompat
>>> tfcompat.install_as_tensorflow("2.16")
Traceback (most recent call last):
ValueError: tfcompat answers as TensorFlow 1.15 or 2.15, not '2.16'.
```
"""


def pages() -> dict[pathlib.Path, str]:
    """Each generated page and its text."""
    found = {"names": names_page(), "differences": differences_page(), "reference": reference.page(get, NOTE), "libraries": libraries_page()}
    return {ROOT / "docs" / f"{name}.md": text for name, text in found.items()}


if __name__ == "__main__":
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        sys.exit(f"run python docs/generate.py: it changes {', '.join(path.name for path in stale)}" if stale else 0)
    for path, text in pages().items():
        path.write_text(text)
