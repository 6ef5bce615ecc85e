"""Bad input of every op family: fed, so that only the run can see it, unless the name ends in _static or _attr."""

import numpy as np

from cases.table import Table

TABLE = Table("bad_input")
error_case = TABLE.error_case


def fed(tf, value, dtype=None):
    """A tensor of unknown rank."""
    return tf.placeholder_with_default(np.asarray(value, dtype), None)


def ones(tf, *shape):
    """Ones of unknown static shape."""
    return fed(tf, np.ones(shape), np.float32)


# fmt: off
FAMILIES = {
    "array": {
        "gather": lambda tf: tf.gather(ones(tf, 3), fed(tf, [5])),
        "gather_negative": lambda tf: tf.gather(ones(tf, 3), fed(tf, [-1])),
        "gather_nd": lambda tf: tf.gather_nd(ones(tf, 3, 2), fed(tf, [[3, 0]])),
        "reshape": lambda tf: tf.reshape(ones(tf, 3), fed(tf, [2, 2])),
        "reshape_negative": lambda tf: tf.reshape(ones(tf, 4), fed(tf, [-1, -1])),
        "slice": lambda tf: tf.slice(ones(tf, 3), fed(tf, [2]), fed(tf, [2])),
        "fill": lambda tf: tf.fill(fed(tf, [-1]), 1.0),
        "broadcast_to": lambda tf: tf.broadcast_to(ones(tf, 2), fed(tf, [[2, 2]])),
        "concat": lambda tf: tf.concat([ones(tf, 2, 3), ones(tf, 3, 2)], 0),
        "transpose": lambda tf: tf.transpose(ones(tf, 2, 3), fed(tf, [0, 0])),
        "tile": lambda tf: tf.tile(ones(tf, 2), fed(tf, [-1])),
        "one_hot_value": lambda tf: tf.one_hot([1], 3, fed(tf, [1.0], np.float32), 0.0),
        "dynamic_stitch": lambda tf: tf.dynamic_stitch([fed(tf, [[0]])], [fed(tf, [1.0])]),
        "batch_to_space_crops": lambda tf: tf.batch_to_space_nd(ones(tf, 4, 1, 1, 1), [2, 2], fed(tf, [[0, 0]])),
        "diag": lambda tf: tf.diag(ones(tf)),
        "band_part": lambda tf: tf.matrix_band_part(ones(tf, 2, 2), fed(tf, [1], np.int64), fed(tf, 0, np.int64)),
        "split": lambda tf: tf.split(ones(tf, 4), fed(tf, [1, 2]), num=2),
        "edit_distance": lambda tf: tf.raw_ops.EditDistance(
            hypothesis_indices=[[0, 0]], hypothesis_values=[1], hypothesis_shape=fed(tf, [1, -1], np.int64),
            truth_indices=[[0, 0]], truth_values=[1], truth_shape=[1, 1],
        ),
        "patches_depth_attr": lambda tf: tf.image.extract_image_patches(
            ones(tf, 1, 4, 4, 1), [1, 2, 2, 1], [1, 1, 1, 1], [2, 1, 1, 1], "VALID"
        ),
        "strided_slice_lengths": lambda tf: tf.raw_ops.StridedSlice(
            input=ones(tf, 3), begin=fed(tf, [0]), end=fed(tf, [], np.int32), strides=fed(tf, [1])
        ),
        "split_axis_rank": lambda tf: tf.raw_ops.Split(axis=fed(tf, [0]), value=ones(tf, 4), num_split=2),
        "where_scalar": lambda tf: tf.where(ones(tf)),
        "patches_window_attr": lambda tf: tf.image.extract_image_patches(
            ones(tf, 1, 4, 4, 1), [1, 0, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID"
        ),
        "parallel_concat_unknown": lambda tf: tf.raw_ops.ParallelConcat(values=[ones(tf, 1, 2)], shape=[1, 2]),
        "edit_distance_rows": lambda tf: tf.raw_ops.EditDistance(
            hypothesis_indices=[[0, 0]], hypothesis_values=fed(tf, [], np.int32), hypothesis_shape=[1, 1],
            truth_indices=[[0, 0]], truth_values=[1], truth_shape=[1, 1],
        ),
    },
    "math": {
        "add": lambda tf: ones(tf, 2) + ones(tf, 3),
        "add_n": lambda tf: tf.add_n([ones(tf, 2, 3), ones(tf, 3)]),
        "matmul": lambda tf: tf.matmul(ones(tf, 2, 3), ones(tf, 2, 3)),
        "batch_matmul": lambda tf: tf.raw_ops.BatchMatMul(x=ones(tf, 2, 3, 4), y=ones(tf, 1, 4, 5)),
        "batch_matmul_rank": lambda tf: tf.raw_ops.BatchMatMulV2(x=ones(tf), y=ones(tf, 1, 4, 5)),
        "argmax": lambda tf: tf.argmax(ones(tf, 2, 3), fed(tf, [0])),
        "argmax_axis": lambda tf: tf.argmax(ones(tf, 2, 3), fed(tf, 2)),
        "argmin_rank_static": lambda tf: tf.argmin(tf.ones([2, 3]), [0]),
        "divide_by_zero": lambda tf: fed(tf, [1]) // fed(tf, [0]),
        "modulo_zero": lambda tf: tf.floormod(fed(tf, [1]), fed(tf, [0])),
        "cumsum_axis": lambda tf: tf.cumsum(ones(tf, 2), fed(tf, 3)),
        "segment": lambda tf: tf.segment_sum(ones(tf, 2), fed(tf, [1, 0])),
        "unsorted_segment": lambda tf: tf.unsorted_segment_sum(ones(tf, 2), fed(tf, [0, 9]), 3),
        "bincount": lambda tf: tf.raw_ops.Bincount(arr=fed(tf, [-1]), size=3, weights=[1.0]),
        "range_delta": lambda tf: tf.range(fed(tf, 0), fed(tf, 3), fed(tf, 0)),
        "fake_quant": lambda tf: tf.fake_quant_with_min_max_args_gradient(ones(tf, 3), ones(tf, 2, 3)),
        "fake_quant_channels": lambda tf: tf.fake_quant_with_min_max_vars_per_channel(
            ones(tf, 2, 3), ones(tf, 2), ones(tf, 2)
        ),
        "cross_shapes": lambda tf: tf.cross(ones(tf, 2, 3), ones(tf, 2, 4)),
        "linspace_rank": lambda tf: tf.linspace(0.0, ones(tf, 1), 3),
        "unsorted_segment_rank": lambda tf: tf.unsorted_segment_max(ones(tf, 2), fed(tf, [0, 1]), fed(tf, [3])),
        "sparse_segment_grad": lambda tf: tf.raw_ops.SparseSegmentMeanGrad(
            grad=ones(tf, 2, 3), indices=fed(tf, [0, 1]), segment_ids=fed(tf, [0]), output_dim0=3
        ),
        "fake_quant_scalar": lambda tf: tf.fake_quant_with_min_max_vars_per_channel(
            ones(tf, 2, 3), fed(tf, [0.0], np.float32), ones(tf, 3)
        ),
    },
    "nn": {
        "elu_grad": lambda tf: tf.raw_ops.EluGrad(gradients=ones(tf), outputs=ones(tf, 3)),
        "relu_grad": lambda tf: tf.raw_ops.ReluGrad(gradients=ones(tf, 2), features=ones(tf, 3)),
        "bias_add": lambda tf: tf.nn.bias_add(ones(tf, 2, 3), ones(tf, 2)),
        "bias_add_grad": lambda tf: tf.raw_ops.BiasAddGrad(out_backprop=ones(tf, 2)),
        "pool_padding_attr": lambda tf: tf.nn.max_pool(ones(tf, 1, 2, 2, 1), 2, 2, "BAD"),
        "pool_rank": lambda tf: tf.nn.max_pool(ones(tf, 2, 2), 2, 2, "SAME"),
        "pool_grad_shape": lambda tf: tf.raw_ops.AvgPoolGrad(
            orig_input_shape=fed(tf, 4), grad=ones(tf, 1, 2, 2, 1), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1],
            padding="SAME",
        ),
        "lrn_grad": lambda tf: tf.raw_ops.LRNGrad(
            input_grads=ones(tf, 1, 2, 2, 3), input_image=ones(tf, 2, 2, 2, 3), output_image=ones(tf, 1, 2, 2, 3)
        ),
        "top_k": lambda tf: tf.nn.top_k(ones(tf, 3), fed(tf, 4)),
        "in_top_k": lambda tf: tf.nn.in_top_k(ones(tf, 2, 3), fed(tf, [1]), 1),
        "pool_window_attr": lambda tf: tf.raw_ops.MaxPool(
            input=ones(tf, 1, 4, 4, 1), ksize=[1, 0, 2, 1], strides=[1, 1, 1, 1], padding="SAME"
        ),
        "pool_3d_stride_attr": lambda tf: tf.raw_ops.AvgPool3D(
            input=ones(tf, 1, 4, 4, 4, 1), ksize=[1, 2, 2, 2, 1], strides=[0, 1, 1, 1, 1], padding="SAME"
        ),
        "argmax_grad_batch_attr": lambda tf: tf.raw_ops.MaxPoolGradWithArgmax(
            input=ones(tf, 1, 2, 2, 1), grad=ones(tf, 1, 1, 1, 1), argmax=fed(tf, [[[[0]]]], np.int64),
            ksize=[2, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME",
        ),
        "dilation_grad": lambda tf: tf.raw_ops.Dilation2DBackpropInput(
            input=ones(tf, 1, 4, 4, 2), filter=ones(tf, 2, 2, 2), out_backprop=ones(tf, 1, 2, 2, 2),
            strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="SAME",
        ),
        "lrn_radius_attr": lambda tf: tf.nn.lrn(ones(tf, 1, 2, 2, 3), depth_radius=-1),
        "batch_norm_statistics": lambda tf: tf.raw_ops.FusedBatchNormV3(
            x=ones(tf, 1, 2, 2, 3), scale=ones(tf, 3), offset=ones(tf, 3), mean=ones(tf, 2, 0), variance=ones(tf, 0)
        ).y,
    },
    "image": {
        "png": lambda tf: tf.image.decode_png(fed(tf, b"\x89PNG\r\n\x1a\ngarbage", object)),
        "jpeg": lambda tf: tf.image.decode_jpeg(fed(tf, b"\xff\xd8\xff\xe0garbage", object)),
        "empty": lambda tf: tf.image.decode_image(fed(tf, b"", object)),
        "resize_rank": lambda tf: tf.image.resize_bilinear(ones(tf, 2, 2), [2, 2]),
        "resize_size": lambda tf: tf.image.resize_bilinear(ones(tf, 1, 2, 2, 1), fed(tf, [0, 2])),
        "crop_index": lambda tf: tf.image.crop_and_resize(
            ones(tf, 1, 2, 2, 1), ones(tf, 1, 4), fed(tf, [3]), [2, 2]
        ),
        "suppression": lambda tf: tf.image.non_max_suppression(ones(tf, 2, 4), ones(tf, 2), 2, fed(tf, 2.0, np.float32)),
        "hsv_channels": lambda tf: tf.image.hsv_to_rgb(ones(tf, 2, 2, 4)),
        "rgb_channels": lambda tf: tf.image.rgb_to_hsv(ones(tf, 2, 2, 4)),
        "resize_too_large": lambda tf: tf.image.resize_bilinear(ones(tf, 1, 2, 2, 1), fed(tf, [2**31 - 1, 2**14])),
    },
    "linalg": {
        "cholesky": lambda tf: tf.cholesky(fed(tf, [[1.0, 2.0], [2.0, 1.0]])),
        "inverse": lambda tf: tf.matrix_inverse(fed(tf, np.zeros((2, 2)))),
        "inverse_shape": lambda tf: tf.matrix_inverse(ones(tf, 2, 3)),
        "solve": lambda tf: tf.matrix_solve(ones(tf, 2, 2), ones(tf, 3, 1)),
        "least_squares": lambda tf: tf.raw_ops.MatrixSolveLs(
            matrix=ones(tf, 2, 2), rhs=ones(tf, 2, 1), l2_regularizer=fed(tf, -1.0, np.float64)
        ),
    },
    "parsing": {
        "base64": lambda tf: tf.decode_base64(fed(tf, b"a*b", object)),
        "number": lambda tf: tf.string_to_number(fed(tf, b"1x", object)),
        "csv": lambda tf: tf.decode_csv(fed(tf, [b"1,2,3"], object), [[0], [0]]),
        "csv_number": lambda tf: tf.decode_csv(fed(tf, [b"1,x"], object), [[0], [0]]),
        "zlib": lambda tf: tf.decode_compressed(fed(tf, [b"garbage"], object), "ZLIB"),
        "raw": lambda tf: tf.decode_raw(fed(tf, [b"abc"], object), tf.int32),
        "json": lambda tf: tf.io.decode_json_example(fed(tf, b"{", object)),
    },
    "signal": {
        "rfft_length": lambda tf: tf.raw_ops.RFFT2D(input=ones(tf, 2, 4), fft_length=fed(tf, [2])),
        "irfft_length": lambda tf: tf.raw_ops.IRFFT(input=fed(tf, np.ones(3), np.complex64), fft_length=fed(tf, [2, 2])),
        "fft_rank": lambda tf: tf.signal.fft2d(fed(tf, np.ones(3), np.complex64)),
        "mfcc_rate": lambda tf: tf.raw_ops.Mfcc(spectrogram=ones(tf, 1, 3, 9), sample_rate=fed(tf, [8000])),
    },
    "random": {
        "uniform_shape": lambda tf: tf.random_uniform(fed(tf, [-1, 2])),
        "normal_shape": lambda tf: tf.random_normal(fed(tf, [2, -1])),
        "integer_bounds": lambda tf: tf.random_uniform([2], fed(tf, 5), 5, tf.int32),
        "integer_bound_rank": lambda tf: tf.random_uniform([2], 0, fed(tf, [5, 6]), tf.int32),
        "stateless_seed": lambda tf: tf.random.stateless_uniform([2], fed(tf, [1])),
        "shape_rank": lambda tf: tf.random_uniform(fed(tf, [[2]]), 0, 5, tf.int32),
        "stateless_seed_rank": lambda tf: tf.random.stateless_normal([2], fed(tf, [[1, 2]])),
    },
    "sparse": {
        "to_dense": lambda tf: tf.sparse_to_dense(fed(tf, [[9]]), [3], fed(tf, [1.0])),
        "to_dense_repeated": lambda tf: tf.sparse_to_dense(fed(tf, [[1], [1]]), [3], fed(tf, [1.0, 2.0])),
        "reshape": lambda tf: tf.sparse_reshape(
            tf.SparseTensor([[0, 0]], [1.0], fed(tf, [2, 3], np.int64)), fed(tf, [4, 2], np.int64)
        ).indices,
    },
    "strings": {
        "substr": lambda tf: tf.strings.substr(fed(tf, [b"abc"], object), fed(tf, [5]), 1),
        "regex_attr": lambda tf: tf.strings.regex_replace(fed(tf, b"abc", object), "(", ""),
        "split_delimiter": lambda tf: tf.string_split(fed(tf, b"abc", object)).values,
        "join": lambda tf: tf.string_join([fed(tf, [b"a", b"b"], object), fed(tf, [b"a"] * 3, object)]),
        "split_delimiter_rank": lambda tf: tf.raw_ops.StringSplit(
            input=fed(tf, [b"a b"], object), delimiter=fed(tf, [b" "], object)
        ).values,
    },
    "state": {
        "scatter": lambda tf: tf.scatter_update(tf.Variable(tf.ones([3])), fed(tf, [5]), fed(tf, [1.0], np.float32)),
        "scatter_shape": lambda tf: tf.scatter_add(tf.Variable(tf.ones([3])), fed(tf, [1]), ones(tf, 2)),
        "assign": lambda tf: tf.assign(tf.Variable(tf.ones([3])), ones(tf, 2)),
    },
}

# fmt: on

for _family, _rows in FAMILIES.items():
    for _name, _build in _rows.items():
        error_case(_family + "_" + _name, _build)
