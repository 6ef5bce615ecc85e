"""Preprocessing, utilities and callbacks of tf.keras, against records of the real program and closed forms."""

import hashlib
import json
import pathlib
import random

import numpy as np
import pytest
from oracle.record_keras_images import SETTINGS, images

import tfcompat as tf
from tfcompat._src.keras import datasets
from tfcompat._src.keras.callbacks.base import CallbackList

GOLDEN = json.loads((pathlib.Path(__file__).parent.parent / "golden" / "keras" / "preprocessing.json").read_text())


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_random_images_are_those_of_the_seed(name):
    generator = tf.keras.preprocessing.image.ImageDataGenerator(**SETTINGS[name])
    x, y = next(generator.flow(images(), np.arange(4), batch_size=3, seed=5))
    np.testing.assert_array_equal(y, GOLDEN[name]["y"])
    np.testing.assert_allclose(x, GOLDEN[name]["x"], atol=1e-4)


def test_skipgrams():
    random.seed(3)
    couples, labels = tf.keras.preprocessing.sequence.skipgrams([1, 2, 0, 3, 4], 5, window_size=2, seed=9)
    assert couples == GOLDEN["skipgrams"]["couples"]
    assert labels == GOLDEN["skipgrams"]["labels"]


@pytest.mark.parametrize("mode", ["binary", "count", "freq", "tfidf"])
def test_tokenizer(mode):
    tokenizer = tf.keras.preprocessing.text.Tokenizer(num_words=4, oov_token="?")
    tokenizer.fit_on_texts(["a cat, a dog", "the cat sat"])
    found = tokenizer.texts_to_matrix(["cat a a dog owl"], mode=mode)
    np.testing.assert_allclose(found, GOLDEN["tokenizer"][mode])


def test_pad_sequences():
    pad = tf.keras.preprocessing.sequence.pad_sequences
    assert pad([[1], [2, 3], [4, 5, 6]], maxlen=2).tolist() == [[0, 1], [2, 3], [5, 6]]
    assert pad([[1], [4, 5, 6]], 2, padding="post", truncating="post", value=9).tolist() == [[1, 9], [4, 5]]
    with pytest.raises(ValueError, match="non-iterable"):
        pad([1, 2])


def test_timeseries_windows():
    series = np.arange(50).reshape(50, 1)
    windows = tf.keras.preprocessing.sequence.TimeseriesGenerator(series, series, 10, sampling_rate=2, batch_size=2)
    assert len(windows) == 20
    x, y = windows[0]
    assert x[:, :, 0].tolist() == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]
    assert y.tolist() == [[10], [11]]


def test_to_categorical_and_normalize():
    assert tf.keras.utils.to_categorical([[0], [2]]).tolist() == [[1, 0, 0], [0, 0, 1]]
    np.testing.assert_allclose(tf.keras.utils.normalize([[3.0, 4.0], [0.0, 0.0]]), [[0.6, 0.8], [0, 0]])


def test_get_file_checks_the_hash_and_fetches_again(tmp_path):
    source = tmp_path / "source.txt"
    source.write_text("data")
    digest = hashlib.sha256(b"data").hexdigest()

    def fetch():
        return tf.keras.utils.get_file("copy.txt", source.as_uri(), file_hash=digest, cache_dir=str(tmp_path))

    copy = pathlib.Path(fetch())
    copy.write_text("damaged")
    fetch()
    assert copy.read_text() == "data"


def test_missing_data_set_says_where_it_comes_from(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets, "data_dir", lambda subfolder="datasets": tmp_path)
    with pytest.raises(FileNotFoundError, match=r"fetch https://storage\.googleapis\.com/.*mnist\.npz"):
        tf.keras.datasets.mnist.load_data()


class Numbers(tf.keras.utils.Sequence):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return index * 10


def test_ordered_enqueuer_gives_every_epoch_in_order():
    enqueuer = tf.keras.utils.OrderedEnqueuer(Numbers())
    enqueuer.start(workers=2)
    batches = enqueuer.get()
    assert [next(batches) for _ in range(6)] == [0, 10, 20, 0, 10, 20]
    enqueuer.stop()


class StandIn:
    stop_training = False
    weights = 0

    def get_weights(self):
        return self.weights

    def set_weights(self, weights):
        self.weights = weights


def test_early_stopping_restores_the_best_weights():
    model = StandIn()
    stopping = tf.keras.callbacks.EarlyStopping("loss", patience=2, restore_best_weights=True)
    callbacks = CallbackList([stopping])
    callbacks.set_model(model)
    callbacks.on_train_begin()
    for epoch, loss in enumerate([3.0, 1.0, 2.0, 2.0]):
        model.weights = epoch
        callbacks.on_epoch_end(epoch, {"loss": loss})
    assert model.stop_training
    assert (stopping.stopped_epoch, model.weights) == (3, 1)


def test_csv_logger(tmp_path):
    path = tmp_path / "log.csv"
    logger = tf.keras.callbacks.CSVLogger(str(path))
    logger.set_model(StandIn())
    logger.on_train_begin()
    logger.on_epoch_end(0, {"loss": 0.5, "acc": 1})
    logger.on_train_end()
    assert path.read_text().split() == ["epoch,acc,loss", "0,1,0.5"]


def test_progress_bar_shows_averages(capsys):
    bar = tf.keras.utils.Progbar(4, width=4, interval=0)
    bar.update(2, [("loss", 1.0)])
    bar.update(4, [("loss", 2.0)])
    shown = capsys.readouterr().out
    assert "2/4 [=>..]" in shown
    assert "4/4 [====]" in shown
    assert shown.rstrip(" \n").endswith("- loss: 1.5000")
