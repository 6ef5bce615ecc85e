"""Generates the files of a public API; what it prints is the same under TensorFlow 1.15 and tfcompat."""

import sys
import types

from tensorflow.python.tools.api.generator import create_python_api, doc_srcs
from tensorflow.python.util import tf_export


def op():
    pass
class C:
    pass
m = types.ModuleType('tensorflow.python.zz_module')
other = types.ModuleType('tensorflow.python.zz_other')
op.__module__ = C.__module__ = 'tensorflow.python.zz_module'
tf_export.tf_export('zz_op', 'a.b.op1')(op)
tf_export.tf_export('zz_a.C', v1=['zz_v1.C'])(C)
m.op, m.C, other.same, m.K = op, C, op, 3
sys.modules[m.__name__], sys.modules[other.__name__] = m, other
tf_export.tf_export('zz.K', '_zz_K').export_constant(m.__name__, 'K')
for args in [dict(api_version=1), dict(api_version=2), dict(api_version=2, compat_api_versions=[1]), dict(api_version=1, lazy_loading=True)]:
    texts, footers = create_python_api.get_api_init_text(packages=['tensorflow.python.zz'], output_package='tensorflow', api_name='tensorflow', **args)
    for k in sorted(texts):
        print('==', args, repr(k))
        print(texts[k])
    for k in sorted(footers):
        print('--', repr(k), footers[k])
print(sorted(doc_srcs.get_doc_sources('tensorflow').items()), doc_srcs.get_doc_sources('estimator'), doc_srcs.get_doc_sources('keras'))
print(create_python_api._DEFAULT_PACKAGE, create_python_api._LAZY_LOADING)
bad = types.ModuleType('tensorflow.python.zz_bad')
def op2():
    pass
tf_export.tf_export('zz_op')(op2)
bad.op2 = op2
sys.modules[bad.__name__] = bad
try:
    create_python_api.get_api_init_text(['tensorflow.python.zz'], 'tensorflow', 'tensorflow', 1)
except create_python_api.SymbolExposedTwiceError as e:
    print(e)
