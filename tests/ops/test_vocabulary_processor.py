"""`tf.contrib.learn.preprocessing`; values are TensorFlow 1.15.5's."""

import numpy as np
import pytest

import tfcompat as tf

preprocessing = tf.contrib.learn.preprocessing
DOCUMENTS = ["The cat's 12.5 dogs don't run, run! @home a_b c-d é日本 'quote'", "the cat sat ×2 a1", "the the cat"]


def rows(found):
    return [row.tolist() for row in found]


def test_rows_of_word_numbers():
    processor = preprocessing.VocabularyProcessor(6)
    found = list(processor.fit_transform(DOCUMENTS))
    assert found[0].dtype == np.int64
    assert rows(found) == [[1, 2, 3, 4, 5, 6], [13, 14, 15, 16, 17, 0], [13, 13, 14, 0, 0, 0]]
    assert len(processor.vocabulary_) == 18
    unknown = list(processor.transform(["the unknown cat"]))
    assert rows(unknown) == [[13, 0, 14, 0, 0, 0]]
    assert list(processor.reverse(unknown)) == ["the <UNK> cat <UNK> <UNK> <UNK>"]


def test_words_that_are_too_rare_are_unknown():
    vocabulary = preprocessing.VocabularyProcessor(6, min_frequency=1).fit(DOCUMENTS).vocabulary_
    assert [vocabulary.reverse(i) for i in range(len(vocabulary))] == ["<UNK>", "the", "cat", "run"]
    assert (vocabulary.get("dogs"), vocabulary.get("run")) == (0, 3)
    vocabulary.freeze(False)
    assert vocabulary.get("new") == 4


def test_words_of_a_document():
    words = [
        ["The", "cat's", "12", "5", "dogs", "don't", "run", "run", "home", "a_b", "c-d", "é日本", "'quote'"],
        ["the", "cat", "sat", "2", "a1"],
        ["the", "the", "cat"],
    ]
    assert list(preprocessing.tokenizer(DOCUMENTS)) == words


def test_trim_by_both_limits():
    vocabulary = preprocessing.CategoricalVocabulary(support_reverse=False)
    for category in "aabbbc":
        vocabulary.add(category)
    vocabulary.add("q", 5)
    vocabulary.trim(1, 4)
    vocabulary.freeze()
    assert [vocabulary.get(c) for c in "bacq"] == [1, 2, 0, 0]
    with pytest.raises(ValueError, match="wasn't initialized with support_reverse to support reverse"):
        vocabulary.reverse(1)


def test_saved_and_restored(tmp_path):
    path = str(tmp_path / "vocabulary")
    preprocessing.VocabularyProcessor(4).fit(["the cat sat"]).save(path)
    assert rows(preprocessing.VocabularyProcessor.restore(path).transform(["sat the dog"])) == [[3, 1, 0, 0]]
