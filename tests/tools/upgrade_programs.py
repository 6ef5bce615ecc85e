"""Programs that tests/oracle/record_upgrades.py upgrades by TensorFlow 1.15's tf_upgrade_v2; each is upgraded in both modes."""

PROGRAMS = [
    (
        '# lic\n'
        '"""doc"""\n'
        '\n'
        '# about\n'
        'import os\n'
        'import tensorflow as tf  # hi\n'
        'import sys\n'
    ),
    (
        'import tensorflow\n'
        'x=1'
    ),
    (
        'if a:\n'
        '  # c\n'
        '  import tensorflow as tf\n'
        '  x()\n'
    ),
    'import os, tensorflow as tf; x=1\n',
    (
        'try:\n'
        '    import tensorflow as tf\n'
        'except ImportError:\n'
        '    pass\n'
    ),
    (
        'from tensorflow import (keras,\n'
        '   contrib)\n'
    ),
    'import tensorflow.contrib.slim as slim\n',
    (
        'from tensorflow import keras # c\n'
        'x\n'
    ),
    'import tensorflow as tf',
    (
        'x=3\n'
        '\n'
        '\n'
        '# q\n'
        'from tensorflow import contrib, keras\n'
        'x\n'
    ),
    'import tensorflow as tf, os\n',
    (
        'def f():\n'
        '  pass\n'
        '\n'
        '\n'
        'import tensorflow as tf\n'
        '\n'
        '\n'
        'y\n'
    ),
    (
        'import tensorflow as tf\n'
        'print(f"{tf.log(x)} a")\n'
    ),
    (
        'import tensorflow as tf\n'
        'x = tf.contrib.foo.bar  \n'
        'y\n'
    ),
    (
        'import tensorflow as tf\n'
        'x=(tf.log\n'
        '  (3))\n'
        'tf . log(x)\n'
        '(tf.log)(3)\n'
    ),
    "tf.nn.dropout(x, (0.5) , name='a')\n",
    'tf.nn.dropout(x, keep_prob= (0.5) )\n',
    'tf.nn.softmax_cross_entropy_with_logits(labels=(a) , logits=b)\n',
    (
        'tf.to_float(x,\n'
        "  name='n')\n"
    ),
    (
        'tf.to_float(x,\n'
        "  'n')\n"
    ),
    (
        'tf.app.run(main\n'
        ')\n'
    ),
    'ds.make_one_shot_iterator()\n',
    (
        '(ds.a\n'
        '.b()).make_one_shot_iterator( )\n'
    ),
    "tf.data.x.make_one_shot_iterator(shared_name='s')\n",
    (
        "tf.name_scope('a')\n"
        "tf.name_scope(None, 'b', [c])\n"
        'tf.name_scope()\n'
    ),
    (
        'tf.argmax(x, 1)\n'
        'tf.argmax(x, *a)\n'
        "tf.argmax(x, dimension=2, name='k')\n"
    ),
    (
        "tf.strings.split(x, result_type='RaggedTensor')\n"
        'tf.strings.split(x).y\n'
    ),
    'tf.strings.split(a=tf.strings.split(tf.log(x)))\n',
    'x = tf.string_split(x)\n',
    'tf.nn.fractional_avg_pool(x, deterministic=False, seed2=3)\n',
    "tf.contrib.summary.scalar('a', b)\n",
    'tf.contrib.summary.always_record_summaries()\n',
    'tf.contrib.layers.xavier_initializer(False, 3)\n',
    'tf.contrib.layers.xavier_initializer( uniform = a , seed=3)\n',
    "tf.contrib.layers.variance_scaling_initializer(2.0, 'X', False)\n",
    "tf.contrib.layers.variance_scaling_initializer(mode='X', uniform=(y))\n",
    (
        "tf.contrib.layers.l2_regularizer(1e-4, 's')\n"
        "slim.l2_regularizer(scale=1e-4, scope='s')\n"
    ),
    'tf.image.resize_bilinear(a, b, True)\n',
    'tf.image.extract_glimpse(a,b,c,d,e,f)\n',
    'tf.image.extract_glimpse(a,b,c,d,uniform_noise=True)\n',
    'tf.nn.dilation2d(x,y)\n',
    'with tf.device(f(x)): pass\n',
    'tf.uniform_unit_scaling_initializer(0.5)\n',
    'tf.estimator.DNNClassifier(h, optimizer=o)\n',
    'def f( x : tf.log = 3 ) -> tf.log: pass\n',
    (
        'x = tf.FLAGS\n'
        'class A(tf.train.Optimizer, b): pass\n'
    ),
    'a +\n',
    (
        'import tensorflow\n'
        'tf.log(x)\n'
    ),
    (
        'from tensorflow.compat import v1 as tf\n'
        'tf.log(x)\n'
    ),
    (
        'x = {\n'
        "  tf.contrib.a.b: 1, 'k': tf.contrib.a . c }\n"
    ),
    "tf.nn.conv2d(x, w, [1], 'SAME', use_cudnn_on_gpu=True)\n",
    (
        'tf.nn.conv2d(x, *args)\n'
        'tf.nn.conv2d(x, **kw)\n'
    ),
    'opt.minimize(loss, colocate_gradients_with_ops=True)\n',
    (
        "saver.save(s, 'p')\n"
        'est.export_savedmodel(d, f)\n'
    ),
    (
        'tf.zeros_like(x, optimize=True)\n'
        "tf.zeros_like(x, optimize=False, name='n')\n"
    ),
    (
        'tf.while_loop(c, b, [x],\n'
        '   # names\n'
        '   return_same_structure=True,\n'
        "   name='w')\n"
    ),
    (
        'tf.reduce_sum(x, 1, True)\n'
        'tf.reduce_sum(x, reduction_indices=[1], keep_dims=True)\n'
    ),
    'tf.concat(values=[tf.to_int32(a), tf.to_float(b)], axis=0)\n',
    'y = (tf.strings.split(x))  # text\n',
    "tf.strings.split(source=s, sep=',', result_type=kind)\n",
    "é = tf.log(x); ü = tf.log('ä', tf.log(y))\n",
    (
        'tf.to_double(x, name=n)\n'
        'tf.to_bfloat16(y)\n'
        'f = tf.to_float\n'
    ),
    (
        "tf.contrib.layers.l1_regularizer(0.1, scope='s')\n"
        'tf.contrib.layers.l1_regularizer(scale = 0.1)\n'
    ),
    (
        'tf.contrib.layers.xavier_initializer()\n'
        'tf.contrib.layers.xavier_initializer_conv2d(dtype=tf.float32)\n'
    ),
    (
        'tf.contrib.layers.variance_scaling_initializer()\n'
        "slim.variance_scaling_initializer(factor=1.0 , mode = 'FAN_IN')\n"
    ),
    (
        'tf.image.resize_area(a, b, align_corners=True, preserve_aspect_ratio=p)\n'
        'tf.image.resize_bicubic(a, b, c, d)\n'
    ),
    (
        "tf.estimator.LinearRegressor(feature_columns=c, optimizer='Ftrl', loss_reduction=r)\n"
        'tf.estimator.DNNEstimator(head=h, hidden_units=u)\n'
    ),
    "tf.keras.models.save_model(m, 'f')\n",
    (
        'tf.contrib.summary.never_record_summaries()\n'
        "tf.contrib.summary.image('n', t, step=s)\n"
    ),
    'tf.nn.dropout(x)\n',
    (
        "tf.name_scope(name=n, default_name='d', values=[v])\n"
        "tf.name_scope(None, default_name='d')\n"
    ),
    (
        '@tf.function\n'
        'def f(x=tf.log(2.), *a, k: tf.Dimension=None, **kw):\n'
        '    return lambda z: tf.log(z)\n'
    ),
    (
        "tf.app.flags.DEFINE_string('a', 'b', 'c')\n"
        'FLAGS = tf.flags.FLAGS\n'
    ),
    (
        'tf.argmax (\n'
        '    x ,  # what\n'
        '    1 ,\n'
        ')\n'
    ),
    'tf.math.argmax(tf.argmax(x, 0), dimension=tf.log(y))\n',
    'print("%d" % tf.log(x), f\'{tf.log(y)}\', rf\'\\d{tf.log( z )}\')\n',
    (
        'tf.nn.softmax_cross_entropy_with_logits(labels=tf.stop_gradient(a), logits=b)\n'
        'tf.nn.softmax_cross_entropy_with_logits(logits=b, labels=tf.one_hot(a, 3) )\n'
    ),
    (
        'import numpy as np, tensorflow as tf\n'
        'class A(object):\n'
        '  # first\n'
        '  def f(self):\n'
        '    # inner\n'
        '    import tensorflow as tf\n'
        '    return tf.log(1)\n'
    ),
    (
        'x = [tf.log(y) for y in tf.all_variables() if tf.is_nan(y)]\n'
        'd = {tf.log(k): tf.log(v) for k, v in z}\n'
        's = x[tf.log(1):tf.log(2), ...]\n'
    ),
    (
        'try:\n'
        '  tf.log(x)\n'
        'except (tf.errors.OpError, tf.python_io.X) as e:\n'
        '  raise tf.log(e)\n'
        'finally:\n'
        '  del tf.log.x\n'
    ),
    (
        'tf.sparse_to_dense(a, b, c)\n'
        "tf.verify_tensor_all_finite(t, msg='m')\n"
        'tf.decode_raw(bytes=b, out_type=o)\n'
    ),
    (
        "with tf.Session() as s, tf.name_scope('x') as t:\n"
        '  yield_ = s.run(tf.global_variables_initializer(),)\n'
    ),
]


