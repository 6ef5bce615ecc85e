"""Nests with sparse tensors in them, copies of datasets on devices, and the nodes that datasets are made of."""

import pytest

import tfcompat as tf
from tfcompat._src.data import clone, sparse


def test_a_nest_comes_back():
    with tf.Graph().as_default(), tf.Session() as session:
        tensors = {"a": tf.constant([1, 2]), "b": tf.SparseTensor([[0, 1], [2, 0]], [5.0, 6.0], [3, 4])}
        classes = sparse.get_classes(tensors)
        assert classes == {"a": tf.Tensor, "b": tf.SparseTensor} and sparse.any_sparse(classes) and not sparse.any_sparse((tf.Tensor,))
        types, shapes = {"a": tf.int32, "b": tf.float32}, {"a": tf.TensorShape([2]), "b": tf.TensorShape([3, 4])}
        assert sparse.as_dense_types(types, classes) == {"a": tf.int32, "b": tf.variant}
        assert sparse.as_dense_shapes(shapes, classes)["b"].ndims is None
        serialized = sparse.serialize_sparse_tensors(tensors)
        assert serialized["b"].dtype == tf.variant and serialized["b"].shape.as_list() == [3]
        back = session.run(sparse.deserialize_sparse_tensors(serialized, types, shapes, classes))
        assert back["a"].tolist() == [1, 2] and back["b"].indices.tolist() == [[0, 1], [2, 0]] and back["b"].values.tolist() == [5, 6]
        assert sparse.serialize_many_sparse_tensors(tensors)["b"].shape.as_list() == [None, 3]


def test_copies_on_devices():
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        copies = clone.replicate(tf.data.Dataset.range(3).map(lambda x: x * x), ["/cpu:0", "/cpu:1"])
        elements = [tf.data.make_one_shot_iterator(copies[device]).get_next() for device in ("/cpu:0", "/cpu:1")]
        assert [session.run(elements) for _ in range(3)] == [[0, 0], [1, 1], [4, 4]]
        with pytest.raises(TypeError, match="must be a `tf.data.Dataset`"):
            clone.replicate(3, [])


def test_nodes_of_a_dataset():
    with tf.Graph().as_default():
        first, second = tf.data.Dataset.range(3), tf.data.Dataset.range(4).batch(2)
        ops = clone.obtain_all_variant_tensor_ops(tf.data.Dataset.zip((first, second)))
        assert [op.type for op in ops] == ["ZipDataset", "RangeDataset", "BatchDatasetV2", "RangeDataset"]
