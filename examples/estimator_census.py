"""A wide and deep Estimator on census-like people: who earns more than 50,000?

The program makes its people and writes them to TFRecord files; tf.data reads them, and feature columns make the inputs of
the model: buckets, vocabularies, a crossed column, embeddings.

    tfcompat run examples/estimator_census.py
"""

import os
import tempfile

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_string("folder", "", "where records and checkpoints go; a temporary folder if empty")
flags.DEFINE_integer("people", 4000, "how many people to make; a quarter of them is for evaluation")
flags.DEFINE_integer("rounds", 2, "how often to train and evaluate in turn")
flags.DEFINE_integer("steps", 300, "training steps in each round")
FLAGS = flags.FLAGS
BATCH = 64
EDUCATION = ["school", "college", "bachelor", "master", "doctor"]
WORK = ["farming", "trade", "crafts", "office", "executive", "science"]
FEATURES = {
    "age": tf.FixedLenFeature([], tf.float32),
    "hours": tf.FixedLenFeature([], tf.float32),
    "education": tf.FixedLenFeature([], tf.string),
    "work": tf.FixedLenFeature([], tf.string, default_value="unknown"),
    "rich": tf.FixedLenFeature([], tf.int64),
}


def people(count, random):
    """Random people as dicts: income grows with education, hours and age, and some work pays more for the educated."""
    for _ in range(count):
        age, hours = random.uniform(18, 75), np.clip(random.normal(40, 9), 5, 80)
        education, work = random.randint(len(EDUCATION)), random.randint(len(WORK))
        income = 0.9 * education + 0.06 * (hours - 40) - 0.002 * (age - 50) ** 2 + 0.25 * education * (work >= 4) - 1.8
        person = {"age": age, "hours": hours, "education": EDUCATION[education]}
        if random.uniform() < 0.95:
            person["work"] = WORK[work]
        person["rich"] = int(income + random.logistic() > 0)
        yield person


def write_records(path, rows):
    """One tf.train.Example for each person."""
    with tf.python_io.TFRecordWriter(path) as writer:
        for row in rows:
            feature = {}
            for name, value in row.items():
                if isinstance(value, str):
                    feature[name] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.encode()]))
                elif isinstance(value, int):
                    feature[name] = tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
                else:
                    feature[name] = tf.train.Feature(float_list=tf.train.FloatList(value=[value]))
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def input_fn(path, training):
    """Batches of features and labels from a file of records."""
    dataset = tf.data.TFRecordDataset(path)
    if training:
        dataset = dataset.shuffle(1000, seed=6).repeat()
    dataset = dataset.batch(BATCH).map(lambda records: tf.parse_example(records, FEATURES))
    return dataset.map(lambda features: (features, features.pop("rich"))).prefetch(1)


def columns():
    """The columns of the linear (wide) and of the deep part."""
    age = tf.feature_column.numeric_column("age", normalizer_fn=lambda x: (x - 45.0) / 15.0)
    hours = tf.feature_column.numeric_column("hours", normalizer_fn=lambda x: (x - 40.0) / 10.0)
    ages = tf.feature_column.bucketized_column(tf.feature_column.numeric_column("age"), [25, 35, 45, 55, 65])
    education = tf.feature_column.categorical_column_with_vocabulary_list("education", EDUCATION)
    work = tf.feature_column.categorical_column_with_vocabulary_list("work", WORK, num_oov_buckets=1)
    both = tf.feature_column.crossed_column(["education", "work"], hash_bucket_size=100)
    wide = [ages, education, work, both]
    deep = [
        age,
        hours,
        tf.feature_column.indicator_column(education),
        tf.feature_column.embedding_column(work, dimension=3),
    ]
    return wide, deep


def main(_):
    """Writes the records, trains, evaluates, predicts."""
    folder = FLAGS.folder or tempfile.mkdtemp()
    random = np.random.RandomState(6)
    paths = {name: os.path.join(folder, name + ".tfrecord") for name in ("train", "test")}
    write_records(paths["train"], people(FLAGS.people * 3 // 4, random))
    write_records(paths["test"], people(FLAGS.people // 4, random))

    wide, deep = columns()
    config = tf.estimator.RunConfig(os.path.join(folder, "model"), tf_random_seed=6, save_checkpoints_steps=1000)
    estimator = tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=wide, linear_optimizer=tf.train.FtrlOptimizer(0.05),
        dnn_feature_columns=deep, dnn_hidden_units=[16, 8], dnn_optimizer=tf.train.AdagradOptimizer(0.05),
        config=config,
    )  # fmt: skip
    for _ in range(FLAGS.rounds):
        estimator.train(lambda: input_fn(paths["train"], True), steps=FLAGS.steps)
        metrics = estimator.evaluate(lambda: input_fn(paths["test"], False), name="test")
        shown = ["global_step", "loss", "average_loss", "accuracy", "auc", "precision", "recall"]
        print("  ".join("%s %.4g" % (name, metrics[name]) for name in shown))
    weights = estimator.get_variable_value("linear/linear_model/age_bucketized/weights")
    print("weights of ages:", weights.ravel().round(4))
    predictions = estimator.predict(lambda: input_fn(paths["test"], False))
    for prediction, record in zip(predictions, tf.python_io.tf_record_iterator(paths["test"])):
        feature = tf.train.Example.FromString(record).features.feature
        known = [feature[name].bytes_list.value[0].decode() for name in ("education", "work") if name in feature]
        age, probability = feature["age"].float_list.value[0], prediction["logistic"][0]
        print("age %2d, %s: %.3f" % (age, ", ".join(known), probability))
        if age > 70:
            break


if __name__ == "__main__":
    tf.app.run()
