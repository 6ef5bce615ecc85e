"""Modules with tables that both programs save and load. `tf` is the program."""

WORDS = ("gamma", "alpha", "beta", "delta")
VOCABULARY = "alpha\nbeta\ngamma\n"


def table_module(tf, static_table, vocabulary):
    """A module whose function looks words up in a table of pairs, in one of a file's lines, and in one with buckets.

    Args:
      tf: the program. static_table: its StaticHashTable. vocabulary: path of a file with VOCABULARY.
    """
    index = tf.lookup.TextFileIndex

    def lines():
        return tf.lookup.TextFileInitializer(vocabulary, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER)

    class Lookup(tf.Module):
        def __init__(self):
            super().__init__()
            pairs = tf.lookup.KeyValueTensorInitializer(["alpha", "delta"], [10, 20], tf.string, tf.int64)
            self.pairs = static_table(pairs, -1)
            self.lines = static_table(lines(), -1)
            self.calls = tf.Variable(100, dtype=tf.int64, use_resource=True, name="calls")

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
        def look_up(self, words):
            self.calls.assign_add(1)
            return {"pairs": self.pairs.lookup(words), "lines": self.lines.lookup(words), "calls": self.calls.read_value()}

    return Lookup()


EXPECTED = {"pairs": [-1, 10, -1, 20], "lines": [2, 0, 1, -1], "calls": 101}


def save_tables(tf, static_table, vocabulary, folder):
    """Writes the module as a SavedModel."""
    with tf.Graph().as_default(), tf.Session() as sess:
        module = table_module(tf, static_table, vocabulary)
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        tf.saved_model.save(module, folder)


def run_signature(tf, folder):
    """What the signature of a saved module gives in a session."""
    with tf.Graph().as_default(), tf.Session() as sess:
        signature = tf.saved_model.load(sess, ["serve"], folder).signature_def["serving_default"]
        names = {key: info.name for key, info in signature.outputs.items()}
        found = sess.run(names, {signature.inputs["words"].name: WORDS})
    return {key: value.tolist() for key, value in found.items()}


def run_objects(tf, folder):
    """What the function of a loaded module gives in a session."""
    with tf.Graph().as_default(), tf.Session() as sess:
        found = tf.saved_model.load_v2(folder).look_up(tf.constant(WORDS))
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return {key: value.tolist() for key, value in sess.run(found).items()}
