"""What the tools for syntax trees say of some functions; run under `tfcompat run`, and under TensorFlow 1.15.5 for what is expected."""

import tensorflow as tf  # noqa: F401
from tensorflow.python.autograph.pyct import (
    anno,
    ast_util,
    cfg,
    compiler,
    inspect_utils,
    parser,
    qual_names,
    templates,
    transformer,
)
from tensorflow.python.autograph.pyct.static_analysis import activity, annos, liveness, reaching_definitions


def loops(a, b):
    for i in range(a):
        if i > b:
            continue
        while b:
            b = b - 1
            if b == 2:
                break
        else:
            b = i
    return b


def guarded(a, f):
    while a:
        try:
            if f(a):
                return a
            a = a.next
        except ValueError:
            a = None
        finally:
            f.close()
    return f


def scopes(x, y):
    total = x.first + y[0]
    y[total] = [x(z) for z in total]

    def inner(k):
        return k + total + x

    with open(y) as file:
        x.last = inner(file)
    spare = x
    del spare
    add = lambda u, v=y: u + v + x
    return add


def names(symbols):
    return sorted(map(str, symbols))


def analyzed(function):
    node, source = parser.parse_entity(function, ())
    info = transformer.EntityInfo(source, None, (), {})
    context = transformer.Context(info)
    node = qual_names.resolve(node)
    node = activity.resolve(node, context)
    graphs = cfg.build(node)
    node = reaching_definitions.resolve(node, context, graphs, reaching_definitions.Definition)
    return liveness.resolve(node, context, graphs), graphs


def text(node):
    return compiler.ast_to_source(node, include_encoding_marker=False).strip().split("\n")[0]


for function in (loops, guarded, scopes):
    node, graphs = analyzed(function)
    graph = graphs[node]
    print(function.__name__, sorted(map(repr, graph.exit)), names(g.name for g in graphs))
    for edge in sorted({(repr(n), repr(m)) for n in graph.index.values() for m in n.next}):
        print("   %s -> %s" % edge)
    pending = list(node.body)
    while pending:
        statement = pending.pop(0)
        for key in (anno.Static.LIVE_VARS_IN, anno.Static.LIVE_VARS_OUT, anno.Static.DEFINED_VARS_IN):
            if anno.hasanno(statement, key):
                print("  ", text(statement), key, names(anno.getanno(statement, key)))
        for key in (anno.Static.SCOPE, *annos.NodeAnno):
            if anno.hasanno(statement, key):
                scope = anno.getanno(statement, key)
                print("  ", text(statement), key, names(scope.read), names(scope.modified), names(scope.deleted))
        for block in ("body", "orelse", "handlers", "finalbody"):
            pending += getattr(statement, block, [])

print(text(templates.replace("def name(args): return value", name="f", args=["a", "b"], value=parser.parse_expression("g(a)[b]"))[0]))
print([text(n) for n in templates.replace("target = target + f(key=1)", target=qual_names.from_str("x.y"), f="g", key=parser.parse_expression("h(k=2, **m)").keywords)])
for code in ("a > 0", "a, b = c", "f(a + b)", "lambda x: x", "a = b if c else d"):
    print(text(parser.parse_str(code) if "=" in code else parser.parse_expression(code)))
for name in ("a.b.c", "a[i].b", "a"):
    found = qual_names.from_str(name)
    print(found, found.ssf(), names(found.support_set), names(found.owner_set), found.is_composite())
pairs = []
assignment = parser.parse_str("a, (b, c) = d, e")
ast_util.apply_to_single_assignments(assignment.targets, assignment.value, lambda t, v: pairs.append((text(t), text(v))))
print(pairs, ast_util.matches(parser.parse_expression("f(x).g(y, z)"), parser.parse_expression("f(_).g(_)")))
renamed = ast_util.rename_symbols(qual_names.resolve(parser.parse_str("b.c = b.c.d + e")), {qual_names.from_str("b.c"): qual_names.QN("n")})
print(text(renamed), inspect_utils.getqualifiedname({"tf": tf, "f": loops}, loops), inspect_utils.isbuiltin(len), inspect_utils.islambda(loops))
for wrong in (lambda: parser.parse_str("a\nb"), lambda: parser.parse_expression("a = 1"), lambda: qual_names.QN("a").parent, lambda: templates.replace(1),
              lambda: templates.replace_as_expression("a\nb"), lambda: list(ast_util.parallel_walk(parser.parse_str("a"), parser.parse_str("a()")))):
    try:
        wrong()
    except ValueError:
        print("ValueError")
