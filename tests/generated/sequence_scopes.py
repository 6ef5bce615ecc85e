"""What `sequence_drawing` draws with: choices, tensors that can be seen, and bodies of functions. Python 3.7 reads this."""

import random

from generated.sequence_programs import Statement

FLOATS = ("float32", "float64")
WORDS = ("train", "eval", "test", "a b", "")
SIZES = (1, 2, 3, 4, 5, 7, 8, 11, 13, 16)
ALL, PURE = "all", "pure"
"""What statements of a body may be: any, or those without effects."""


class Scope:
    def __init__(self, allowed):
        self.allowed, self.tensors, self.statements, self.resources = allowed, [], [], set()


class Scopes:
    """Random choices, and the statements of the program and of the bodies around the one that is drawn. `tensors` of a scope are (name, (dtype, sizes))."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.number, self.fresh_size, self.needs = 0, 0, None
        self.scopes = [Scope(ALL)]
        self.placeholders, self.variables, self.iterators, self.inits, self.doubtful = [], [], [], [], []
        self.config = "configuration(%s)" % self.pick("True", "False", "False", "False")

    # Choices

    def pick(self, *options):
        return self.random.choice(options)

    def chance(self, probability):
        return self.random.random() < probability

    def new(self, letter="t"):
        self.number += 1
        return "%s%d" % (letter, self.number)

    def new_size(self):
        self.fresh_size += 1
        return "d%d" % self.fresh_size

    def visible(self):
        return [entry for scope in self.scopes for entry in scope.tensors]

    def find(self, test):
        """A tensor (name, kind) whose kind passes, recent ones more often; None where there is none."""
        fitting = [entry for entry in self.visible() if test(*entry[1])]
        if not fitting:
            return None
        return self.random.choice(fitting[-4:] if self.chance(0.6) else fitting)

    def some(self, dtype, sizes):
        """The name of a tensor of a kind: one that there is, or a constant (where all sizes are numbers)."""
        found = self.find(lambda d, s: d == dtype and s == sizes)
        if found and not (self.chance(0.1) and all(isinstance(n, int) for n in sizes)):
            return found[0]
        return self.constant(dtype, sizes)

    def constant(self, dtype, sizes):
        return self.let("tf.constant(%s)" % self.array(dtype, sizes), dtype, sizes)

    def array(self, dtype, sizes):
        """The source text of an array."""
        count = 1
        for n in sizes:
            count *= n
        if count > 40:
            numbers = "(np.arange(%d) %% %d - %d)" % (count, self.pick(5, 7, 11), self.pick(0, 2, 3))
            return "%s.reshape(%r).astype(%r)" % ("(%s / 4.)" % numbers if dtype in FLOATS else numbers, tuple(sizes), dtype)
        draw = {
            "bool": lambda: self.pick(True, False), "string": lambda: self.pick(*WORDS), "int32": lambda: self.random.randint(-3, 9),
            "int64": lambda: self.random.randint(-3, 9),
        }.get(dtype, lambda: self.random.randint(-12, 12) / 8.0)  # fmt: skip
        values = [draw() for _ in range(count)]
        if not sizes:
            return repr(values[0]) if dtype in ("bool", "string") else "np.%s(%r)" % (dtype, values[0])
        kind = "object" if dtype == "string" else dtype
        shape = "" if len(sizes) == 1 else ".reshape(%r)" % (tuple(sizes),)
        return "np.array(%r, %r)%s" % (values, kind, shape)

    # Statements

    def let(self, text, dtype, sizes, resources=(), bodies=(), letter="t"):
        """Adds a statement of a tensor; its name."""
        name = self.new(letter)
        for scope in self.scopes:
            scope.resources.update(resources)
        self.scopes[-1].statements.append(Statement(name, text, (dtype, tuple(sizes)), resources, bodies))
        self.scopes[-1].tensors.append((name, (dtype, tuple(sizes))))
        return name

    def body(self, parameters, result, count, allowed=ALL, extra=None):
        """A function whose statements may use everything outside: ((head, statements, return), name, resources).

        parameters: kinds. result: a kind, or None to let `extra(names of parameters)` give the text that is returned.
        """
        name, given = self.new("f"), [(self.new("x"), kind) for kind in parameters]
        self.scopes.append(Scope(PURE if allowed == PURE or self.scopes[-1].allowed == PURE else ALL))
        self.scopes[-1].tensors += given
        for _ in range(count):
            self.step()
        if extra is None:
            inner = [n for n, kind in self.scopes[-1].tensors if kind == result]
            value = self.random.choice(inner) if inner and self.chance(0.8) else self.some(*result)
            texts = [value]
        else:
            texts = extra(*[n for n, _ in given])
        scope = self.scopes.pop()
        if scope.resources:
            texts = ["order.after(%s)" % t for t in texts]
        returned = "return " + (texts[0] if len(texts) == 1 else "[%s]" % ", ".join(texts))
        return ("def %s(%s):" % (name, ", ".join(n for n, _ in given)), scope.statements, returned), name, sorted(scope.resources)
