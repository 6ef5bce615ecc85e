"""tf.contrib.text: pairs of words, drawn as 1.15 draws them."""

import importlib

import numpy as np

from cases.table import Table

TABLE = Table("skip_gram")
case, error_case = TABLE.case, TABLE.error_case

WORDS = np.array([b"the", b"quick", b"brown", b"fox", b"jumps", b"over", b"a", b"dog"], object)


def sample(tf, tokens, **options):
    text = importlib.import_module(tf.__name__ + ".contrib.text")
    return list(text.skip_gram_sample(tokens, **options))


def table(tf):
    keys, counts = tf.constant(["the", "quick", "fox", "over", "a"]), tf.constant([40.0, 2.0, 3.0, 8.0, 30.0], tf.float64)
    return tf.contrib.lookup.HashTable(tf.contrib.lookup.KeyValueTensorInitializer(keys, counts), -1.0)


def with_table(count=1):
    def run(tf, session, outputs, feed):
        session.run(tf.tables_initializer())
        return [session.run(outputs, feed) for _ in range(count)]

    return run


def drawn_twice(tf, session, outputs, feed):
    return [session.run(outputs, feed) for _ in range(2)]


case("all", lambda tf, x: sample(tf, x, min_skips=2, max_skips=2), grad=False, partial=False, x=WORDS)
case("self", lambda tf, x: sample(tf, x, min_skips=1, max_skips=1, emit_self_as_target=True), grad=False, partial=False, x=WORDS)
case("none", lambda tf, x: sample(tf, x, min_skips=0, max_skips=0), grad=False, partial=False, x=WORDS)
case("part", lambda tf, x: sample(tf, x, min_skips=2, max_skips=2, start=2, limit=3), grad=False, partial=False, x=np.arange(9))
case("beyond", lambda tf, x: sample(tf, x, min_skips=2, max_skips=2, start=7, limit=30), grad=False, partial=False, x=np.arange(9))
for _seed in (7, 42):
    case("drawn_%d" % _seed, lambda tf, x, s=_seed: sample(tf, x, max_skips=5, seed=s), partial=False, run=drawn_twice, x=np.arange(30))
case("known", lambda tf, x: sample(tf, x, min_skips=2, max_skips=2, vocab_freq_table=table(tf), vocab_min_count=3), partial=False,
     run=with_table(), x=WORDS)  # fmt: skip
case(
    "subsampled",
    lambda tf, x: sample(tf, x, min_skips=2, max_skips=3, vocab_freq_table=table(tf), vocab_subsampling=0.05, corpus_size=100, seed=3),
    partial=False, run=with_table(3), x=WORDS,
)  # fmt: skip
error_case("negative", lambda tf, x: sample(tf, x, min_skips=-1), x=WORDS)
error_case("order", lambda tf, x: sample(tf, x, min_skips=3, max_skips=2), x=WORDS)
error_case("rank", lambda tf, x: sample(tf, x), x=np.ones([2, 3], np.int32))
error_case("no_table", lambda tf, x: sample(tf, x, vocab_min_count=2), x=WORDS)
error_case("no_corpus", lambda tf, x: sample(tf, x, vocab_freq_table=table(tf), vocab_subsampling=0.1), x=WORDS)
error_case("share", lambda tf, x: sample(tf, x, vocab_freq_table=table(tf), vocab_subsampling=1.5, corpus_size=9), x=WORDS)
