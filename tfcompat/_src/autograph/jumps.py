"""Functions without jumps: `return`, `break` and `continue` become flags, and what they skip depends on these.

`else` clauses of loops become statements after the loop.
"""

from __future__ import annotations

import ast
import itertools

RESULT = "ag__result"
RETURNED = "ag__returned"
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
LOOPS = (ast.For, ast.While)
_BLOCKS = ("body", "orelse", "finalbody")


def name(text: str) -> ast.Name:
    return ast.Name(id=text, ctx=ast.Load())


def assign(target: str, value: ast.expr, like: ast.AST) -> ast.Assign:
    """`target = value` at the place of another node."""
    made = ast.Assign(targets=[ast.Name(id=target, ctx=ast.Store())], value=value)
    return ast.fix_missing_locations(ast.copy_location(made, like))


def constant(value: object) -> ast.Constant:
    return ast.Constant(value=value)


def unless(flags: list[str]) -> ast.expr:
    """The expression that is true where no flag is set."""
    tests = [ast.UnaryOp(op=ast.Not(), operand=name(flag)) for flag in flags]
    return tests[0] if len(tests) == 1 else ast.BoolOp(op=ast.And(), values=list(tests))


def _has(statements: list[ast.stmt], kinds: tuple[type, ...], own_loop: bool = False) -> bool:
    """Whether there is a jump of one of the kinds; with `own_loop` only those that leave the loop around count."""
    for node in statements:
        if isinstance(node, kinds):
            return True
        if isinstance(node, SCOPES) or (own_loop and isinstance(node, LOOPS) and not _has(node.orelse, kinds, True)):
            continue
        if _has(list(ast.iter_child_nodes(node)), kinds, own_loop and not isinstance(node, LOOPS)):  # type: ignore[arg-type]
            return True
    return False


def _guard(flags: list[str], statements: list[ast.stmt], like: ast.AST) -> ast.If:
    """Statements that run where no flag is set."""
    return ast.fix_missing_locations(ast.copy_location(ast.If(test=unless(flags), body=statements, orelse=[]), like))


def _ends(node: ast.stmt) -> bool:
    """Whether control never passes a statement."""
    return isinstance(node, (ast.Return, ast.Break, ast.Continue)) or (
        isinstance(node, ast.If) and _never_pass(node.body) and _never_pass(node.orelse)
    )


def _never_pass(statements: list[ast.stmt]) -> bool:
    return any(_ends(node) for node in statements)


