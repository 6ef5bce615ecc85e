"""The views of a profile: nodes by name scope, and by op type, as messages and as text."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from tfcompat._src.profiler.nodes import COUNTS, PARENT, ProfiledNode
from tfcompat._src.proto.messages import tfprof

ROOT = "_TFProfRoot"
_MINIMUMS = {
    "requested_bytes": "min_bytes", "peak_bytes": "min_peak_bytes", "residual_bytes": "min_residual_bytes",
    "output_bytes": "min_output_bytes", "exec_micros": "min_micros",
    "accelerator_exec_micros": "min_accelerator_micros", "cpu_exec_micros": "min_cpu_micros",
    "parameters": "min_params", "float_ops": "min_float_ops",
}  # fmt: skip
_ORDERS = {
    "bytes": "requested_bytes", "peak_bytes": "peak_bytes", "residual_bytes": "residual_bytes",
    "output_bytes": "output_bytes", "micros": "exec_micros", "accelerator_micros": "accelerator_exec_micros",
    "cpu_micros": "cpu_exec_micros", "params": "parameters", "float_ops": "float_ops",
}  # fmt: skip
_DOCUMENTATION = {
    "scope": "nodes by name, as in a tree of folders.",
    "op": "nodes by op type; those of one type are added up.",
    "bytes": "memory of the outputs.",
    "micros": "time spent, in total, on accelerators and on the CPU.",
    "params": "number of elements of a variable.",
    "float_ops": "number of floating-point operations.",
    "device": "where the node ran.",
    "op_types": "op type, device, and types of the op log.",
    "occurrence": "how often it ran and how often it is defined.",
    "input_shapes": "shapes of the inputs.",
}
_TITLES = {"params": "param", "float_ops": "flops"}


def number_text(n: int) -> str:
    """A count with k, m or b for thousands, millions and billions."""
    for limit, unit, suffix in ((1000, 1, ""), (10**6, 1000, "k"), (10**9, 10**6, "m")):
        if n < limit:
            return f"{n / unit:.2f}{suffix}" if suffix else str(n)
    return f"{n / 1e9:.2f}b"


def time_text(micros: int) -> str:
    """Microseconds as us, ms or sec."""
    if micros < 1000:
        return f"{micros}us"
    return f"{micros / 1000:.2f}ms" if micros < 10**6 else f"{micros / 1e6:.2f}sec"


def memory_text(count: int) -> str:
    """Bytes as B, KB or MB."""
    if count < 1000:
        return f"{count}B"
    return f"{count / 1000:.2f}KB" if count < 10**6 else f"{count / 1e6:.2f}MB"


_COLUMNS = (
    ("params", "# parameters", "parameters", number_text),
    ("float_ops", "# float_ops", "float_ops", number_text),
    ("bytes", "requested bytes", "requested_bytes", memory_text),
    ("peak_bytes", "peak bytes", "peak_bytes", memory_text),
    ("residual_bytes", "residual bytes", "residual_bytes", memory_text),
    ("output_bytes", "output bytes", "output_bytes", memory_text),
    ("micros", "total execution time", "exec_micros", time_text),
    ("accelerator_micros", "accelerator execution time", "accelerator_exec_micros", time_text),
    ("cpu_micros", "cpu execution time", "cpu_exec_micros", time_text),
)
"""(what selects it, its title, the count, how it is written)."""
_OP_ORDER = ("bytes", "peak_bytes", "residual_bytes", "output_bytes", "micros", "accelerator_micros", "cpu_micros", "params", "float_ops")
_UNITS = {"params": " params", "float_ops": " flops"}
_OTHERS = {"device": "assigned devices", "op_types": "op types", "occurrence": "op {} (run|defined)", "input_shapes": "input shapes"}


def _selected(options: dict[str, Any]) -> set[str]:
    found = set(options["select"])
    return found | {"accelerator_micros", "cpu_micros"} if "micros" in found else found


def heading(view: str, options: dict[str, Any]) -> str:
    """What stands above a view: the meaning of its columns."""
    shown = [view, *sorted(s for s in options["select"] if s in _DOCUMENTATION)]
    lines = [f"{_TITLES.get(s, s)}: {_DOCUMENTATION[s]}" for s in shown]
    return "\n".join(["", "Doc:", *lines, "", "Profile:", ""])


def legend(options: dict[str, Any], counted: str) -> str:
    """The titles of the columns; `counted` is what a view calls how often an op is there."""
    chosen = _selected(options)
    titles = [title for key, title, _, _ in _COLUMNS if key in chosen] + [t for key, t in _OTHERS.items() if key in chosen]
    return f"node name | {' | '.join(titles)}\n".format(counted)


def _matches(name: str, patterns: list[str]) -> bool:
    return any(p == ".*" or re.fullmatch(p, name) for p in patterns)


class _Counted:
    """Something with counts of its own, totals, and the parts that are shown.

    A minimum is one of the total, those of `own_minimums` one of the counts of its own.
    """

    own_minimums: frozenset[str] = frozenset()

    def __init__(self, name: str, own: dict[str, int], is_accounted: bool, runs: int) -> None:
        self.name, self.own, self.is_accounted, self.runs = name, own, is_accounted, runs
        self.total: dict[str, int] = {}
        self.shown: list[Any] = []

    def reset(self, definitions: int = 1) -> None:
        """The totals become the counts of its own."""
        self.total = dict(self.own) if definitions else dict.fromkeys(COUNTS, 0)
        self.total["definition_count"] = definitions

    def add(self, other: _Counted) -> None:
        for name, count in other.total.items():
            self.total[name] += count

    def is_shown(self, options: dict[str, Any], depth: int) -> bool:
        if depth > options["max_depth"] or self.runs < options["min_occurrence"]:
            return False
        for count, option in _MINIMUMS.items():
            if (self.own if count in self.own_minimums else self.total)[count] < options.get(option, 0):
                return False
        return _matches(self.name, options["show_name_regexes"]) and not _matches(self.name, options["hide_name_regexes"])

    def fill(self, message: Any) -> None:
        """Writes name, counts and totals into a GraphNodeProto or MultiGraphNodeProto."""
        message.name = self.name
        known = message.DESCRIPTOR.fields_by_name
        for prefix, counts in (("", self.own), ("total_", self.total)):
            for name, count in counts.items():
                if prefix + name in known:
                    setattr(message, prefix + name, count)


def _ordered(nodes: list[Any], options: dict[str, Any]) -> list[Any]:
    count = _ORDERS.get(options["order_by"])
    if not options["order_by"]:
        return nodes
    return sorted(nodes, key=(lambda n: -n.total[count]) if count else (lambda n: n.name))


# ---- by name scope ----


class _Scope(_Counted):
    """A node in the tree of names."""

    own_minimums = frozenset(("parameters", "float_ops"))

    def __init__(self, node: ProfiledNode, options: dict[str, Any]) -> None:
        own = node.counts(options["step"])
        is_accounted = node.name != ROOT and any(_matches(t, options["account_type_regexes"]) for t in node.types)
        super().__init__(node.name, own, is_accounted, own["run_count"])
        self.node = node
        self.children: list[_Scope] = []

    def account(self) -> bool:
        """Sums up what is below; whether anything there counts."""
        self.shown = [c for c in self.children if c.account()]
        self.reset()
        for child in self.shown:
            self.add(child)
        return self.is_accounted or bool(self.shown)

    def line(self, options: dict[str, Any]) -> str:
        chosen, info = _selected(options), []

        def pair(own: str, total: str) -> str:
            return f"{own if self.is_accounted else '--'}/{total}"

        for key, _, count, text in _COLUMNS:
            if key in chosen:
                if key == "params" and self.node.shape:
                    info.append("x".join(map(str, self.node.shape)))
                info.append(pair(text(self.own[count]), text(self.total[count]) + _UNITS.get(key, "")))
        if "device" in chosen and self.node.device:
            info.append(self.node.device)
        if "op_types" in chosen:
            info.append("|".join(sorted(self.node.types)))
        if "occurrence" in chosen:
            runs = pair(number_text(self.own["run_count"]), number_text(self.total["run_count"]))
            info.append(f"{runs}|{pair('1', number_text(self.total['definition_count']))}")
        if "input_shapes" in chosen:
            sizes = self.node.input_sizes.items()
            info.append("|".join(f"{i}:{'x'.join(map(str, s)) if s else 'unknown'}" for i, s in sizes))
        return f"{self.name} ({', '.join(info)})"

    def message(self) -> Any:
        found = tfprof.GraphNodeProto()
        self.fill(found)
        if self.node.device:
            found.devices.append(self.node.device)
        for i, sizes in self.node.input_sizes.items():
            for size in sizes or ():
                found.input_shapes[i].dim.add(size=size)
            if not sizes:
                found.input_shapes[i].unknown_rank = True
        found.children.extend(child.message() for child in self.shown)
        return found


def _tree(nodes: dict[str, ProfiledNode], options: dict[str, Any]) -> _Scope:
    """The root of the scopes and nodes, each with those directly below it, by name."""
    names = set(nodes)
    for name in nodes:
        parts = name.split("/")
        names.update("/".join(parts[:i]) for i in range(1, len(parts)))
    parent = lambda name: ProfiledNode(name, PARENT, types={PARENT})  # noqa: E731
    found = {name: _Scope(nodes.get(name) or parent(name), options) for name in sorted(names)}
    root = _Scope(parent(ROOT), options)
    for name, scope in found.items():
        above = name.rpartition("/")[0]
        (found[above] if above else root).children.append(scope)
    return root


def _starting(scopes: list[_Scope], patterns: list[str]) -> list[_Scope]:
    found = []
    for scope in scopes:
        found += [scope] if _matches(scope.name, patterns) else _starting(scope.shown, patterns)
    return found


def _print_scopes(scopes: list[_Scope], options: dict[str, Any], depth: int, indent: int) -> list[tuple[_Scope, str]]:
    """The scopes that are shown, each with its text and that of those below it."""
    found = []
    for scope in scopes:
        is_shown = scope.name == ROOT or scope.is_shown(options, depth)
        below = []
        if not _matches(scope.name, options["trim_name_regexes"]) and depth <= options["max_depth"]:
            below = _print_scopes(scope.shown, options, depth + 1, indent + 2 * is_shown)
        if not is_shown:
            found += below
            continue
        texts = {part.name: text for part, text in below}
        scope.shown = _ordered([part for part, _ in below], options)
        if options["account_displayed_op_only"]:
            scope.reset()
            for part in scope.shown:
                scope.add(part)
        line = f"{' ' * indent}{scope.line(options)}\n"
        found.append((scope, line + "".join(texts[part.name] for part in scope.shown)))
    return found


def scope_view(nodes: dict[str, ProfiledNode], options: dict[str, Any]) -> tuple[Any, str]:
    """The GraphNodeProto of the nodes by name scope, and its text."""
    root = _tree(nodes, options)
    counted = [c for c in root.children if c.account()]
    root.reset(0)
    for child in counted:
        root.add(child)
    starts = options["start_name_regexes"]
    root.shown = counted if starts == [".*"] else _starting(counted, starts)
    ((root, text),) = _print_scopes([root], options, 1, 0)
    return root.message(), legend(options, "count") + text


# ---- by op type ----


class _OpType(_Counted):
    """The nodes of one op type."""

    def __init__(self, name: str, nodes: list[ProfiledNode], options: dict[str, Any]) -> None:
        patterns = options["account_type_regexes"]
        self.nodes = [n for n in nodes if patterns == [".*"] or any(_matches(t, patterns) for t in n.types)]
        each = [n.counts(options["step"]) for n in self.nodes]
        super().__init__(name, {c: sum(e[c] for e in each) for c in COUNTS}, bool(self.nodes), len(nodes))
        self.reset()

    def line(self, options: dict[str, Any], whole: dict[str, int]) -> str:
        chosen, info = _selected(options), []
        columns = {key: (count, text) for key, _, count, text in _COLUMNS}
        units = {"params": " params", "float_ops": " float_ops"}
        for key in (k for k in _OP_ORDER if k in chosen):
            count, text = columns[key]
            shares = [100 * x / whole[count] if self.total[count] else 0.0 for x in (self.total[count], self.own[count])]
            info.append(f"{text(self.own[count])}{units.get(key, '')} ({shares[0]:.2f}%, {shares[1]:.2f}%)".rjust(30))
        if "device" in chosen:
            info.append("|".join(sorted({n.device for n in self.nodes})))
        if "op_types" in chosen:
            info.append("|".join(sorted(set().union(*(n.types for n in self.nodes)))))
        if "occurrence" in chosen:
            info.append(f"{self.own['run_count']}|{len(self.nodes)}".rjust(10))
        return f"{self.name:<25}{', '.join(info)}\n"


def op_view(nodes: dict[str, ProfiledNode], options: dict[str, Any]) -> tuple[Any, str]:
    """The MultiGraphNodeProto of the nodes by op type, each one the only child of the one before, and its text."""
    types: dict[str, list[ProfiledNode]] = defaultdict(list)
    for node in nodes.values():
        types[node.op].append(node)
    made = _ordered([_OpType(name, types[name], options) for name in sorted(types)], options)
    counted = [t for t in made if t.is_accounted]
    whole = _accumulated(counted)
    starts = options["start_name_regexes"]
    first = 0 if starts == [".*"] or not starts else next((i for i, t in enumerate(counted) if _matches(t.name, starts)), len(counted))
    shown = []
    for depth, op_type in enumerate(counted[first:]):
        if _matches(op_type.name, options["trim_name_regexes"]) or depth > options["max_depth"]:
            break
        if op_type.is_shown(options, depth):
            shown.append(op_type)
    if options["account_displayed_op_only"]:
        whole = _accumulated(shown)
    root = tfprof.MultiGraphNodeProto(name=ROOT)
    for name, count in whole.items():
        if f"total_{name}" in root.DESCRIPTOR.fields_by_name:
            setattr(root, f"total_{name}", count)
    message = root
    for op_type in shown:
        message = message.children.add()
        op_type.fill(message)
        for node in op_type.nodes:
            part = _Counted(node.name, node.counts(options["step"]), True, 0)
            part.reset()
            part.fill(message.graph_nodes.add())
    return root, legend(options, "occurrence") + "".join(t.line(options, whole) for t in shown)


def _accumulated(types: list[_OpType]) -> dict[str, int]:
    """Adds to each type the totals of those after it; the totals of all."""
    after = None
    for op_type in reversed(types):
        op_type.reset()
        if after is not None:
            op_type.add(after)
        after = op_type
    return dict(after.total) if after is not None else {**dict.fromkeys(COUNTS, 0), "definition_count": 0}
