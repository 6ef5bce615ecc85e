"""Draws a program of `sequence_programs` from a seed: 5 to 60 statements, then 12 to 60 runs. Python 3.7 reads this.

Sizes are numbers, or words for sizes that a run decides ("n" and "m" of what is fed, others for what is computed of values).
"""

from generated.sequence_programs import BARRIER, Program, Run, Statement
from generated.sequence_scopes import ALL, FLOATS, PURE, SIZES, WORDS, Scopes

SMOOTH = (
    "tf.tanh(%s)", "tf.sigmoid(%s)", "tf.sin(%s)", "-%s", "tf.square(tf.tanh(%s))", "tf.nn.relu(%s - 0.3)", "tf.nn.softplus(%s)", "tf.sqrt(tf.abs(%s) + 0.5)",
    "tf.clip_by_value(%s, -1., 1.)", "tf.nn.elu(%s)", "tf.abs(%s)", "tf.exp(-tf.abs(%s))", "tf.log1p(tf.abs(%s))", "tf.stop_gradient(%s)", "%s / 2.", "tf.identity(%s)",
    "tf.floor(%s)", "tf.nn.leaky_relu(%s)", "tf.where(tf.is_nan(%s), tf.ones_like(%s), %s)", "tf.rsqrt(tf.abs(%s) + 1.)", "tf.zeros_like(%s) + 0.5",
)  # fmt: skip
PAIRS = (
    "%s + %s", "%s - %s", "tf.tanh(%s) * tf.tanh(%s)", "tf.maximum(%s, %s)", "tf.minimum(%s, %s)", "tf.squared_difference(tf.tanh(%s), tf.tanh(%s))",
    "tf.tanh(%s) / (tf.abs(%s) + 1.)", "tf.add_n([%s, %s])", "tf.atan2(%s, tf.abs(%s) + 0.1)",
)  # fmt: skip
WHOLE = ("%s + 1", "-%s", "%s * 3", "tf.floormod(%s, 7)", "%s // 3", "tf.abs(%s)", "tf.bitwise.bitwise_xor(%s, tf.ones_like(%s))", "tf.square(%s)", "tf.sign(%s)")
WHOLE_PAIRS = ("%s + %s", "%s - %s", "%s * %s", "tf.maximum(%s, %s)", "tf.floormod(%s, tf.abs(%s) + 2)", "%s // (tf.abs(%s) %% 5 + 1)")