class _Lowering:
    """The state of the lowering of one function."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._loops: list[tuple[str, str]] = []
        """The flags for `break` and `continue` of the loops around."""

    def block(self, statements: list[ast.stmt]) -> tuple[list[ast.stmt], list[str]]:
        """Statements without jumps, and the flags that they may set."""
        done: list[ast.stmt] = []
        for i, node in enumerate(statements):
            rest = statements[i + 1 :]
            if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
                made, flag = self._jump(node)
                return [*done, *made], [flag]
            if _ends(node):
                rest = []
            if isinstance(node, ast.If):
                made, flags, rest = self._if(node, rest)
            else:
                made, flags = self._other(node)
            done += made
            if flags and rest:
                lowered, more = self.block(rest)
                return [*done, _guard(flags, lowered, rest[0])], list(dict.fromkeys([*flags, *more]))
            if not rest:
                return done, flags
        return done, []

    def _jump(self, node: ast.stmt) -> tuple[list[ast.stmt], str]:
        made = []
        if isinstance(node, ast.Return):
            flag = RETURNED
            made.append(assign(RESULT, node.value or constant(None), node))
        else:
            flag = self._loops[-1][isinstance(node, ast.Continue)]
        return [*made, assign(flag, constant(True), node)], flag

    def _if(self, node: ast.If, rest: list[ast.stmt]) -> tuple[list[ast.stmt], list[str], list[ast.stmt]]:
        """As `block`, with what still follows: that moves into a branch where the other one never comes to its end."""
        body_ends, orelse_ends = _never_pass(node.body), _never_pass(node.orelse)
        body, orelse = node.body, node.orelse
        if body_ends != orelse_ends:
            body, orelse = (body, orelse + rest) if body_ends else (body + rest, orelse)
            rest = []
        node.body, body_flags = self.block(body)
        node.orelse, orelse_flags = self.block(orelse)
        return [node], list(dict.fromkeys([*body_flags, *orelse_flags])), rest

    def _other(self, node: ast.stmt) -> tuple[list[ast.stmt], list[str]]:
        if isinstance(node, SCOPES):
            return [node], []
        if isinstance(node, LOOPS):
            return self._loop(node)
        flags: dict[str, None] = {}
        for field in _BLOCKS:
            block = getattr(node, field, None)
            if isinstance(block, list) and block:
                lowered, found = self.block(block)
                if field == "orelse" and flags:
                    lowered = [_guard(list(flags), lowered, block[0])]
                setattr(node, field, lowered)
                flags.update(dict.fromkeys(found))
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            part.body, found = self.block(part.body)
            flags.update(dict.fromkeys(found))
        return [node], list(flags)

    def _loop(self, node: ast.For | ast.While) -> tuple[list[ast.stmt], list[str]]:
        number = next(self._numbers)
        broke, skipped = f"ag__break_{number}", f"ag__continue_{number}"
        breaks, skips = (_has(node.body, (kind,), own_loop=True) for kind in (ast.Break, ast.Continue))
        returns = _has(node.body, (ast.Return,))
        self._loops.append((broke, skipped))
        body, _ = self.block(node.body)
        self._loops.pop()
        node.body = [assign(skipped, constant(False), node), *body] if skips else body
        stops = [flag for flag, is_set in ((broke, breaks), (RETURNED, returns)) if is_set]
        node.stops = stops
        made: list[ast.stmt] = [assign(broke, constant(False), node)] if breaks else []
        made.append(node)
        flags = [RETURNED] if returns else []
        if node.orelse:
            orelse, node.orelse = node.orelse, []
            lowered, more = self.block(orelse)
            if stops:
                lowered = [_guard(stops, lowered, orelse[0])]
            made += lowered
            flags = list(dict.fromkeys([*flags, *more]))
        return made, flags


def _is_plain(body: list[ast.stmt]) -> bool:
    """Whether the only jump is a `return` at the end."""
    jumps = (ast.Return, ast.Break, ast.Continue)
    ends = body and isinstance(body[-1], ast.Return)
    return not _has(body[:-1] if ends else body, jumps) and not any(loop.orelse for node in body for loop in _loops_in(node))


def _loops_in(node: ast.AST) -> list[ast.For | ast.While]:
    return [each for each in ast.walk(node) if isinstance(each, LOOPS)]


def without_jumps(body: list[ast.stmt], no_result: ast.expr, result: ast.expr) -> list[ast.stmt]:
    """The body of a function in which one `return` at the end is the only jump.

    Args:
      body: statements; they are changed. no_result: the value of `ag__result` before one is known. result: what is returned at the end.

    Returns:
      statements; each loop has an attribute `stops`, the flags that end it.
    """
    if _is_plain(body):
        for node in body:
            for loop in _loops_in(node):
                loop.stops = []
        return body
    lowered, _ = _Lowering().block(body)
    used = {node.id for each in lowered for node in ast.walk(each) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    used |= {flag for each in lowered for loop in _loops_in(each) for flag in getattr(loop, "stops", ())}
    used.add(RESULT)
    if RETURNED in used:
        lowered.insert(0, assign(RETURNED, constant(False), body[0]))
    if any(isinstance(node, ast.Name) and node.id == RESULT for each in lowered for node in ast.walk(each)):
        lowered.insert(0, assign(RESULT, no_result, body[0]))
        end = ast.Return(value=result)
        lowered.append(ast.fix_missing_locations(ast.copy_location(end, body[-1])))
    return [_without_unread(node, used) for node in lowered]


class _Unread(ast.NodeTransformer):
    """Removes the assignments to flags that nothing reads."""

    def __init__(self, used: set[str]) -> None:
        self._used = used

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id.startswith("ag__") and target.id not in self._used:
            return ast.copy_location(ast.Pass(), node)
        return node


def _without_unread(node: ast.stmt, used: set[str]) -> ast.stmt:
    return _Unread(used).visit(node)
