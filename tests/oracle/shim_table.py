"""Records which names each module of TensorFlow 1.15's Python package holds, for `tfcompat/_src/shim/tf1_modules.txt`.

Run with the real program: `python3.7 tests/oracle/shim_table.py tfcompat/_src/shim/tf1_modules.txt tests/golden/class_bases.json.gz`.

Each line of the file is a module's path and its words:

    a              the public name tf.a
    a=b.c          the public name tf.b.c
    a=raw:Abs      the function of op type Abs
    a@module       the name a of another module of TensorFlow; a@module:b is its name b
    a@             the module of TensorFlow that most modules mean by a, as the first line (path ".") says; a@module: is another one
    *@module       all names of a module
    a^module       a name of Python or of another package, a^module:b under another name there; a^module: is the module itself
    a~c            a class that the module defines and that has no public path; a~f is a function, a~v another value
    a~v5           ..., a number, a truth value, None or a word, as JSON; never a path of the machine
    __future__     the three names that most modules import from there
    __all__=a,b    what the module says that a star brings

The second file maps each class, as "module:name", to its direct bases.
"""

import __future__

import ast
import collections
import gzip
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
    r"_main$|\.(g3doc|testdata|tools\.api|tools\.pip_package)(\.|$)|_test$|\.keras\.api(\._v\d)?\.keras|\.estimator\.api\._v\d\.estimator"
)
FUTURE = {"absolute_import", "division", "print_function"}
NAME = re.compile(r"[A-Za-z_][\w.]*$")
WORD = re.compile(r"[\w./:%<>=+*,@^-]{0,60}$")
GENERATED = re.compile(r"_eager_fallback$|^_\w+(Output|_outputs)$|^_(op_def_lib|InitOpDefLibrary)$")
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
    return value is None or isinstance(
        value, (int, str, bytes, float, tuple, list, dict, types.ModuleType, __future__._Feature)
    )


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
        if SCRIPTS.search(name) or name.endswith("_pb2"):
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


