"""Writes the documents of a small module; what it prints is the same under TensorFlow 1.15 and tfcompat."""

import functools
import os
import sys
import tempfile
import types

from tensorflow.tools.docs import doc_generator_visitor, generate_lib, parser

source = '''"""A module. See @{tf.Thing} and `tf.act`."""
import collections
CONSTANT = 7
class Thing(object):
  """A thing.

  More of `tf.Thing.go`.

  Attributes:
    size: how big.

  @compatibility(numpy)
  Like an array.
  @end_compatibility
  """
  WORD = "w"
  def __init__(self, a, b=-1, *args, **kwargs):
    """Makes it."""
  @property
  def size(self):
    """Its size."""
  @classmethod
  def make(cls, x=None):
    """Makes one.

    Args:
      x: a value.
        More.
      *y: others

    Returns:
      A thing.
    """
  @staticmethod
  def still(f=len, g={"a": (1, 2)}):
    """No text."""
  def go(self):
    """Goes, unlike @{$guide} or @{$guide#part$`this`}."""
  class Inner(object):
    """Inner."""
Pair = collections.namedtuple("Pair", ["z", "a"])
del collections
class More(Thing):
  """More."""
  def go(self, speed=1.5, name='n'):
    """Goes faster."""
def act(thing, how=Thing, r=1e-3):
  """Acts.

  Args:
    thing: what `act` acts on.

  Raises:
    ValueError: never
  """
also = act
'''
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    open("docmod.py", "w").write(source)
    sys.path.insert(0, folder)
    import docmod
    sub = types.ModuleType("sub", "A module inside.\n@@act\n")
    sub.act = docmod.act
    sub.More = docmod.More
    docmod.sub = sub
    os.makedirs("src/api_guides/python")
    os.makedirs("src/deep")
    open("src/api_guides/python/guide.md", "w").write("# The guide\ntext `tf.act`\n## Some part\n`tf.Thing` @{tf.act}\n## Some part\n```\n# no title `tf.act`\n```\n## Third {#third}\nx @{tf.act$how to `act`}\n")
    open("src/deep/index.md", "w").write("# Deep\n")
    open("src/deep/other.txt", "w").write("@{tf.act}\n")
    generator = generate_lib.DocGenerator()
    generator.add_output_dir_argument()
    generator.add_src_dir_argument()
    generator.add_base_dir_argument(folder)
    sys.argv = ["x", "--output_dir", folder + "/out", "--src_dir", folder + "/src", "--api_cache_out_path", folder + "/cache/api.json"]
    generator.set_py_modules([("tf", docmod)])
    print(generator.build(generator.parse_known_args()))
    for where, _, names in sorted(os.walk("out")):
        for name in sorted(names):
            print("==", os.path.join(where, name))
            print(open(os.path.join(where, name)).read())
    print(sorted(eval(open("cache/api.json").read().replace("true","True").replace("false","False"))))
    visitor = doc_generator_visitor.DocGeneratorVisitor("tf")
    try:
        visitor("x", 3, [])
    except RuntimeError as e:
        print(e)
    def f(a, b, c=1, d=2, *args, **kw):
        pass
    for p in [functools.partial(f, 1), functools.partial(f, 1, 2, 3), functools.partial(f, b=3, d=3), functools.partial(f, c=3)]:
        print(parser._get_arg_spec(p))
    print(parser._generate_signature(f, {}), parser._generate_signature(docmod.act, {id(docmod.Thing): "tf.Thing"}))
    header, details = parser._parse_function_details("Text.\n\nArgs:\n  a: b\n    c\n  *d: e\n\nReturns:\n  This: is\n")
    print(repr(header), [tuple(d) for d in details], [str(d) for d in details])
    print(parser.documentation_path("tf.a.b"), parser.documentation_path("tf.a.b", True), parser.documentation_path("tf"))
    resolver = parser.ReferenceResolver({"tf.b": "tf.a"}, {}, {"tf.a": False, "tf.a.c": True}, ["tf"])
    print(resolver.replace_references("@{tf.b} `tf.a.c` `tf.none` @{tf.a$the `a`} @{tensorflow::ops::Const} @{tensorflow::Scope$s}", "../.."))
    print(resolver.reference_to_url("tf.a.c", "."), resolver.py_master_name("tf.b"), parser._parse_md_docstring(docmod.Thing, "..", resolver))
    for bad in ("tf.zzz",):
        try:
            resolver.reference_to_url(bad, ".")
        except parser.TFDocsError as e:
            print(e)
    try:
        parser.docs_for_object("tf.CONSTANT", 7, parser.ParserConfig(resolver, {}, {}, {}, {}, {}, {}, "."))
    except RuntimeError as e:
        print(e)
    try:
        generate_lib.write_docs("rel", None, True)
    except ValueError as e:
        print(e)
