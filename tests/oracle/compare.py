"""Runs a snippet in TensorFlow 1.15 and in tfcompat and prints where graph, values or exception differ.

    python tests/oracle/compare.py -c "y = tf.layers.dense(tf.zeros([2, 3]), 4)" --grad --seed 42
    python tests/oracle/compare.py FILE.py --fetch loss --fetch "[a, b]"

`tf` and `np` are bound. The fetch defaults to `y` where the snippet binds it. The environment variable TF1_PYTHON
names the Python 3.7 interpreter that has TensorFlow 1.15.5; default: .venv-tf1/bin/python in the repository
(README.md says how to make it). The nodes of gradients are not compared. Exit status 0: equal.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
FIELDS = ("name", "op", "inputs", "dtypes", "shapes", "attrs", "device")


def run_side(python, module, request):
    """Runs the snippet under one interpreter and returns its description."""
    with tempfile.TemporaryDirectory() as folder:
        source, sink = os.path.join(folder, "request.json"), os.path.join(folder, "answer.json")
        Path(source).write_text(json.dumps({**request, "module": module}))
        path = os.pathsep.join(filter(None, [str(HERE.parents[1]), os.environ.get("PYTHONPATH")]))
        env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": path}
        done = subprocess.run([python, str(HERE / "snippet.py"), source, sink], env=env)
        if done.returncode or not os.path.exists(sink):
            sys.exit(f"{module}: the runner ended with status {done.returncode}")
        return json.loads(Path(sink).read_text())


def show(node):
    """One line that says what a node is."""
    attrs = ", ".join(f"{k}={json.dumps(v)}" for k, v in node["attrs"].items())
    device = f" @{node['device']}" if node["device"] else ""
    return (
        f"{node['name']} = {node['op']}({', '.join(node['inputs'])}) -> "
        f"{list(zip(node['dtypes'], node['shapes'], strict=True))} {{{attrs}}}{device}"
    )


def field_differences(want, have):
    """Lines for the fields in which two nodes differ, attribute by attribute."""
    lines = []
    for field in FIELDS:
        if want[field] == have[field]:
            continue
        if field == "attrs":
            for key in sorted(set(want["attrs"]) | set(have["attrs"])):
                left, right = want["attrs"].get(key, "<absent>"), have["attrs"].get(key, "<absent>")
                if left != right:
                    lines.append(f"    attr {key}: tf {json.dumps(left)}  tfcompat {json.dumps(right)}")
        else:
            lines.append(f"    {field}: tf {json.dumps(want[field])}  tfcompat {json.dumps(have[field])}")
    return lines


def node_differences(want, have):
    """Lines that describe how two node lists differ; empty when they are equal."""
    lines = []
    order = [(n["name"], n["op"]) for n in want], [(n["name"], n["op"]) for n in have]
    if order[0] != order[1]:
        first = next((i for i, (a, b) in enumerate(zip(*order, strict=False)) if a != b), min(map(len, order)))
        lines.append(f"nodes: tf {len(want)}, tfcompat {len(have)}; the first that differs is number {first}")
        for label, side in (("tf", want), ("tfcompat", have)):
            lines.append(f"  {label:8s} {show(side[first]) if first < len(side) else '(none)'}")
        lines.append("  names in order (- only tf, + only tfcompat):")
        lines += [f"  - {name} ({op})" for name, op in order[0] if (name, op) not in order[1]]
        lines += [f"  + {name} ({op})" for name, op in order[1] if (name, op) not in order[0]]
    by_name = {n["name"]: n for n in have}
    for node in want:
        other = by_name.get(node["name"])
        differences = field_differences(node, other) if other else []
        if differences:
            lines += [f"  {node['name']} ({node['op']}):", *differences]
    return lines


def as_array(entry):
    """The array that a described value stands for, or None where it holds text."""
    values = [
        ast.literal_eval(v)
        if v not in ("nan", "inf", "-inf") and "nan" not in v and "inf" not in v
        else complex(v)
        if "j" in v
        else float(v)
        for v in entry["values"]
    ]
    if any(isinstance(v, (bytes, str)) for v in values):
        return None
    return np.array(values).reshape(entry["shape"])


def value_differences(name, want, have):
    """(equal, line) for one fetched value."""
    if have is None or want is None:
        return False, f"{name}: only in {'tf' if have is None else 'tfcompat'}: {want or have}"
    if "error" in want or "error" in have:
        return (
            want == have,
            f"{name}: tf {want.get('error', 'a value')} {want.get('message', '')!r}  "
            f"tfcompat {have.get('error', 'a value')} {have.get('message', '')!r}",
        )
    if (want["dtype"], want["shape"]) != (have["dtype"], have["shape"]):
        return False, f"{name}: tf {want['dtype']}{want['shape']}  tfcompat {have['dtype']}{have['shape']}"
    label = f"{name}: {want['dtype']}{want['shape']}"
    left, right = as_array(want), as_array(have)
    if left is None or right is None:
        return want == have, f"{label} {'equal' if want == have else str((want['values'], have['values']))}"
    with np.errstate(all="ignore"):
        same = (left == right) | ((left != left) & (right != right))
        gap = np.where(same, 0, np.abs(left.astype(complex) - right.astype(complex)))
        scale = np.max(np.abs(np.where(np.isfinite(left), left, 0)), initial=0)
    close = bool(np.allclose(left, right, rtol=1e-5, atol=1e-6 * max(1.0, float(scale)), equal_nan=True))
    return close, f"{label} {int(same.sum())}/{same.size} equal, max difference {np.max(gap, initial=0):.3g}" + (
        "" if close else f"\n    tf       {want['values'][:12]}\n    tfcompat {have['values'][:12]}"
    )


def report(want, have, values):
    """Prints the comparison and returns whether both sides are equal."""
    equal = True
    left, right = want.get("exception"), have.get("exception")
    if left != right:
        equal = False
        print(f"exception: tf {left}\n      tfcompat {right}")
        print((have if right else want)["traceback"])
    elif left:
        print(f"both raise {left['error']}: {left['message']}")
    differences = node_differences(want["nodes"], have["nodes"])
    print("\n".join(differences) if differences else f"{len(want['nodes'])} nodes equal")
    equal = equal and not differences
    if values:
        for name in [*want["values"], *(k for k in have["values"] if k not in want["values"])]:
            same, line = value_differences(name, want["values"].get(name), have["values"].get(name))
            print(("  " if same else "! ") + line)
            equal = equal and same
    return equal


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", help="file with the snippet")
    parser.add_argument("-c", dest="code", help="the snippet itself")
    parser.add_argument("--fetch", action="append", default=[], metavar="EXPR", help="expression to run; repeatable")
    parser.add_argument(
        "--grad",
        action="store_true",
        help="also the gradients of the first fetch with respect to floating placeholders and trainable variables",
    )
    parser.add_argument("--seed", type=int, help="tf.set_random_seed before the snippet")
    parser.add_argument("--no-values", action="store_true", help="compare the graphs only")
    parser.add_argument("--nodes", action="store_true", help="print TensorFlow's nodes and stop")
    parser.add_argument("--tf-only", action="store_true", help="print TensorFlow's nodes and values and stop")
    args = parser.parse_args()
    if (args.code is None) == (args.file is None):
        parser.error("give either a FILE or -c CODE")
    return args


def main():
    """Compares and returns the exit status."""
    args = arguments()
    code = args.code if args.code is not None else Path(args.file).read_text()
    request = {
        "code": code,
        "file": args.file or "<snippet>",
        "fetch": args.fetch,
        "grad": args.grad,
        "seed": args.seed,
        "want_values": not (args.no_values or args.nodes),
    }
    python = os.environ.get("TF1_PYTHON", str(HERE.parents[1] / ".venv-tf1/bin/python"))
    if not os.path.exists(python):
        sys.exit(f"{python}: no such interpreter; set TF1_PYTHON (tests/oracle/README.md)")
    want = run_side(python, "tensorflow", request)
    if args.nodes or args.tf_only:
        print("\n".join(f"{i:3d} {show(n)}" for i, n in enumerate(want["nodes"])))
        for name, entry in want["values"].items():
            print(f"{name}: {entry}")
        if "exception" in want:
            print(want["traceback"])
        return 0
    return 0 if report(want, run_side(sys.executable, "tfcompat", request), request["want_values"]) else 1


if __name__ == "__main__":
    sys.exit(main())
