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
        "fill_value": lambda tf: tf.fill([2], ones(tf, 1)),
        "gather_axis": lambda tf: tf.gather(ones(tf, 3), [0], axis=fed(tf, [0])),
        "one_hot_depth": lambda tf: tf.raw_ops.OneHot(indices=[0], depth=fed(tf, [3]), on_value=1.0, off_value=0.0),
        "concat_axis": lambda tf: tf.raw_ops.ConcatV2(values=[ones(tf, 2), ones(tf, 2)], axis=fed(tf, [0])),
        "concat_dim": lambda tf: tf.raw_ops.Concat(concat_dim=fed(tf, [0]), values=[ones(tf, 2), ones(tf, 2)]),
        "reverse_axis_rank": lambda tf: tf.reverse(ones(tf, 2, 3), fed(tf, [[0]])),
        "space_to_batch_rank": lambda tf: tf.raw_ops.SpaceToBatch(
            input=ones(tf, 1, 2, 2, 1, 1), paddings=[[0, 0], [0, 0]], block_size=2
        ),
        "batch_to_space_crops_large": lambda tf: tf.raw_ops.BatchToSpace(
            input=ones(tf, 4, 1, 1, 1), crops=fed(tf, [[2**31 - 1] * 2] * 2, np.int32), block_size=2
        ),
        "edit_distance_columns": lambda tf: tf.raw_ops.EditDistance(
            hypothesis_indices=fed(tf, [[0]], np.int64), hypothesis_values=[1], hypothesis_shape=[1, 1],
            truth_indices=[[0, 0]], truth_values=[1], truth_shape=[1, 1],
        ),
        "patches_lengths_attr": lambda tf: tf.raw_ops.ExtractImagePatches(
            images=ones(tf, 1, 4, 4, 1), ksizes=[1, 2, 2, 1], strides=[1] * 4, rates=[1] * 5, padding="SAME"
        ),
        "strided_slice_ellipses_attr": lambda tf: tf.raw_ops.StridedSlice(
            input=ones(tf, 3), begin=[0], end=[1], strides=[1], ellipsis_mask=6
        ),
        "one_hot_too_large": lambda tf: tf.one_hot(tf.zeros([2**10, 2**10], tf.int32), fed(tf, 2**31 - 1, np.int32)),
        "empty_too_large": lambda tf: tf.raw_ops.Empty(shape=fed(tf, [2**31 - 1] * 2, np.int32), dtype=tf.float32),
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
        "complex_parts_attr": lambda tf: tf.raw_ops.ComplexAbs(x=fed(tf, [1j]), Tout=tf.float32),
        "segment_largest": lambda tf: tf.segment_sum(ones(tf, 2), fed(tf, [0, 2**31 - 1], np.int32)),
        "sparse_segment_largest": lambda tf: tf.sparse_segment_mean(
            ones(tf, 2), fed(tf, [0, 1], np.int32), fed(tf, [0, 2**31 - 1], np.int32)
        ),
        "approximate_equal": lambda tf: tf.raw_ops.ApproximateEqual(x=ones(tf, 2), y=ones(tf, 1)),
        "bitpack": lambda tf: tf.raw_ops.CompareAndBitpack(input=ones(tf, 2, 7), threshold=0.5),
        "histogram_range": lambda tf: tf.raw_ops.HistogramFixedWidth(values=ones(tf, 3), value_range=ones(tf, 3), nbins=4),
        "unique_axis": lambda tf: tf.raw_ops.UniqueV2(x=ones(tf, 3), axis=fed(tf, 0)).y,
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
        "pool_batch_window_attr": lambda tf: tf.raw_ops.AvgPool(
            input=ones(tf, 1, 2, 2, 1), ksize=[0] * 4, strides=[1] * 4, padding="SAME"
        ),
        "pool_window_length": lambda tf: tf.raw_ops.MaxPoolV2(
            input=ones(tf, 1, 2, 2, 1), ksize=fed(tf, [1, 2, 2]), strides=[1] * 4, padding="SAME"
        ),
        "conv_sizes_length": lambda tf: tf.raw_ops.Conv2DBackpropInput(
            input_sizes=fed(tf, [1, 2, 2]), filter=ones(tf, 1, 1, 1, 1), out_backprop=ones(tf, 1, 2, 2, 1),
            strides=[1] * 4, padding="SAME",
        ),
        "conv_filter_sizes_negative": lambda tf: tf.raw_ops.Conv2DBackpropFilter(
            input=ones(tf, 1, 2, 2, 1), filter_sizes=fed(tf, [-1] * 4), out_backprop=ones(tf, 1, 2, 2, 1),
            strides=[1] * 4, padding="SAME",
        ),
        "conv_3d_dilations_attr": lambda tf: tf.raw_ops.Conv3DBackpropInputV2(
            input_sizes=[1] * 5, filter=ones(tf, 1, 1, 1, 1, 1), out_backprop=ones(tf, 1, 1, 1, 1, 1), strides=[1] * 5,
            padding="SAME", dilations=[1] * 6,
        ),
        "depthwise_strides_attr": lambda tf: tf.raw_ops.DepthwiseConv2dNative(
            input=ones(tf, 1, 4, 4, 1), filter=ones(tf, 1, 1, 1, 1), strides=[1, 1, 2, 1], padding="SAME"
        ),
        "dilation_rates_attr": lambda tf: tf.raw_ops.Dilation2DBackpropInput(
            input=ones(tf, 1, 2, 2, 1), filter=ones(tf, 1, 1, 1), out_backprop=ones(tf, 1, 2, 2, 1), strides=[1] * 4,
            rates=[1] * 5, padding="SAME",
        ),
        "gru_cell_grad": lambda tf: tf.raw_ops.GRUBlockCellGrad(
            x=ones(tf, 1, 4), h_prev=ones(tf, 2, 3), w_ru=ones(tf, 7, 6), w_c=ones(tf, 7, 3), b_ru=ones(tf, 6), b_c=ones(tf, 3),
            r=ones(tf, 2, 3), u=ones(tf, 2, 3), c=ones(tf, 2, 3), d_h=ones(tf, 2, 3),
        ).d_x,
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
        "jpeg_without_end": lambda tf: tf.image.decode_jpeg(
            tf.strings.substr(tf.image.encode_jpeg(fed(tf, np.zeros((8, 8, 3)), np.uint8)), 0, 600)
        ),
        "suppression_sigma": lambda tf: tf.raw_ops.NonMaxSuppressionV5(
            boxes=ones(tf, 2, 4), scores=ones(tf, 2), max_output_size=2, iou_threshold=0.5, score_threshold=0.0,
            soft_nms_sigma=fed(tf, np.nan, np.float32),
        ).selected_indices,
    },
    "linalg": {
        "cholesky": lambda tf: tf.cholesky(fed(tf, [[1.0, 2.0], [2.0, 1.0]])),
        "inverse": lambda tf: tf.matrix_inverse(fed(tf, np.zeros((2, 2)))),
        "inverse_shape": lambda tf: tf.matrix_inverse(ones(tf, 2, 3)),
        "solve": lambda tf: tf.matrix_solve(ones(tf, 2, 2), ones(tf, 3, 1)),
        "least_squares": lambda tf: tf.raw_ops.MatrixSolveLs(
            matrix=ones(tf, 2, 2), rhs=ones(tf, 2, 1), l2_regularizer=fed(tf, -1.0, np.float64)
        ),
        "self_adjoint_nan": lambda tf: tf.linalg.eigvalsh(fed(tf, [[1.0, 0.0], [np.nan, 1.0]])),
    },
    "parsing": {
        "base64": lambda tf: tf.decode_base64(fed(tf, b"a*b", object)),
        "number": lambda tf: tf.string_to_number(fed(tf, b"1x", object)),
        "csv": lambda tf: tf.decode_csv(fed(tf, [b"1,2,3"], object), [[0], [0]]),
        "csv_number": lambda tf: tf.decode_csv(fed(tf, [b"1,x"], object), [[0], [0]]),
        "zlib": lambda tf: tf.decode_compressed(fed(tf, [b"garbage"], object), "ZLIB"),
        "raw": lambda tf: tf.decode_raw(fed(tf, [b"abc"], object), tf.int32),
        "json": lambda tf: tf.io.decode_json_example(fed(tf, b"{", object)),
        "example_types_attr": lambda tf: tf.raw_ops.ParseSingleExample(
            serialized=fed(tf, b"", object), dense_defaults=[], num_sparse=1, sparse_keys=["a"], dense_keys=[], sparse_types=[],
            dense_shapes=[],
        ),
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
        "reduce_axes_rank": lambda tf: tf.raw_ops.SparseReduceSum(
            input_indices=[[0, 0]], input_values=[1.0], input_shape=[1, 1], reduction_axes=fed(tf, [[0]])
        ),
        "serialize_outside": lambda tf: tf.raw_ops.SerializeManySparse(
            sparse_indices=fed(tf, [[0, 5]], np.int64), sparse_values=[1.0], sparse_shape=[1, 3]
        ),
        "serialize_order": lambda tf: tf.raw_ops.SerializeManySparse(
            sparse_indices=fed(tf, [[0, 1], [0, 0]], np.int64), sparse_values=[1.0, 2.0], sparse_shape=[1, 3]
        ),
        "slice_grad": lambda tf: tf.raw_ops.SparseSliceGrad(
            backprop_val_grad=ones(tf, 1), input_indices=fed(tf, [[0, 0], [1, 1]], np.int64), input_start=[0, 0],
            output_indices=fed(tf, [[0, 1]], np.int64),
        ),
    },
    "strings": {
        "substr": lambda tf: tf.strings.substr(fed(tf, [b"abc"], object), fed(tf, [5]), 1),
        "regex_attr": lambda tf: tf.strings.regex_replace(fed(tf, b"abc", object), "(", ""),
        "split_delimiter": lambda tf: tf.string_split(fed(tf, b"abc", object)).values,
        "join": lambda tf: tf.string_join([fed(tf, [b"a", b"b"], object), fed(tf, [b"a"] * 3, object)]),
        "split_delimiter_rank": lambda tf: tf.raw_ops.StringSplit(
            input=fed(tf, [b"a b"], object), delimiter=fed(tf, [b" "], object)
        ).values,
        "split_rank": lambda tf: tf.raw_ops.StringSplitV2(input=fed(tf, [[b"a b"]], object), sep="").values,
        "split_sep_rank": lambda tf: tf.raw_ops.StringSplitV2(input=[b"a b"], sep=fed(tf, [b" "], object)).values,
        "substr_characters_length": lambda tf: tf.strings.substr(fed(tf, b"abc", object), -2, fed(tf, -1), "UTF8_CHAR"),
    },
    "state": {
        "scatter": lambda tf: tf.scatter_update(tf.Variable(tf.ones([3])), fed(tf, [5]), fed(tf, [1.0], np.float32)),
        "scatter_shape": lambda tf: tf.scatter_add(tf.Variable(tf.ones([3])), fed(tf, [1]), ones(tf, 2)),
        "assign": lambda tf: tf.assign(tf.Variable(tf.ones([3])), ones(tf, 2)),
        "shard_name_rank": lambda tf: tf.raw_ops.ShardedFilename(basename=fed(tf, [b"a"], object), shard=0, num_shards=2),
    },
}

# fmt: on

for _family, _rows in FAMILIES.items():
    for _name, _build in _rows.items():
        error_case(_family + "_" + _name, _build)
