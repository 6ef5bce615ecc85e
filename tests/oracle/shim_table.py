"""Records which names each module of TensorFlow 1.15's Python package holds, for `tfcompat/_src/shim/tf1_modules.json`.

Run with the real program: `python3.7 tests/oracle/shim_table.py tfcompat/_src/shim/tf1_modules.json`.

The file maps a module path to one string of words: `a` stands for the public name `tf.a` under its own name, `a=b.c` for
the public name `tf.b.c`, `a=raw:Abs` for the op type Abs, `a@module` (`a@module:b`) for the name `a` (`b`) of
another module and `*@module` for all names of it. `a@` stands for the module that most modules mean by `a`, as the entry "" says, and
`a@module:` for another module. Names that have no public path are not listed: `shim/places.py` says where they are looked for.
"""

import ast
import collections
import importlib
import inspect
import json
import os
import re
import sys
import types
import warnings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
warnings.simplefilter("ignore")

import tensorflow as tf  # noqa: E402
import tensorflow_core  # noqa: E402
import tensorflow_estimator  # noqa: E402

ROOTS = {
    "tensorflow": os.path.dirname(tensorflow_core.__file__),
    "tensorflow_estimator": os.path.dirname(tensorflow_estimator.__file__),
}
SCRIPTS = re.compile(
    r"_main$|\.(benchmarks|examples|g3doc|testdata|tools\.api|tools\.compatibility|tools\.pip_package)\.|_test$"
)
API = re.compile(r"tensorflow(_core|_estimator)?(?!.*\.python\.(?!.*\.?api\._v))")
OP = re.compile(r"^def (\w+)\(|_apply_op_helper\(\s*\"(\w+)\"", re.M)


def module_files():
    for root, folder in ROOTS.items():
        for path, _, files in os.walk(folder):
            package = ".".join([root] + [part for part in os.path.relpath(path, folder).split(os.sep) if part != "."])
            if "_api" in package or ".include" in package:
                continue
            for name in files:
                if name == "__init__.py":
                    yield package, os.path.join(path, name)
                elif name.endswith(".py"):
                    yield package + "." + name[:-3], os.path.join(path, name)


def shared(value):
    """Whether the object's identity says nothing (a small int, a string, a module)."""
    return value is None or isinstance(value, (int, str, bytes, float, tuple, list, dict, types.ModuleType))


def public_paths():
    """Public dotted path of every object of `tf`, the shortest one; v1 before compat.v2 before contrib."""
    found = {}
    seen = set()

    def walk(module, prefix, depth):
        if id(module) in seen or depth > 6:
            return
        seen.add(id(module))
        below = []
        for name in dir(module):
            if name.startswith("_") or name in (
                "contrib",
                "raw_ops",
                "python",
                "core",
                "v1",
                "v2",
                "tools",
                "examples",
            ):
                continue
            try:
                value = getattr(module, name)
            except Exception:
                continue
            if isinstance(value, types.ModuleType):
                inside = not prefix.startswith("contrib.") or ".".join(prefix.split(".")[:2]) in value.__name__
                if API.match(value.__name__) and inside:
                    below.append((value, prefix + name + "."))
            elif not shared(value):
                old = found.get(id(value))
                if old is None or (len(prefix + name) < len(old) and old.split(".")[0] not in ("compat", "contrib")):
                    found[id(value)] = prefix + name
        for value, path in below:
            walk(value, path, depth + 1)

    walk(tf, "", 0)
    walk(tf.compat.v2, "compat.v2.", 0)
    for name in sorted(os.listdir(os.path.join(ROOTS["tensorflow"], "contrib"))):
        try:
            package = importlib.import_module("tensorflow.contrib." + name)
        except Exception:
            continue
        walk(package, "contrib." + name + ".", 4)
    return found


def op_names(source):
    """Python function -> op type, in a generated gen_*_ops module."""
    function = None
    for name, op_type in OP.findall(source):
        if name:
            function = name
        elif function:
            yield function, op_type
            function = None


def import_all(files):
    modules = {}
    for name in files:
        if SCRIPTS.search(name + ".") or name.endswith("_pb2"):
            continue
        try:
            modules[name] = importlib.import_module(name)
        except BaseException as error:
            print("not imported:", name, type(error).__name__, error, file=sys.stderr)
    return modules


def module_names(modules):
    """Module -> name -> path of the module that it means by the name, other than the modules below it."""
    found = {}
    for path, module in modules.items():
        found[path] = {}
        for name, value in sorted(vars(module).items()):
            if isinstance(value, types.ModuleType) and not name.startswith("__"):
                meant = value.__name__.replace("tensorflow_core", "tensorflow", 1)
                if meant in modules and meant != path + "." + name:
                    found[path][name] = meant
    return found


def words(name, module, source, public, known):
    here = (name, name.replace("tensorflow.", "tensorflow_core.", 1))
    if "._apply_op_helper(" in source and name.split(".")[-1].startswith("gen_"):
        return ["%s=raw:%s" % pair for pair in op_names(source)]
    result, stars, imported = [], [], {}
    for paths, constant in getattr(module, "_tf_api_constants_v1", ()):
        result.append("%s=%s" % (constant, min(paths, key=len)))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if alias.name == "*":
                    stars.append(node.module)
                else:
                    imported[alias.asname or alias.name] = (node.module, alias.name)
    arrived = set()
    for star in stars:
        if star in known:
            result.append("*@" + star)
            arrived.update(vars(known[star]))
    for attribute, value in sorted(vars(module).items()):
        if attribute.startswith("__") or shared(value) or isinstance(value, types.ModuleType):
            continue
        path = public.get(id(value))
        if attribute in imported:
            origin, original = imported[attribute]
            if origin not in known or attribute.startswith("_") or origin.startswith("tensorflow.python.util."):
                continue
            if path is None or path.startswith("contrib."):
                target = origin if original == attribute else origin + ":" + original
                result.append(attribute + "@" + target)
                continue
        elif attribute in arrived and getattr(value, "__module__", None) not in here:
            continue
        if path is not None:
            result.append(attribute if path == attribute else "%s=%s" % (attribute, path))
    return result


def main(target):
    files = dict(module_files())
    public = public_paths()
    known = import_all(files)
    meant = module_names(known)
    counts = collections.defaultdict(collections.Counter)
    for path, names in meant.items():
        for name, module in names.items():
            counts[name][module] += 1
    usual = {name: min(found, key=lambda m: (-found[m], m)) for name, found in counts.items()}
    table = {"": " ".join("%s=%s" % pair for pair in sorted(usual.items()))}
    for name in sorted(files):
        if SCRIPTS.search(name + "."):
            continue
        source = open(files[name], encoding="utf8").read()
        found = words(name, known[name], source, public, known) if name in known else []
        found += [n + "@" + ("" if usual[n] == m else m + ":") for n, m in sorted(meant.get(name, {}).items())]
        table[name] = " ".join(found)
    with open(target, "w") as out:
        out.write(
            "{\n" + ",\n".join("%s: %s" % (json.dumps(k), json.dumps(v)) for k, v in sorted(table.items())) + "\n}\n"
        )
    print(
        len(table), "modules,", sum(len(v.split()) for v in table.values()), "words, of", inspect.getmodule(tf).__name__
    )


if __name__ == "__main__":
    main(sys.argv[1])