def imports_of(source):
    """Name -> (module, name there) of what a module imports from others, and the modules whose names it repeats."""
    stars, imported = [], {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if alias.name == "*":
                    stars.append(node.module)
                else:
                    imported[alias.asname or alias.name] = (node.module, alias.name)
    return stars, imported


def brought_by_star(module):
    return [name for name in getattr(module, "__all__", None) or vars(module) if name in vars(module) and not name.startswith("__")
            and ("__all__" in vars(module) or not name.startswith("_"))]


def is_plain(value):
    """Whether a value can be written as a word: a number, a truth value, None or a short text without spaces."""
    if isinstance(value, str):
        return WORD.match(value) is not None
    return value is None or type(value) in (bool, int) or (type(value) is float and value == value and abs(value) < 1e300)


def kind_of(value):
    if inspect.isclass(value):
        return "c"
    if callable(value):
        return "f"
    is_path = isinstance(value, str) and os.path.isabs(value) and os.path.exists(os.path.dirname(value))  # of this machine
    return "v" + (json.dumps(value) if is_plain(value) and not is_path else "")


def of_module(path, name):
    """`module` or `module:b` for the word of a name."""
    return path if path.endswith(":") or name is None else path + ":" + name


def home(name, value, here, known):
    """The (module, name) of TensorFlow that defines a class or function which another module merely holds, or None."""
    module, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    module = module and module.replace("tensorflow_core", "tensorflow", 1)
    if module in known and module not in here and qualified and vars(known[module]).get(qualified) is value:
        return module, qualified
    return None


def word(attribute, value, imported, public, here, known):
    """The word for one name of a module."""
    path = public.get(id(value)) if not shared(value) else None
    origin, original = imported.get(attribute, (None, None))
    if origin is not None and origin.split(".")[0] in ROOTS and origin not in known:
        origin = None
    if path is not None and not (origin in known and path.startswith("contrib.")):
        return attribute if path == attribute else "%s=%s" % (attribute, path)
    if origin is not None and origin not in known:
        return "%s^%s" % (attribute, origin if original == attribute else of_module(origin, original))
    if origin is None and not shared(value):
        origin, original = home(attribute, value, here, known) or (None, None)
    if origin is not None:
        return "%s@%s" % (attribute, origin if original == attribute else of_module(origin, original))
    return "%s~%s" % (attribute, kind_of(value)) if path is None else "%s=%s" % (attribute, path)


def module_word(attribute, value, path, usual):
    """The word for a module that a module holds."""
    meant = value.__name__.replace("tensorflow_core", "tensorflow", 1)
    if not NAME.match(meant):
        return ""
    if meant.split(".")[0] in ROOTS:
        return "%s@%s" % (attribute, "" if usual.get(attribute) == meant else meant + ":")
    return "%s^%s:" % (attribute, meant)


def words(name, module, source, public, known, usual):
    here = (name, name.replace("tensorflow.", "tensorflow_core.", 1))
    result = []
    generated = "._apply_op_helper(" in source and name.split(".")[-1].startswith("gen_")
    op_types = dict(op_names(source)) if generated else {}
    op_types.update({each: each for each in op_types.values()})
    for paths, constant in getattr(module, "_tf_api_constants_v1", ()):
        result.append("%s=%s" % (constant, public.get(id(vars(module)[constant])) or min(paths, key=len)))
    constants = {each.partition("=")[0] for each in result}
    stars, imported = imports_of(source)
    arrived = {}
    for star in stars:
        if star in known:
            result.append("*@" + star)
            arrived.update((each, vars(known[star])[each]) for each in brought_by_star(known[star]))
    if "__all__" in vars(module) :
        result.append("__all__=" + ",".join(sorted(set(module.__all__) & set(vars(module)))))
    if FUTURE <= set(imported):
        result.append("__future__")
        constants |= FUTURE
    for attribute, value in sorted(vars(module).items()):
        if attribute.startswith(("__", "_tfmw", "_tf_api_constants")) or attribute in constants:
            continue
        if attribute in arrived and arrived[attribute] is value and attribute not in imported:
            continue
        if attribute in op_types and public.get(id(value), "contrib.").startswith("contrib."):
            result.append("%s=raw:%s" % (attribute, op_types[attribute]))
        elif isinstance(value, types.ModuleType):
            result.append(module_word(attribute, value, name, usual))
        elif not (generated and GENERATED.search(attribute)):
            result.append(word(attribute, value, imported, public, here, known))
    return [each for each in result if each]


def class_bases(modules):
    """"module:name" of each class that a module defines -> its direct bases."""
    found = {}
    for path, module in modules.items():
        for name, value in vars(module).items():
            if inspect.isclass(value) and name == value.__qualname__ and value.__module__.replace("tensorflow_core", "tensorflow", 1) == path:
                found[path + ":" + name] = [
                    base.__module__.replace("tensorflow_core", "tensorflow", 1) + ":" + base.__qualname__ for base in value.__bases__
                ]
    return found


def main(target, bases):
    files = dict(module_files())
    public = public_paths()
    known = import_all(files)
    counts = collections.defaultdict(collections.Counter)
    for path, names in module_names(known).items():
        for name, module in names.items():
            counts[name][module] += 1
    usual = {name: min(found, key=lambda m: (-found[m], m)) for name, found in counts.items()}
    table = {".": ["%s=%s" % pair for pair in sorted(usual.items())]}
    for name in files:
        if not SCRIPTS.search(name):
            source = open(files[name], encoding="utf8").read()
            table[name] = words(name, known[name], source, public, known, usual) if name in known else []
    with open(target, "w") as out:
        out.writelines(" ".join([name] + found) + "\n" for name, found in sorted(table.items()))
    with gzip.GzipFile(bases, "wb", mtime=0) as out:
        out.write(json.dumps(class_bases(known), sort_keys=True, indent=0).encode())
    print(len(table), "modules,", sum(map(len, table.values())), "words, of", inspect.getmodule(tf).__name__)


if __name__ == "__main__":
    main(*sys.argv[1:])