def every_name(tables):
    """A program that reads and calls all that the tables know, with arguments by position, by old keywords, and by stars."""
    lines = [f"{name}\n" for name in sorted({**tables["renames"], **tables["manual_renames"], **tables["addons"]})]
    for name, order in sorted({**tables["reorders"], **tables["manual_reorders"]}.items()):
        if tables["call_changes"].get(name, [""])[0] == "pool_seed":  # TensorFlow 1.15's own change fails for `deterministic`
            continue
        positions = ", ".join("a" * len(order))
        keywords = ", ".join(f"{keyword}=b" for keyword in order)
        lines.append(f"{name}({positions})\n{name}({keywords})\n{name}(a, *b)\n")
    for name, renames in sorted(tables["keyword_renames"].items()):
        keywords = ",\n    ".join(f"{keyword} = a" for keyword in sorted(renames))
        lines.append(f"{name.replace('*', 'x')}(a, {keywords})\n{name.replace('*', 'x')}(**a)\n")
    for name, argument, position, _, _ in tables["argument_warnings"]:
        lines.append(f"{name.replace('*', 'x')}({', '.join(['a'] * ((position or 0) + 1))})\n{name.replace('*', 'x')}(a, {argument}=b)\n")
    for name in sorted({**tables["warnings"], **tables["call_changes"], **tables["safety_warnings"]}):
        lines.append(f"{name.replace('*', 'x')}(a, b)\n")
    return "".join(lines)
