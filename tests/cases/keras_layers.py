"""tf.keras.layers, with seeded initial values: outputs, gradients and node lists."""

from cases.table import F32, I32, Table

TABLE = Table("keras_layers")
case, error_case = TABLE.case, TABLE.error_case
LOOSE = dict(rtol=1e-4, atol=1e-5, reason="initial values differ by one unit and sums have another order")
SEQUENCE, IMAGE, VOLUME = F32(2, 4, 3), F32(2, 5, 5, 2), F32(1, 3, 4, 4, 2)


def layer(name, make, x, call=None, **options):
    """A case that calls the layer `make(tf.keras.layers)` gives on `x`."""
    settings = dict(LOOSE, seed=42)
    settings.update(options)
    case(name, lambda tf, x: make(tf.keras.layers)(x, **(call or {})), x=x, **settings)


layer("dense", lambda k: k.Dense(4, "relu"), F32(2, 3))
layer("dense_rank3", lambda k: k.Dense(2, use_bias=False, kernel_initializer="he_normal"), SEQUENCE)
layer("activation", lambda k: k.Activation("selu"), F32(2, 3))
layer("masking", lambda k: k.Masking(0.5), SEQUENCE)
layer("reshape", lambda k: k.Reshape((2, -1)), F32(2, 4, 3))
layer("permute", lambda k: k.Permute((2, 1)), SEQUENCE)
layer("repeat_vector", lambda k: k.RepeatVector(3), F32(2, 3))
layer("lambda", lambda k: k.Lambda(lambda x: x * 2.0 + 1.0), F32(2, 3))
layer("activity_regularization", lambda k: k.ActivityRegularization(0.1, 0.2), F32(2, 3), partial=False)
layer("spatial_dropout", lambda k: k.SpatialDropout2D(0.5), IMAGE, call=dict(training=True), grad=False)
layer("conv1d_causal", lambda k: k.Conv1D(3, 2, padding="causal", dilation_rate=2), SEQUENCE)
layer("conv2d", lambda k: k.Conv2D(3, 2, strides=2, padding="same", activation="tanh"), IMAGE)
layer("conv2d_transpose", lambda k: k.Conv2DTranspose(3, 3, strides=2, output_padding=1), IMAGE)
layer("conv2d_transpose_dilated", lambda k: k.Conv2DTranspose(3, 2, dilation_rate=2), IMAGE)
layer("separable_conv2d", lambda k: k.SeparableConv2D(3, 2, depth_multiplier=2), IMAGE)
layer("depthwise_conv2d", lambda k: k.DepthwiseConv2D(2, depth_multiplier=2), IMAGE)
layer("locally_connected1d", lambda k: k.LocallyConnected1D(3, 2), SEQUENCE, partial=False)
layer("locally_connected1d_sparse", lambda k: k.LocallyConnected1D(3, 2, implementation=3), SEQUENCE, partial=False)
layer("locally_connected2d_masked", lambda k: k.LocallyConnected2D(2, 2, implementation=2), IMAGE, partial=False)
layer("up_sampling2d", lambda k: k.UpSampling2D(2, interpolation="bilinear"), IMAGE)
layer("up_sampling3d", lambda k: k.UpSampling3D(2), VOLUME)
layer("zero_padding2d", lambda k: k.ZeroPadding2D(((1, 2), (0, 3))), IMAGE)
layer("cropping2d", lambda k: k.Cropping2D(((0, 1), (1, 0))), IMAGE)
layer("max_pooling1d", lambda k: k.MaxPooling1D(2), SEQUENCE)
layer("average_pooling3d", lambda k: k.AveragePooling3D(2), VOLUME)
layer("global_average_pooling1d", lambda k: k.GlobalAveragePooling1D(), SEQUENCE)
layer("global_max_pooling2d", lambda k: k.GlobalMaxPooling2D(), IMAGE)
layer("batch_normalization", lambda k: k.BatchNormalization(), F32(4, 3), call=dict(training=True))
layer("layer_normalization", lambda k: k.LayerNormalization(axis=[1, 2]), SEQUENCE, partial=False)
layer("embedding", lambda k: k.Embedding(5, 3), I32(2, 4, low=0, high=5))
layer("leaky_relu", lambda k: k.LeakyReLU(), F32(2, 3))
layer("p_relu", lambda k: k.PReLU("ones", shared_axes=[1]), SEQUENCE, partial=False)
layer("elu", lambda k: k.ELU(0.5), F32(2, 3))
layer("thresholded_relu", lambda k: k.ThresholdedReLU(0.5), F32(2, 3))
layer("relu", lambda k: k.ReLU(1.0, 0.1, 0.2), F32(2, 3))
layer("simple_rnn", lambda k: k.SimpleRNN(3), SEQUENCE)
layer("gru", lambda k: k.GRU(3, return_sequences=True), SEQUENCE)
layer("gru_reset_after", lambda k: k.GRU(3, reset_after=True, implementation=2, unroll=True), SEQUENCE, partial=False)
layer("lstm", lambda k: k.LSTM(3, return_state=True, go_backwards=True), SEQUENCE)
layer("lstm_together", lambda k: k.LSTM(3, implementation=2, use_bias=False), SEQUENCE)
layer("stacked_cells", lambda k: k.RNN([k.LSTMCell(3), k.GRUCell(2)]), SEQUENCE)
layer("conv_lstm2d", lambda k: k.ConvLSTM2D(2, 2), VOLUME, partial=False)
layer("time_distributed", lambda k: k.TimeDistributed(k.Dense(2)), SEQUENCE)
layer("bidirectional", lambda k: k.Bidirectional(k.LSTM(2, return_sequences=True), merge_mode="sum"), SEQUENCE)


def merged(name, make):
    """A case that merges two tensors."""
    case(name, lambda tf, x, y: make(tf.keras.layers)([x, y]), x=F32(2, 3, 4), y=F32(2, 3, 4), **LOOSE)


merged("add", lambda k: k.Add())
merged("average", lambda k: k.Average())
merged("maximum", lambda k: k.Maximum())
merged("concatenate", lambda k: k.Concatenate(axis=1))
merged("dot", lambda k: k.Dot(axes=2, normalize=True))
case("attention", lambda tf, x, y: tf.keras.layers.Attention()([x, y]), x=F32(2, 3, 4), y=F32(2, 5, 4), **LOOSE)
case(
    "masked_lstm",
    lambda tf, x: tf.keras.layers.LSTM(2)(x, mask=tf.constant([[True, True, False, True], [True, False, False, False]])),
    x=SEQUENCE, seed=42, partial=False, **LOOSE
)  # fmt: skip

error_case("dense_dtype", lambda tf, x: tf.keras.layers.Dense(2)(x), x=I32(2, 3))
error_case("permute_dims", lambda tf, x: tf.keras.layers.Permute((0, 1))(x), x=SEQUENCE)
error_case("merge_shapes", lambda tf, x: tf.keras.layers.Add()([x, x[:, :2]]), x=SEQUENCE)
error_case("relu_slope", lambda tf, x: tf.keras.layers.ReLU(negative_slope=-1.0)(x), x=F32(2, 3))
error_case("padding_length", lambda tf, x: tf.keras.layers.ZeroPadding2D((1, 1, 1))(x), x=IMAGE)
