"""Export and serving: SavedModels with signatures, written by SavedModelBuilder and simple_save, loaded and asked three ways.

A classifier of digits is trained; it is exported with a vocabulary (a table with an asset file) and a signature that takes
serialized tf.train.Example, as TensorFlow Serving's Classify does. Then: loader.load in a new session, contrib.predictor,
and `saved_model_cli show` (here `tfcompat saved-model show`) on the folder that stays with --folder.

    tfcompat run examples/serve_saved_model.py --folder exported
    tfcompat saved-model show --dir exported/1 --all
"""

import os
import tempfile

import numpy as np
import tensorflow as tf

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
flags = tf.app.flags
flags.DEFINE_string("folder", "", "where the versions 1 and 2 of the model go; a temporary folder if empty")
flags.DEFINE_integer("steps", 200, "training steps")
FLAGS = flags.FLAGS
NAMES = "zero one two three four five six seven eight nine".split()
signatures = tf.saved_model.signature_constants


def read_digits():
    """Images [n, 64] between 0 and 1, and labels [n]."""
    with np.load(os.path.join(DATA, "digits.npz")) as data:
        return data["images"].reshape(-1, 64).astype(np.float32) / 16.0, data["labels"].astype(np.int64)


def train(sess, images, labels, x, logits):
    """Some steps of Adagrad."""
    y = tf.placeholder(tf.int64, [None])
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    step = tf.train.AdagradOptimizer(0.1).minimize(loss)
    sess.run(tf.global_variables_initializer())
    order = np.random.RandomState(11)
    for i in range(FLAGS.steps):
        batch = order.choice(len(images), 50, replace=False)
        value, _ = sess.run([loss, step], {x: images[batch], y: labels[batch]})
        if i % 50 == 0 or i == FLAGS.steps - 1:
            print("step %3d  loss %.4f" % (i, value))


def export(images, labels, folder, vocabulary):
    """Trains, and writes version 1 with all signatures and version 2 with simple_save."""
    tf.set_random_seed(11)
    serialized = tf.placeholder(tf.string, [None], name="serialized")
    parsed = tf.parse_example(serialized, {"image": tf.FixedLenFeature([64], tf.float32)})
    x = tf.identity(parsed["image"], name="x")  # a session may feed it
    logits = tf.layers.dense(tf.layers.dense(x, 16, tf.nn.relu), 10)
    scores, best = tf.nn.top_k(tf.nn.softmax(logits), 3)
    table = tf.contrib.lookup.index_to_string_table_from_file(vocabulary)
    names = table.lookup(tf.cast(best, tf.int64))
    with tf.Session() as sess:
        train(sess, images, labels, x, logits)
        classify = tf.saved_model.signature_def_utils.classification_signature_def(serialized, names, scores)
        predict = tf.saved_model.signature_def_utils.predict_signature_def(
            {"images": x}, {"classes": tf.argmax(logits, 1), "scores": scores}
        )
        builder = tf.saved_model.builder.SavedModelBuilder(os.path.join(folder, "1"))
        builder.add_meta_graph_and_variables(
            sess,
            [tf.saved_model.tag_constants.SERVING],
            signature_def_map={signatures.DEFAULT_SERVING_SIGNATURE_DEF_KEY: classify, "predict": predict},
            assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
            main_op=tf.tables_initializer(),
        )
        builder.save()
        tf.saved_model.simple_save(sess, os.path.join(folder, "2"), {"images": x}, {"logits": logits})


def example(image):
    """The bytes of a tf.train.Example with the image."""
    feature = tf.train.Feature(float_list=tf.train.FloatList(value=image))
    return tf.train.Example(features=tf.train.Features(feature={"image": feature})).SerializeToString()


def show(meta_graph):
    """Prints the signatures of a MetaGraphDef."""
    for name, signature in sorted(meta_graph.signature_def.items()):
        print("%s: %s" % (name, signature.method_name))
        for way, tensors in (("in", signature.inputs), ("out", signature.outputs)):
            for key, info in sorted(tensors.items()):
                shape = [dim.size for dim in info.tensor_shape.dim]
                print("    %-3s %-8s %s %s %s" % (way, key, tf.as_dtype(info.dtype).name, shape, info.name))


def main(_):
    """Exports, loads, asks."""
    folder = FLAGS.folder or tempfile.mkdtemp()
    vocabulary = os.path.join(tempfile.mkdtemp(), "names.txt")
    with open(vocabulary, "w") as f:
        f.write("\n".join(NAMES) + "\n")
    images, labels = read_digits()
    with tf.Graph().as_default():
        export(images[:1500], labels[:1500], folder, vocabulary)
    os.remove(vocabulary)  # the model has its own copy

    with tf.Session(graph=tf.Graph()) as sess:
        model = tf.saved_model.loader.load(sess, [tf.saved_model.tag_constants.SERVING], os.path.join(folder, "1"))
        show(model)
        signature = model.signature_def[signatures.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
        outputs = {key: info.name for key, info in signature.outputs.items()}
        request = {signature.inputs[signatures.CLASSIFY_INPUTS].name: [example(image) for image in images[-3:]]}
        answer = sess.run(outputs, request)
        for row, label in enumerate(labels[-3:]):
            pairs = zip(answer[signatures.CLASSIFY_OUTPUT_CLASSES][row], answer[signatures.CLASSIFY_OUTPUT_SCORES][row])
            print("%s:" % NAMES[label], "  ".join("%s %.4f" % (name.decode(), score) for name, score in pairs))

    predict = tf.contrib.predictor.from_saved_model(os.path.join(folder, "1"), signature_def_key="predict")
    found = predict({"images": images[1500:]})["classes"]
    print("predictor: %.3f of %d digits are right" % (np.mean(found == labels[1500:]), len(found)))
    predict.session.close()
    second = tf.contrib.predictor.from_saved_model(os.path.join(folder, "2"))
    print("simple_save: logits of norm %.4f" % np.linalg.norm(second({"images": images[1500:]})["logits"]))
    second.session.close()
    print(
        "files:",
        ", ".join(sorted(os.listdir(os.path.join(folder, "1")) + os.listdir(os.path.join(folder, "1/assets")))),
    )


if __name__ == "__main__":
    tf.app.run()
