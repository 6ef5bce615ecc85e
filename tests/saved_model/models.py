"""Graphs that both programs build, save, freeze and run. `tf` is the program."""

import numpy as np

LABELS = ("cat", "dog", "gnu", "owl")
SIZE = 8


def images(count, size=SIZE):
    """Images of bytes, the same for everybody."""
    return np.random.RandomState(7).randint(0, 256, (count, size, size, 3)).astype(np.uint8)


def batch():
    return (images(3) / 255.0).astype(np.float32)


def examples(tf):
    """The images of `batch` as serialized tf.train.Examples."""
    found = []
    for image in batch():
        values = tf.train.Feature(float_list=tf.train.FloatList(value=image.ravel()))
        found.append(tf.train.Example(features=tf.train.Features(feature={"image": values})).SerializeToString())
    return found


def _conv(tf, x, filters, name, strides=1):
    return tf.layers.conv2d(x, filters, 3, strides, "same", use_bias=False, name=name)


def _norm(tf, x, name):
    """Batch normalization for inference, whose averages differ from channel to channel."""
    channels = int(x.shape[-1])
    values = {key: tf.constant_initializer(np.linspace(low, high, channels)) for key, low, high in (
        ("beta", -0.5, 0.5), ("gamma", 0.5, 1.5), ("moving_mean", -0.2, 0.3), ("moving_variance", 0.5, 2.0),
    )}  # fmt: skip
    initializers = {f"{key}_initializer": value for key, value in values.items()}
    return tf.layers.batch_normalization(x, training=False, name=name, **initializers)


def features(tf, x):
    """A network of the kinds of layers that MobileNet, Inception and SSD have."""
    x = tf.nn.relu6(_norm(tf, _conv(tf, x, 4, "stem"), "stem_norm"))
    x = tf.layers.separable_conv2d(x, 6, 3, padding="same", depth_multiplier=2, name="separable")
    left = tf.layers.max_pooling2d(x, 2, 2, name="pool")
    right = tf.nn.avg_pool(tf.nn.relu(_conv(tf, x, 3, "branch", strides=2)), [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
    x = tf.concat([left, right], 3)
    x = tf.image.resize_bilinear(x, [6, 6], align_corners=True)
    return tf.nn.lrn(_norm(tf, x, "last_norm"), depth_radius=2)


def classifier(tf, vocabulary):
    """Logits and labels of images, given as numbers or in Examples: (inputs, examples, logits, labels, scores)."""
    tf.set_random_seed(5)
    serialized = tf.placeholder(tf.string, [None], name="examples")
    parsed = tf.parse_example(serialized, {"image": tf.FixedLenFeature([SIZE, SIZE, 3], tf.float32)})
    x = tf.identity(parsed["image"], name="images")
    pooled = tf.reduce_mean(features(tf, x), [1, 2])
    scale = tf.get_variable("scale", initializer=1.5, use_resource=True)
    logits = tf.identity(tf.layers.dense(pooled, len(LABELS), name="dense") * scale, name="logits")
    asset = tf.constant(vocabulary, name="vocabulary")
    tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, asset)
    table = tf.contrib.lookup.index_to_string_table_from_file(asset, default_value="?")
    scores, best = tf.nn.top_k(tf.nn.softmax(logits), 2)
    return x, serialized, logits, table.lookup(tf.cast(best, tf.int64)), scores


def save_classifier(tf, folder, vocabulary):
    """Writes the classifier as a SavedModel with three signatures, and as a second graph; its outputs for `batch`."""
    with tf.Graph().as_default():
        x, serialized, logits, labels, scores = classifier(tf, vocabulary)
        utils = tf.saved_model
        signatures = {
            "serving_default": utils.predict_signature_def({"images": x}, {"logits": logits, "labels": labels}),
            "classify": utils.classification_signature_def(serialized, labels, scores),
        }
        with tf.Session() as sess:
            sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
            builder = tf.saved_model.Builder(folder)
            builder.add_meta_graph_and_variables(
                sess, ["serve"], signatures, assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
                main_op=tf.tables_initializer(),
            )  # fmt: skip
            builder.add_meta_graph(["serve", "gpu"], strip_default_attrs=True)
            builder.save()
            return sess.run({"logits": logits, "labels": labels, "scores": scores}, {x: batch()})


def run_classifier(tf, folder):
    """What a loaded classifier gives for `batch`, by both signatures."""
    with tf.Graph().as_default(), tf.Session() as sess:
        graph_def = tf.saved_model.load(sess, ["serve"], folder)
        default, classify = graph_def.signature_def["serving_default"], graph_def.signature_def["classify"]
        outputs = {key: info.name for key, info in default.outputs.items()}
        found = sess.run(outputs, {default.inputs["images"].name: batch()})
        outputs = {key: info.name for key, info in classify.outputs.items()}
        parsed = sess.run(outputs, {classify.inputs["inputs"].name: examples(tf)})
    np.testing.assert_array_equal(parsed["classes"], found["labels"])
    return {"logits": found["logits"], "labels": found["labels"], "scores": parsed["scores"]}


def detector(tf):
    """Boxes, scores and their number, of images of bytes that a loop prepares one by one."""
    tf.set_random_seed(6)
    raw = tf.placeholder(tf.uint8, [None, None, None, 3], name="image_tensor")

    def prepared(image):
        resized = tf.image.resize_images(tf.expand_dims(image, 0), [SIZE, SIZE], align_corners=False)
        return tf.squeeze(resized, [0]) * (2.0 / 255.0) - 1.0

    x = tf.map_fn(prepared, tf.cast(raw, tf.float32), name="preprocessor")
    x = features(tf, tf.reshape(x, [-1, SIZE, SIZE, 3]))
    corners = tf.reshape(_conv(tf, x, 4, "boxes"), [-1, 36, 4])
    corners = tf.concat([tf.minimum(corners[..., :2], corners[..., 2:]), tf.maximum(corners[..., :2], corners[..., 2:])], 2)
    scores = tf.sigmoid(tf.reshape(_conv(tf, x, 1, "scores"), [-1, 36]))

    def suppressed(parts):
        boxes, score = parts
        kept = tf.image.non_max_suppression(boxes, score, 5, iou_threshold=0.4, score_threshold=0.1)
        padding = [[0, 5 - tf.shape(kept)[0]]]
        boxes = tf.pad(tf.gather(boxes, kept), padding + [[0, 0]])
        return boxes, tf.pad(tf.gather(score, kept), padding), tf.shape(kept)[0]

    boxes, scores, count = tf.map_fn(suppressed, (corners, scores), (tf.float32, tf.float32, tf.int32), name="suppression")
    return raw, {
        "boxes": tf.identity(boxes, "detection_boxes"),
        "scores": tf.identity(scores, "detection_scores"),
        "count": tf.identity(count, "num_detections"),
    }


DETECTIONS = {"boxes": "detection_boxes:0", "scores": "detection_scores:0", "count": "num_detections:0"}


def freeze_detector(tf):
    """The detector as a frozen GraphDef, and its outputs for two images."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        raw, outputs = detector(tf)
        sess.run(tf.global_variables_initializer())
        names = [name.partition(":")[0] for name in DETECTIONS.values()]
        frozen = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), names)
        return frozen, sess.run(outputs, {raw: images(2, 12)})


def run_detector(tf, graph_def):
    """The outputs of a frozen detector for two images."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(graph_def, name="")
        return sess.run(DETECTIONS, {"image_tensor:0": images(2, 12)})
