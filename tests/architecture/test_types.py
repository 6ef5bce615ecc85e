"""The folders that mypy checks: how much of their signatures says nothing, and what the checker is told to pass over."""

import ast
import pathlib
import re
import tomllib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
FOLDERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["files"]
ANY = {"base": (141, 270), "graph": (44, 163), "nodes": (58, 164), "runtime": (42, 261), "gradients": (16, 100), "data": (126, 312), "cluster": (162, 269), "eager": (15, 64), "shim": (156, 259), "interpreter": (0, 6), "replay": (1, 3)}
"""By folder: annotations that are `Any` and no more, and the uses of `Any` at all (`dict[str, Any]`). The numbers only go down."""


def sources(folder):
    return sorted((ROOT / folder).rglob("*.py"))


def annotations(tree):
    for node in ast.walk(tree):
        if isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
            yield node.annotation
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
            yield node.returns


def count_any(text):
    tree = ast.parse(text)
    bare = sum(ast.unparse(annotation) in ("Any", "Any | None", "'Any'") for annotation in annotations(tree))
    return bare, sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree))


def test_any_is_counted():
    assert count_any("def f(a: Any, *b: Any, c: int = 0) -> Any | None:\n    d: Any = a\n    e: list[Any] = b\nG = dict[str, Any]") == (4, 6)


def test_every_folder_that_mypy_checks_has_its_numbers():
    assert {pathlib.Path(folder).name for folder in FOLDERS} == set(ANY)


@pytest.mark.parametrize("folder", FOLDERS)
def test_any_becomes_rarer(folder):
    found = tuple(map(sum, zip(*(count_any(path.read_text()) for path in sources(folder)))))
    limit = ANY[pathlib.Path(folder).name]
    assert not any(f > most for f, most in zip(found, limit)), f"{found} where {limit} are allowed: name the type, or `object` for what is only handed on"
    assert found == limit, f"fewer than before: write {found} in this file"


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_mypy_passes_over_has_a_code_and_a_reason(folder):
    comments = [(path.name, line) for path in sources(folder) for line in re.findall(r"# *type: *ignore.*", path.read_text())]
    assert not [each for each in comments if not re.match(r"# type: ignore\[[a-z, -]+\]  # \w", each[1])]


@pytest.mark.parametrize("folder", FOLDERS)
def test_arrays_in_signatures_are_of_a_type_that_numpy_2_1_takes(folder):
    for path in sources(folder):
        for annotation in annotations(ast.parse(path.read_text())):
            assert not re.search(r"np\.ndarray(?!\[)", ast.unparse(annotation)), f"{path.name}:{annotation.lineno}: base.arrays.NDArray"