class Drawing(Scopes):
    """Draws one program. `tensors` of a scope are (name, (dtype, sizes)).

    A run that fails has no effects here, and in 1.15 those that came before the failure. So what may raise comes before all that acts, or nothing acts.
    "PURE" programs have no effects; `doubtful` are tensors that may be dead.
    """

    # Statements

    def step(self):
        """Adds one drawn statement, if the draw fits what there is."""
        scope, depth = self.scopes[-1], len(self.scopes)
        makers = [self.smooth, self.smooth, self.pair, self.pair, self.whole, self.reduction, self.shaping, self.shaping, self.text, self.sparse, self.compared, self.large, self.sized]
        if depth == 1:
            makers += [self.gradient] * 3 + [self.placeholder] * 2 + [self.tower, self.second_gradient]
            makers += [self.failure, self.dead] if scope.allowed == PURE else [self.variable, self.iterator]
        if depth < 4:
            makers += [self.cond] * (4 if depth == 1 else 2) + [self.case, self.loop, self.loop, self.mapped, self.scanned, self.array_loop, self.merged]
        if scope.allowed == ALL:
            makers += [self.read, self.update, self.update, self.scatter, self.next, self.random_number, self.python, self.queue, self.dropout, self.switched_update]
        self.random.choice(makers)()

    def floats(self):
        return self.find(lambda d, s: d in FLOATS)

    def smooth(self):
        found = self.floats()
        if found:
            text = self.pick(*SMOOTH)
            self.let(text % ((found[0],) * text.count("%s")), *found[1])

    def pair(self):
        found = self.floats()
        if found:
            text = self.pick(*PAIRS)
            self.let(text % (found[0], self.some(*found[1])), *found[1])

    def whole(self):
        found = self.find(lambda d, s: d in ("int32", "int64"))
        if found:
            text = self.pick(*WHOLE)
            self.let(text % ((found[0],) * text.count("%s")), *found[1])
            text = self.pick(*WHOLE_PAIRS)
            self.let(text % (found[0], self.some(*found[1])), *found[1])

    def compared(self):
        self.predicate()

    def reduction(self):
        found = self.find(lambda d, s: d in FLOATS and len(s) > 0)
        if not found:
            return
        name, (dtype, sizes) = found
        axis = self.random.randrange(len(sizes))
        left = sizes[:axis] + sizes[axis + 1 :]
        kind = self.pick("sum", "mean", "max", "min", "all", "keep", "arg", "cumsum", "softmax", "norm")
        if kind == "all":
            self.let("tf.reduce_mean(%s)" % name, dtype, ())
        elif kind == "keep":
            self.let("%s - tf.reduce_mean(%s, %d, keepdims=True)" % (name, name, axis), dtype, sizes)
        elif kind == "arg":
            self.let("tf.argmax(tf.floor(%s * 4.), %d)" % (name, axis), "int64", left)
        elif kind == "cumsum":
            self.let("tf.cumsum(%s, %d, reverse=%r) / 4." % (name, axis, self.pick(True, False)), dtype, sizes)
        elif kind == "softmax":
            self.let("tf.nn.%s(%s)" % (self.pick("softmax", "log_softmax"), name), dtype, sizes)
        elif kind == "norm":
            self.let("tf.nn.l2_normalize(%s + 2., %d)" % (name, axis), dtype, sizes)
        else:
            self.let("tf.reduce_%s(%s, %d)" % (kind, name, axis), dtype, left)

    def shaping(self):
        found = self.find(lambda d, s: len(s) == 2 and d in FLOATS) if self.chance(0.7) else self.find(lambda d, s: len(s) == 1)
        if not found:
            return
        name, (dtype, sizes) = found
        first = sizes[0]
        self.pick(
            lambda: self.let("%s[:1]" % name, dtype, (self.new_size(),) + sizes[1:]),
            lambda: self.let("%s[1:]" % name, dtype, (self.new_size(),) + sizes[1:]),
            lambda: is_filled(sizes) and self.let("%s[-1]" % name, dtype, sizes[1:]),
            lambda: self.let("tf.concat([%s, %s], 0)" % (name, self.some(dtype, sizes)), dtype, (self.new_size(),) + sizes[1:]),
            lambda: self.let("tf.reverse(%s, [0])" % name, dtype, sizes),
            lambda: self.let("tf.reshape(%s, [-1])" % name, dtype, sizes if len(sizes) == 1 else (self.new_size(),)),
            lambda: self.let("tf.shape(%s)%s" % (name, self.pick("", ", out_type=tf.int64") and ""), "int32", (len(sizes),)),
            lambda: self.let("tf.shape(%s)[0]" % name, "int32", ()),
            lambda: self.let("tf.boolean_mask(%s, tf.equal(tf.range(tf.shape(%s)[0]) %% 2, 0))" % (name, name), dtype, (self.new_size(),) + sizes[1:]),
            lambda: is_filled(sizes) and self.let("tf.gather(%s, tf.floormod(%s, tf.shape(%s)[0]))" % (name, self.some("int32", (3,)), name), dtype, (3,) + sizes[1:]),
            lambda: len(sizes) == 2 and self.let("tf.transpose(%s)" % name, dtype, sizes[::-1]),
            lambda: len(sizes) == 2 and isinstance(sizes[1], int) and self.let("tf.matmul(%s, %s)" % (name, self.some(dtype, (sizes[1], 2))), dtype, (first, 2)),
            lambda: len(sizes) == 2 and self.let("tf.matmul(%s, %s, transpose_b=True)" % (name, name), dtype, (first, first)),
            lambda: dtype in FLOATS and self.let("tf.pad(%s, %r)" % (name, [[1, 1]] + [[0, 0]] * (len(sizes) - 1)), dtype, (self.new_size(),) + sizes[1:]),
            lambda: self.let("tf.tile(%s, %r)" % (name, [2] + [1] * (len(sizes) - 1)), dtype, (self.new_size(),) + sizes[1:]),
            lambda: dtype in FLOATS and self.let("tf.where(tf.sequence_mask(%s, tf.shape(%s)[0]), %s, %s / 2.)" % ("tf.shape(%s)[0] // 2" % name, name, name, name), dtype, sizes),
            lambda: dtype in FLOATS and self.let("tf.segment_sum(%s, tf.range(tf.shape(%s)[0]) // 2)" % (name, name), dtype, (self.new_size(),) + sizes[1:]),
            lambda: dtype in FLOATS and self.let("tf.unsorted_segment_sum(%s, tf.range(tf.shape(%s)[0]) %% 3, 3)" % (name, name), dtype, (3,) + sizes[1:]),
            lambda: dtype in FLOATS and len(sizes) == 1 and self.let("tf.sort(%s)" % name, dtype, sizes),
            lambda: dtype == "int32" and len(sizes) == 1 and self.let("tf.unique(%s)[0]" % name, dtype, (self.new_size(),)),
            lambda: is_filled(sizes) and self.let("tf.dynamic_stitch([tf.range(tf.shape(%s)[0]), [0]], [%s, %s[-1:]])" % (name, name, name), dtype, sizes),
            lambda: dtype in FLOATS and self.let("tf.stack([%s, %s])[1]" % (name, self.some(dtype, sizes)), dtype, sizes),
            lambda: dtype in FLOATS and self.let("tf.cast(%s, %r)" % (name, self.pick(*FLOATS)), dtype, sizes) and self.scopes[-1].tensors.pop(),
        )()

    def sized(self):
        """What is made of a size."""
        count = self.find(lambda d, s: d == "int32" and s == ())
        if not count:
            return
        few = "tf.floormod(%s, 6) + 1" % count[0]
        self.pick(
            lambda: self.let("tf.range(%s)" % few, "int32", (self.new_size(),)),
            lambda: self.let("tf.fill([%s], 0.5)" % few, "float32", (self.new_size(),)),
            lambda: self.let("tf.one_hot(%s, 4)" % count[0], "float32", (4,)),
            lambda: self.let("tf.linspace(0., 1., %s)" % few, "float32", (self.new_size(),)),
            lambda: self.let("tf.cast(%s, tf.float32) / 8." % count[0], "float32", ()),
            lambda: self.let("tf.ones([%s, 3]) * %s" % (few, self.some("float32", (3,))), "float32", (self.new_size(), 3)),
            lambda: self.let("tf.zeros([%s, 3]) + %s" % (few, self.some("float32", ())), "float32", (self.new_size(), 3)),
        )()

    def large(self):
        """Constants of more than 1,024 elements, and what folding makes of fed values."""
        sizes, scalar, p = (self.pick(1500, 2000),), self.some("float32", ()), self.predicate()
        big = self.some("float32", sizes)
        self.pick(
            lambda: self.let("tf.reduce_sum(tf.where(tf.fill([%d], %s), %s, %s * %s)) / 100." % (sizes[0], p, big, big, scalar), "float32", ()),
            lambda: self.let("%s * %s" % (big, scalar), "float32", sizes),
            lambda: self.let("tf.fill([%d], %s)" % (sizes[0], scalar), "float32", sizes),
            lambda: self.let("tf.where(tf.fill([%d], %s), %s, -%s)" % (sizes[0], p, big, big), "float32", sizes),
            lambda: self.let("tf.gather(%s, tf.floormod(%s, 1500))" % (big, self.some("int32", (3,))), "float32", (3,)),
        )()

    def text(self):
        word, number = self.find(lambda d, s: d == "string"), self.find(lambda d, s: d in ("int32", "int64"))
        if word:
            name, (_, sizes) = word
            self.pick(
                lambda: self.let("tf.string_join([%s, %s], '-')" % (name, self.some("string", sizes)), "string", sizes),
                lambda: self.let("tf.strings.length(%s)" % name, "int32", sizes),
                lambda: self.let("tf.string_to_hash_bucket_fast(%s, 50)" % name, "int64", sizes),
                lambda: self.let("tf.regex_replace(%s, '[aeiou]', '*')" % name, "string", sizes),
                lambda: self.let("tf.equal(%s, 'train')" % name, "bool", sizes),
                lambda: len(sizes) == 1 and self.let("tf.string_split(%s, ' ').values" % name, "string", (self.new_size(),)),
                lambda: len(sizes) == 1 and self.let("tf.reduce_join(%s, 0)" % name, "string", ()),
            )()
        if number and self.chance(0.4):
            self.let("tf.as_string(%s)" % number[0], "string", number[1][1])

    def sparse(self):
        found = self.find(lambda d, s: d in FLOATS and len(s) == 2)
        if not found:
            return
        name, (dtype, sizes) = found
        where = "tf.where(tf.equal(tf.floormod(tf.cast(tf.floor(%s * 4.), tf.int32), 2), 0))" % name
        shape = "tf.shape(%s, out_type=tf.int64)" % name
        given = "tf.SparseTensor(%s, tf.gather_nd(%s, %s), %s)" % (where, name, where, shape)
        self.pick(
            lambda: self.let("tf.sparse.to_dense(%s)" % given, dtype, sizes),
            lambda: self.let("tf.sparse.reduce_sum(%s, 1)" % given, dtype, sizes[:1]),
            lambda: self.let("tf.sparse_tensor_dense_matmul(%s, %s, adjoint_b=True)" % (given, name), dtype, (sizes[0], sizes[0])),
            lambda: self.let(where, "int64", (self.new_size(), 2)),
            lambda: self.let("tf.sparse_tensor_to_dense(tf.sparse_transpose(%s))" % given, dtype, sizes[::-1]),
        )()

    # What decides

    def predicate(self):
        """The name of a bool of rank 0."""
        fed = self.find(lambda d, s: d == "bool" and s == ())
        if fed and self.chance(0.6):
            return fed[0]
        word = self.find(lambda d, s: d == "string" and s == ())
        number = self.find(lambda d, s: d in ("int32", "int64") and s == ())
        value = self.find(lambda d, s: d in FLOATS)
        options = [lambda: self.let("tf.constant(%r)" % self.pick(True, False), "bool", ())]
        if word:
            options += [lambda: self.let("tf.equal(%s, %r)" % (word[0], self.pick(*WORDS)), "bool", ())] * 2
        if number:
            options += [
                lambda: self.let("tf.equal(%s %% 3, %d)" % (number[0], self.pick(0, 1)), "bool", ()),
                lambda: self.let("%s > %d" % (number[0], self.pick(0, 2, 5)), "bool", ()),
            ]
        if value:
            options += [lambda: self.let("tf.reduce_sum(%s) > %s" % (value[0], self.pick("0.1", "0.3", "-0.2", "1.7")), "bool", ())]
            if value[1][1]:
                options += [lambda: self.let("tf.equal(tf.shape(%s)[0] %% %d, %d)" % (value[0], self.pick(2, 3, 10), self.pick(0, 1)), "bool", ())]
        if fed:
            options += [
                lambda: self.let("tf.logical_not(%s)" % fed[0], "bool", ()),
                lambda: self.let("tf.logical_%s(%s, %s)" % (self.pick("and", "or", "xor"), fed[0], fed[0]), "bool", ()),
            ]
        return self.random.choice(options)()

    def result_kind(self):
        """A kind that a value of several branches or rounds has."""
        found = self.floats() if self.chance(0.75) else self.find(lambda d, s: d != "bool")
        return found[1] if found else ("float32", ())

    def acting(self, text, kind, bodies, resources):
        return self.let(text, kind[0], kind[1], sorted(set(resources)), bodies)

    def cond(self):
        p, kind = self.predicate(), self.result_kind()
        if self.chance(0.25) and self.scopes[-1].allowed == ALL:
            self.pick(self.read, self.update, self.next, self.random_number, self.python)()  # acts outside of both branches
        one, f, acts = self.body((), kind, self.random.randint(0, 4))
        two, g, also = self.body((), kind, self.random.randint(0, 3))
        self.acting("tf.cond(tf.identity(%s), %s, %s)" % (p, f, g), kind, (one, two), acts + also)

    def case(self):
        kind, made = self.result_kind(), []
        bodies = [self.body((), kind, self.random.randint(0, 2)) for _ in range(3)]
        made, functions, acts = zip(*bodies)
        acts = [r for each in acts for r in each]
        number = self.find(lambda d, s: d == "int32" and s == ())
        if number and self.chance(0.4):
            self.acting("tf.switch_case(tf.identity(%s), [%s])" % (number[0], ", ".join(functions)), kind, made, acts)
        else:
            pairs = "[(tf.identity(%s), %s), (tf.identity(%s), %s)]" % (self.predicate(), functions[0], self.predicate(), functions[1])
            self.acting("tf.case(%s, default=%s)" % (pairs, functions[2]), kind, made, acts)

    def merged(self):
        """Merges of raw Switches."""
        found = self.floats()
        if not found:
            return
        name, kind = found
        number = self.find(lambda d, s: d == "int32" and s == ())
        if number and self.chance(0.6):
            inputs = "[tf.raw_ops.Switch(data=%s, pred=tf.equal(tf.floormod(%s, 4), c))[1] * 2. + c for c in range(%d)]" % (name, number[0], 4)
            self.let("tf.raw_ops.Merge(inputs=%s)[0]" % inputs, *kind)
        else:
            given = "(lambda d: tf.raw_ops.Merge(inputs=[d[0] * 2., d[1] + 3.]))(tf.raw_ops.Switch(data=%s, pred=%s))" % (name, self.predicate())
            self.pick(lambda: self.let(given + "[0]", *kind), lambda: self.let(given + "[1]", "int32", ()))()

    def dead(self):
        """A Merge that has a live input in some runs alone, and what is computed of it."""
        found, number = self.floats(), self.find(lambda d, s: d == "int32" and s == ())
        if found and number:
            inputs = "[tf.raw_ops.Switch(data=%s, pred=tf.equal(tf.floormod(%s, 4), c))[1] * 2. + c for c in range(3)]" % (found[0], number[0])
            self.let("tf.raw_ops.Merge(inputs=%s)[0]" % inputs, *found[1])
            self.scopes[0].tensors.pop()
            self.doubtful.append(self.scopes[0].statements[-1].name)

    def loop(self):
        kind = self.result_kind()
        start = self.some(*kind)
        limit = self.pick("3", "tf.floormod(%s, 4) + 1" % self.some("int32", ()), "6")
        more = self.pick("", "tf.reduce_sum(%s) < 5." if kind[0] in FLOATS else "")
        number = ("int32", ())
        test, f, _ = self.body((number, kind), None, 0, PURE, lambda n, x: [("tf.logical_and(%s < %s, " + more % x + ")" if more else "%s < %s") % (n, limit)])
        turn = lambda n, x: ["%s + 1" % n, "like(%s, %s)" % (self.value_in(kind), x)]  # noqa: E731
        body, g, acts = self.body((number, kind), None, self.random.randint(1, 4), extra=turn)
        self.acting("tf.while_loop(%s, %s, [tf.constant(0), %s])[%s]" % (f, g, start, "1"), kind, (test, body), acts)

    def value_in(self, kind):
        inner = [n for n, k in self.scopes[-1].tensors if k == kind]
        return self.random.choice(inner[-2:]) if inner else self.some(*kind)

    def array_loop(self):
        found = self.find(lambda d, s: d == "float32" and is_filled(s))
        if not found:
            return
        name, (_, sizes) = found
        count = self.pick("3", "tf.shape(%s)[0]" % name)
        grown = self.pick("size=%s" % count, "size=0, dynamic_size=True")
        turn = "tf.while_loop(lambda n, a: n < %s, lambda n, a: (n + 1, a.write(n, %s * tf.cast(n, tf.float32))), [0, tf.TensorArray(tf.float32, %s)])[1]" % (count, name, grown)
        given = "tf.TensorArray(tf.float32, size=tf.shape(%s)[0], infer_shape=False).unstack(%s)" % (name, name)
        self.pick(
            lambda: self.let(turn + ".stack()", "float32", (self.new_size(),) + sizes),
            lambda: self.let("tf.reshape(%s.concat(), [-1])" % turn, "float32", (self.new_size(),)),
            lambda: self.let(turn + ".read(1 - 1)", "float32", sizes),
            lambda: self.let(given + ".gather([0])", "float32", (1,) + sizes[1:]),
            lambda: self.let("tf.reduce_sum(%s.read(tf.shape(%s)[0] - 1))" % (given, name), "float32", ()),
        )()

    def mapped(self):
        found = self.find(lambda d, s: d in FLOATS and len(s) > 0)
        if found:
            name, (dtype, sizes) = found
            body, f, _ = self.body(((dtype, sizes[1:]),), (dtype, sizes[1:]), self.random.randint(1, 3), PURE)
            self.let("tf.map_fn(%s, %s)" % (f, name), dtype, sizes, (), (body,))

    def scanned(self):
        found = self.find(lambda d, s: d in FLOATS and is_filled(s))
        if found:
            name, (dtype, sizes) = found
            row = (dtype, sizes[1:])
            body, f, _ = self.body((row, row), None, self.random.randint(1, 2), PURE, lambda a, x: ["like(tf.tanh(%s + %s / 2.), %s)" % (a, self.value_in(row), a)])
            call, kind = self.pick(("tf.scan", sizes), ("tf.foldl", sizes[1:]))
            self.let("%s(%s, %s, tf.zeros_like(%s[0]))" % (call, f, name, name), dtype, kind, (), (body,))

    def tower(self):
        found = self.find(lambda d, s: d == "float32" and len(s) == 2)
        if found:
            body, f, _ = self.body((found[1],), found[1], self.random.randint(1, 4), PURE)
            self.let("towers(%s, %s, %s)" % (f, found[0], self.some(*found[1])), "float32", (), (), (body,))

    # Gradients

    def gradient(self):
        tops = [entry for entry in self.visible() if entry[1][0] in FLOATS]
        if not tops:
            return
        y = self.random.choice(tops[-5:])[0]
        self.needs = None
        behind = self.behind(y)
        bottoms = [entry for entry in tops if entry[0] in behind] or tops
        x = self.random.choice(bottoms)
        self.let("grad(%s, %s)" % (y, x[0]), *x[1])

    def second_gradient(self):
        made = [s for s in self.scopes[0].statements if s.text.startswith("grad(")]
        if made:
            chosen = self.random.choice(made)
            x = chosen.text[5:-1].split(", ")[1]
            self.let("grad(tf.reduce_sum(tf.square(%s)), %s)" % (chosen.name, x), *dict(self.visible())[x])

    def behind(self, name):
        """The names that a tensor depends on."""
        if self.needs is None:
            self.needs = self._needs()
        found, stack = {name}, [name]
        while stack:
            used = self.needs.get(stack.pop(), set()) - found
            found |= used
            stack += sorted(used)
        return found

    def _needs(self):
        """What each statement uses and waits for."""
        found, last, barrier = {}, {}, []
        for s in self.scopes[0].statements:
            found[s.name] = s.uses()
            if s.resources == (BARRIER,):
                found[s.name].update(barrier, *last.values())
                last, barrier = {}, [s.name]
                continue
            for resource in s.resources:
                found[s.name].update(last.get(resource, barrier))
                last[resource] = [s.name]
        return found

    # What acts

    def variable(self):
        dtype, sizes = self.pick("float32", "float32", "float64", "int32"), self.pick((), (3,), (4, 3), (4,))
        name = self.new("v")
        text = "tf.Variable(%s, use_resource=%s)" % (self.array(dtype, sizes), self.pick("True", "False"))
        self.scopes[0].statements.append(Statement(name, text, ("variable", (dtype, sizes))))
        self.variables.append((name, dtype, sizes))

    def some_variable(self, test=lambda dtype, sizes: True):
        found = [v for v in self.variables if test(*v[1:])]
        return self.random.choice(found) if found else None

    def read(self):
        found = self.some_variable()
        if found:
            name, dtype, sizes = found
            self.let("tf.add(%s, tf.constant(%s, %r))" % (name, "1", dtype), dtype, sizes, [name])

    def update(self):
        found = self.some_variable()
        if found:
            name, dtype, sizes = found
            value = self.some(dtype, sizes)
            value = "tf.tanh(%s)" % value if dtype in FLOATS else value + " % 5"
            text = self.pick("%s.assign_add(%s)", "%s.assign(%s)", "%s.assign_sub(%s)", "tf.assign_add(%s, %s)") % (name, value)
            self.let("tf.add(%s, tf.constant(1, %r))" % (text, dtype), dtype, sizes, [name])

    def scatter(self):
        found = self.some_variable(lambda dtype, sizes: dtype in FLOATS and sizes and sizes[0] == 4)
        if found:
            name, dtype, sizes = found
            rows = self.some(dtype, (3,) + sizes[1:])
            text = "tf.%s(%s, tf.floormod(%s, 4), tf.tanh(%s))" % (self.pick("scatter_add", "scatter_sub"), name, self.some("int32", (3,)), rows)
            self.let("tf.add(%s, tf.constant(1, %r))" % (text, dtype), dtype, sizes, [name])

    def switched_update(self):
        """A conditional, made of its parts, over a value that acts."""
        found = self.some_variable(lambda dtype, sizes: dtype in FLOATS)
        if found:
            name, dtype, sizes = found
            given = "tf.raw_ops.Switch(data=tf.add(%s.assign_add(%s), 1), pred=%s)" % (name, "tf.ones_like(%s)" % name, self.predicate())
            self.let("(lambda d: tf.raw_ops.Merge(inputs=[d[0] * 2., d[1] + 3.])[0])(%s)" % given, dtype, sizes, [name])

    def status(self):
        """A variable that is initialized late, and a conditional that asks for it."""
        name = self.new("v")
        self.scopes[0].statements.append(Statement(name, "tf.Variable(%s, use_resource=%s)" % (self.array("float32", (3,)), self.pick("True", "False")), ("late", ())))
        self.inits.append("%s.initializer" % name)
        asked = "tf.is_variable_initialized(%s)" % name
        if self.chance(0.5):
            self.let(asked, "bool", (), [BARRIER])
        else:
            self.let("tf.cond(%s, lambda: tf.add(%s, 1.), lambda: tf.fill([3], -1.))" % (asked, name), "float32", (3,), [BARRIER])

    def random_number(self):
        found, seed = self.floats(), self.random.randint(1, 99)
        sizes, shape = (found[1][1], "tf.shape(%s)" % found[0]) if found and self.chance(0.7) else ((3,), "[3]")
        kind = self.pick("uniform", "normal", "truncated_normal", "int")
        text = "tf.random_uniform(%s, 0, 9, tf.int32, seed=%d)" if kind == "int" else "tf.random_" + kind + "(%s, seed=%d)"
        text = text.replace("random_truncated", "truncated")
        self.let(text % (shape, seed), "int32" if kind == "int" else "float32", sizes, [self.new("r")])

    def dropout(self):
        found = self.find(lambda d, s: d == "float32" and len(s) > 0)
        if found:
            text = "tf.layers.dropout(%s, 0.4, seed=%d, training=%s)" % (found[0], self.random.randint(1, 99), self.predicate())
            self.let(text, *found[1], resources=[self.new("r")])

    def python(self):
        found = self.find(lambda d, s: d == "float32")
        if found:
            self.let("like(tf.py_func(counting(), [%s], tf.float32), %s)" % (found[0], found[0]), *found[1], resources=[self.new("y")])

    def queue(self):
        found = self.find(lambda d, s: d == "float32")
        if found and len(self.scopes) == 1:
            name = self.new("q")
            self.scopes[0].statements.append(Statement(name, "tf.FIFOQueue(1000, [tf.float32])", ("queue", ())))
            text = "tf.identity(after([%s.enqueue([%s])], lambda: tf.zeros([])))" % (name, found[0])
            self.let(text, "float32", (), [name])
            self.let("tf.reduce_sum(%s.dequeue())" % name, "float32", (), [name])
            self.let("%s.size()" % name, "int32", (), [name])

    def iterator(self, ends=False):
        name = self.new("i")
        source = self.pick("tf.data.Dataset.range(100)", "tf.data.Dataset.range(7)", "tf.data.Dataset.from_tensor_slices(np.arange(12, dtype=np.int64))")
        steps = [".map(lambda i: i * i + 1)", ".filter(lambda i: tf.equal(i % 2, 0))", ".shuffle(5, seed=3)", ".map(lambda i: tf.cond(i > 3, lambda: i, lambda: -i))", ".skip(1)",
                 ".batch(2).map(lambda i: tf.reduce_sum(i))", ".take(5)", ".interleave(lambda i: tf.data.Dataset.range(i % 3 + 1), 2)", ".apply(tf.data.experimental.scan(np.int64(0), lambda s, i: (s + i, s + i)))"]  # fmt: skip
        text = source + "".join(self.random.sample(steps, self.random.randint(0, 3)))
        text += "" if ends else ".repeat()"
        maker = "make_initializable_iterator" if "scan" in text or ends else self.pick("make_one_shot_iterator", "make_initializable_iterator")
        self.scopes[0].statements.append(Statement(name, "%s.%s()" % (text, maker), ("iterator", ())))
        if maker == "make_initializable_iterator":
            self.inits.append("%s.initializer" % name)
        self.iterators.append((name, ends))
        self.next(name)

    def next(self, name=None):
        fitting = [i for i in self.iterators if i[0] == name or name is None and not (i[1] and len(self.scopes) > 1)]
        if fitting:
            name, ends = self.random.choice(fitting)
            self.let("%s.get_next()" % name, "int64", (), [BARRIER] if ends else [name])
            self.let("tf.cast(%s %% 9, tf.float32) / 8." % self.scopes[-1].tensors[-1][0], "float32", ())

    def failure(self):
        """What raises in some runs. Everything waits for it."""
        found = self.find(lambda d, s: d in FLOATS and len(s) > 0)
        if found:
            name, (dtype, sizes) = found
            p = self.predicate()
            self.pick(
                lambda: self.let("after([tf.Assert(tf.logical_or(%s, tf.reduce_sum(%s) < 2.5), [%s])], lambda: tf.identity(%s))" % (p, name, name, name), dtype, sizes, [BARRIER]),
                lambda: self.let("tf.check_numerics(tf.log(tf.reduce_mean(%s) + 0.7) + %s, 'here')" % (name, name), dtype, sizes, [BARRIER]),
                lambda: is_filled(sizes) and self.let("tf.gather(%s, tf.cast(tf.reduce_sum(%s) > 3., tf.int32) * 100)" % (name, name), dtype, sizes[1:], [BARRIER]),
            )()

    def placeholder(self):
        dtype = self.pick("float32", "float32", "float32", "bool", "bool", "int32", "string", "int64", "float64")
        sizes = self.pick((), ("n",), ("n", 3), ("n", "m"), (4, 3), (3,)) if dtype in FLOATS else self.pick((), (), (3,), ("n",))
        fed = [None if isinstance(n, str) else n for n in sizes]
        shape = self.pick(repr(fed), repr([None] * len(fed)), "None" if self.chance(0.4) else repr(fed))
        if self.chance(0.2) and all(isinstance(n, int) for n in sizes):
            name = self.let("tf.placeholder_with_default(%s, %s)" % (self.array(dtype, sizes), shape), dtype, sizes, letter="p")
        else:
            name = self.let("tf.placeholder(tf.%s, %s)" % (dtype, shape), dtype, sizes, letter="p")
        self.placeholders.append((name, dtype, sizes))

    # A whole program

    def program(self):
        for _ in range(self.random.randint(2, 5)):
            self.placeholder()
        if self.chance(0.15):
            self.scopes[0].allowed = PURE
        else:
            for _ in range(self.pick(0, 0, 1, 2)):
                self.pick(self.failure, self.failure, self.status, lambda: self.iterator(ends=True))()
            for _ in range(self.random.randint(0, 3)):
                self.variable()
        steps = self.random.randint(5, self.pick(12, 25, 50))
        for _ in range(steps):
            if len(self.scopes[0].statements) < 60:
                self.step()
        return Program(self.scopes[0].statements, self.runs(), self.config, self.random.randint(0, 99))

    def runs(self):
        """12 to 60 runs: the initializer, then fetches and feeds that change."""
        self.needs = None
        tensors = [name for name, _ in self.scopes[0].tensors if name[0] != "p"] or [name for name, _ in self.scopes[0].tensors]
        groups = [self.random.sample(tensors, min(len(tensors), self.random.randint(1, 4))) for _ in range(self.random.randint(1, 4))] + [tensors[-3:]]
        groups += [[name] for name in self.doubtful]
        found = [Run("run", ["tf.global_variables_initializer()"] if not self.inits else [], [])]
        started = [v[0] + ".initializer" for v in self.variables] + [i for i in self.inits if i[0] == "i"]
        found = [Run("run", started, [])] if started else []
        late = [i for i in self.inits if i[0] == "v"]
        count, sizes, feeds = self.random.randint(12, self.pick(20, 30, 60)), self.new_sizes(), {}
        for step in range(count):
            if self.chance(0.35):
                sizes, feeds = self.new_sizes(), {}
            if self.inits and self.chance(0.06):
                found.append(Run("run", [self.random.choice(self.inits)], []))
            if late and step == count // 2:
                found.append(Run("run", [late.pop()], []))
            group = list(self.random.choice(groups))
            if self.chance(0.1):
                self.random.shuffle(group)
            if self.chance(0.1):
                group = group[: self.random.randint(1, len(group))]
            found.append(self.run(group, sizes, feeds))
        return found

    def new_sizes(self):
        return {"n": self.random.choice(SIZES), "m": self.pick(1, 2, 3, 5)}

    def run(self, group, sizes, feeds):
        """One run. feeds: those of the runs before that have the same sizes; some are kept."""
        needed = set().union(*[self.behind(name) for name in group])
        whole = self.chance(0.4)
        given = []
        for name, dtype, shape in self.placeholders:
            if name not in feeds or self.chance(0.5):
                feeds[name] = self.array(dtype, [sizes.get(n, n) for n in shape])
            if whole or name in needed:
                given.append((name, feeds[name]))
        if self.chance(0.1):
            self.random.shuffle(given)
        if self.chance(0.06):
            given = self.misused(given, sizes)
        elif self.chance(0.05):
            override = self.find(lambda d, s: all(isinstance(n, int) for n in s) and d != "bool")
            if override and override[0][0] == "t":
                given.append((override[0], self.array(override[1][0], override[1][1])))
        call = "callable" if self.chance(0.15) else "dict" if self.chance(0.1) else "run"
        return Run(call, group, given)

    def misused(self, given, sizes):
        """Feeds that are refused before anything runs: one of the wrong dtype, or a tensor."""
        if not given:
            return given
        at = self.random.randrange(len(given))
        return given[:at] + [(given[at][0], self.pick("np.array(['x'])", "tf.constant(1.)", "None"))] + given[at + 1 :]


def is_filled(sizes):
    """Whether there is a first row in every run."""
    return len(sizes) > 0 and not str(sizes[0]).startswith("d")


def draw(seed):
    """The program of a seed."""
    return Drawing(seed).program()
