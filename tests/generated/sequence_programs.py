"""Programs as source text that can be cut: statements with bodies, then runs of one session. Python 3.7 reads this.

A program's effects are ordered: each statement that acts on a resource waits, through `order`, for the last one that did, and a statement that may
raise waits for all and all wait for it. So no value, also after a failed run, depends on which kernel is first.
"""

import re

PRELUDE = '''
class Order:
    """The last operations on each resource; what acts on it next waits for them. A barrier is an operation on everything."""

    def __init__(self):
        self.last, self.barrier = {}, []

    def waiting(self, *names):
        found = [t for n in names for t in self.last.get(n, self.barrier)]
        return tf.control_dependencies(found if names else self.barrier + [t for each in self.last.values() for t in each])

    def note(self, tensor, *names):
        self.last.update({n: [tensor] for n in names})
        if not names:
            self.last, self.barrier = {}, [tensor]

    def after(self, tensor):
        with self.waiting():
            return tf.identity(tensor)


def grad(y, x):
    """The gradient of the sum of y, or zeros; as a tensor."""
    found = tf.gradients(y, x)[0]
    return tf.zeros_like(x) if found is None else tf.convert_to_tensor(found)


def like(new, old):
    """A loop's variable with the static shape that it began with."""
    new.set_shape(old.get_shape())
    return new


def towers(body, *values):
    """The sum of what a body gives on as many devices as there are values, and the mean of its gradients."""
    found, slopes = [], []
    for i, x in enumerate(values):
        with tf.device("/device:GPU:%d" % i), tf.variable_scope("tower", reuse=tf.AUTO_REUSE):
            found.append(body(x))
            slopes.append(grad(found[-1], x))
    return tf.add_n([tf.reduce_sum(t) for t in found]) + tf.reduce_mean(tf.stack([tf.reduce_sum(t) for t in slopes]))


def counting():
    """A function for py_func that counts its calls."""
    calls = []

    def count(x):
        calls.append(1)
        return np.asarray(x + len(calls), np.float32)

    return count


def after(operations, make):
    with tf.control_dependencies(operations):
        return make()


def configuration(rewrites):
    found = tf.ConfigProto(allow_soft_placement=True)
    found.graph_options.rewrite_options.disable_meta_optimizer = not rewrites
    return found


callables = {}


def kept(key, make):
    """The callable that was made for this key."""
    if key not in callables:
        callables[key] = make()
    return callables[key]


order = Order()
'''
NAME = re.compile(r"\b[a-z]\d+\b")
BARRIER = ""
"""The resource of statements that everything waits for."""


def names(text):
    """The names of a program's tensors, variables and functions in a text."""
    return set(NAME.findall(text))


class Statement:
    """`name` = `text`, after the functions of `bodies`: (line of the definition, statements, line of the return).

    kind: (dtype, sizes) of a tensor, or another word. resources: those that the statement acts on; BARRIER alone for everything.
    """

    def __init__(self, name, text, kind, resources=(), bodies=()):
        self.name, self.text, self.kind, self.resources, self.bodies = name, text, kind, tuple(resources), tuple(bodies)

    def lines(self):
        found = []
        for head, statements, result in self.bodies:
            found.append(head)
            inner = ["order = Order()"] if any(s.resources for s in statements) or "order." in result else []
            found += ["    " + line for line in inner + [line for s in statements for line in s.lines()] + [result]]
        if not self.resources:
            return [*found, "%s = %s" % (self.name, self.text)]
        listed = ", ".join(repr(r) for r in self.resources if r)
        found += ["with order.waiting(%s):" % listed, "    %s = %s" % (self.name, self.text)]
        return [*found, "order.note(%s%s)" % (self.name, ", " + listed if listed else "")]

    def uses(self):
        """The names in everything that would be lost with the statement."""
        found = names(self.text)
        for _, statements, result in self.bodies:
            found |= names(result).union(*[s.uses() for s in statements])
        return found

    def without(self, gone):
        """The statement without inner statements that use names that are gone, or None where it cannot be without; adds to `gone`."""
        bodies = []
        for head, statements, result in self.bodies:
            kept = _without(statements, gone)
            if names(result) & gone:
                gone.add(self.name)
            bodies.append((head, kept, result))
        if names(self.text) & gone or self.name in gone:
            gone.add(self.name)
            return None
        return Statement(self.name, self.text, self.kind, self.resources, bodies)

    def renamed(self, old, new):
        """The statement with another name in the place of one that it uses."""
        swap = lambda text: NAME.sub(lambda m: new if m.group() == old else m.group(), text)  # noqa: E731
        bodies = [(head, [s.renamed(old, new) for s in statements], swap(result)) for head, statements, result in self.bodies]
        return Statement(self.name, swap(self.text), self.kind, self.resources, bodies)

    def all(self):
        """The statement and those in its bodies."""
        return [self] + [inner for _, statements, _ in self.bodies for s in statements for inner in s.all()]


def _without(statements, gone):
    found = [s.without(gone) for s in statements]
    return [s for s in found if s is not None]


class Run:
    """One call of the session: `call` is "run", "callable" or "dict"; feeds are (name, expression); fetches are expressions."""

    def __init__(self, call, fetches, feeds):
        self.call, self.fetches, self.feeds = call, list(fetches), list(feeds)

    def line(self):
        feeds = ", ".join("%s: %s" % feed for feed in self.feeds)
        if self.call == "callable":
            made = "s.make_callable([%s], [%s])" % (", ".join(self.fetches), ", ".join(name for name, _ in self.feeds))
            return "kept(%r, lambda: %s)(%s)" % (made, made, ", ".join(value for _, value in self.feeds))
        if self.call == "dict":
            return "s.run({%s}, {%s})" % (", ".join("%r: %s" % (f, f) for f in self.fetches), feeds)
        return "s.run([%s], {%s})" % (", ".join(self.fetches), feeds)


class Program:
    """Statements and runs. `config`: the source text of the session's configuration."""

    def __init__(self, statements, runs, config, graph_seed):
        self.statements, self.runs, self.config, self.graph_seed = list(statements), list(runs), config, graph_seed

    def sources(self):
        """(name, source text) of each statement in turn."""
        return [(s.name, "\n".join(s.lines())) for s in self.statements]

    def text(self):
        """All that determines what the program gives."""
        return "\n".join([text for _, text in self.sources()] + [run.line() for run in self.runs] + [self.config, str(self.graph_seed)])

    def without(self, gone):
        """The program without these names and whatever needs them."""
        gone = set(gone)
        statements = _without(self.statements, gone)
        return Program(statements, self.runs_without(gone), self.config, self.graph_seed)

    def runs_without(self, gone):
        """The runs without what fetches or feeds these names."""
        found = [Run(r.call, [f for f in r.fetches if not names(f) & gone], [f for f in r.feeds if f[0] not in gone]) for r in self.runs]
        return [run for run in found if run.fetches]

    def with_runs(self, runs):
        return Program(self.statements, runs, self.config, self.graph_seed)

    def script(self, module="tensorflow"):
        """A script that runs alone and prints what each run gives."""
        lines = ["import numpy as np", "import %s as tf" % module, PRELUDE.rstrip(), "tf.set_random_seed(%d)" % self.graph_seed]
        lines += [line for _, source in self.sources() for line in source.split("\n")]
        lines += ["", "s = tf.Session(config=%s)" % self.config]
        for run in self.runs:
            lines += ["try:", "    print(%s)" % run.line(), "except Exception as e:", '    print(type(e).__name__, str(e).split("\\n")[0])']
        return "\n".join(lines) + "\n"
