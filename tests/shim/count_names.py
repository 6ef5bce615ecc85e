"""Counts which names of TensorFlow's modules sources use, and which of those tfcompat has.

    python tests/shim/count_names.py [--missing 50] [--out FILE] REPOSITORY[@REVISION] ...

Each argument is a git directory of a program or of TensorFlow itself. A pair (module, name) is in use where a source imports it or reads it as
an attribute of a module; pairs that TensorFlow 1.15.5 lacks (`shim/tf1_modules.txt`), and names of the public namespaces, are left out.
"""

import argparse
import ast
import collections
import importlib
import json
import logging
import subprocess
import warnings

import tfcompat
from tfcompat._src.shim.resolve import INTERNAL, canonical
from tfcompat._src.shim.table import brought_by_star, modules, names

ROOTS = ("tensorflow", "tensorflow_core", "tensorflow_estimator")


def holds(module, name):
    return name in names(module).words or name in brought_by_star(module)


def module_behind(module, name):
    """The module that `name` of a module means, or None."""
    word = names(module).words.get(name)
    path = word.module if word is not None and word.kind == "module" else f"{module}.{name}"
    return canonical(path) if canonical(path) in modules() else None


def uses(source):
    """The pairs that a source uses."""
    tree, meant, found = ast.parse(source), {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in ROOTS:
                    meant[alias.asname or alias.name.split(".")[0]] = canonical(alias.name if alias.asname else alias.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level and node.module.split(".")[0] in ROOTS:
            module = canonical(node.module)
            read = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
            for alias in node.names:
                found.update((module, name) for name in (read & set(brought_by_star(module)) if alias.name == "*" else [alias.name]))
                behind = module_behind(module, alias.name)
                if behind:
                    meant[alias.asname or alias.name] = behind

    def module_of(node):
        if isinstance(node, ast.Name):
            return meant.get(node.id)
        if not isinstance(node, ast.Attribute) or (base := module_of(node.value)) is None:
            return None
        found.add((base, node.attr))
        return module_behind(base, node.attr)

    for node in ast.walk(tree):
        module_of(node)
    return {(module, name) for module, name in found if is_internal(module) and holds(module, name)}


def is_internal(module):
    parts = module.split(".")
    return parts[0] != "tensorflow" or parts[1:2] in (*INTERNAL, ["compiler"], ["lite"]) or (parts[1:2] == ["contrib"] and len(parts) > 2)


def sources(repository):
    folder, _, revision = repository.partition("@")
    git = ["git", "--git-dir", folder]
    listing = subprocess.run([*git, "ls-tree", "-r", revision or "HEAD"], capture_output=True, text=True, check=True).stdout
    blobs = [line.split()[2] for line in listing.splitlines() if line.endswith(".py")]
    with subprocess.Popen([*git, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for blob in blobs:
            process.stdin.write(blob.encode() + b"\n")
            process.stdin.flush()
            text = process.stdout.read(int(process.stdout.readline().split()[2]))
            process.stdout.read(1)
            if b"tensorflow" in text:
                yield text
        process.stdin.close()


def has(module, name):
    try:
        found = importlib.import_module(module)
    except ImportError:
        return False
    return hasattr(found, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+")
    parser.add_argument("--missing", type=int, default=50)
    parser.add_argument("--out")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tfcompat.install_as_tensorflow()
    counts = collections.Counter()
    for repository in options.repositories:
        for text in sources(repository):
            try:
                counts.update(uses(text))
            except (SyntaxError, ValueError):  # of Python 2
                continue
    logging.disable(logging.CRITICAL)
    missing = [pair for pair in counts if not has(*pair)]
    for module, name in sorted(missing, key=lambda pair: -counts[pair])[: options.missing]:
        print(f"{counts[module, name]:5} {module} {name}")
    there, uses_there = len(counts) - len(missing), sum(counts.values()) - sum(counts[pair] for pair in missing)
    print(f"{there} of {len(counts)} pairs in use are there, {100 * uses_there / max(1, sum(counts.values())):.2f}% weighted by files")
    if options.out:
        with open(options.out, "w") as file:
            json.dump({f"{module}:{name}": counts[module, name] for module, name in sorted(missing)}, file, indent=0)


if __name__ == "__main__":
    main()
