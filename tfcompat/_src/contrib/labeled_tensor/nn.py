"""tf.contrib.labeled_tensor.nn: activations and losses of labeled tensors."""

from __future__ import annotations

from tfcompat._src.base.export import export
from tfcompat._src.contrib.labeled_tensor.core import define_binary_op, define_unary_op
from tfcompat._src.contrib.nn import ops as contrib_nn
from tfcompat._src.ops.nn import activation, loss, softmax

relu = export("contrib.labeled_tensor.nn.relu")(define_unary_op("relu", activation.relu))
relu6 = export("contrib.labeled_tensor.nn.relu6")(define_unary_op("relu6", activation.relu6))
crelu = export("contrib.labeled_tensor.nn.crelu")(define_unary_op("crelu", activation.crelu))
elu = export("contrib.labeled_tensor.nn.elu")(define_unary_op("elu", activation.elu))
softplus = export("contrib.labeled_tensor.nn.softplus")(define_unary_op("softplus", activation.softplus))
l2_loss = export("contrib.labeled_tensor.nn.l2_loss")(define_unary_op("l2_loss", loss.l2_loss))
softmax_ = export("contrib.labeled_tensor.nn.softmax")(define_unary_op("softmax", softmax.softmax))
log_softmax = export("contrib.labeled_tensor.nn.log_softmax")(define_unary_op("log_softmax", softmax.log_softmax))
sigmoid_cross_entropy_with_logits = export("contrib.labeled_tensor.nn.sigmoid_cross_entropy_with_logits")(
    define_binary_op(
        "sigmoid_cross_entropy_with_logits",
        contrib_nn.deprecated_flipped_sigmoid_cross_entropy_with_logits,
    )
)
softmax_cross_entropy_with_logits = export("contrib.labeled_tensor.nn.softmax_cross_entropy_with_logits")(
    define_binary_op(
        "softmax_cross_entropy_with_logits",
        contrib_nn.deprecated_flipped_softmax_cross_entropy_with_logits,
    )
)
sparse_softmax_cross_entropy_with_logits = export("contrib.labeled_tensor.nn.sparse_softmax_cross_entropy_with_logits")(
    define_binary_op(
        "sparse_softmax_cross_entropy_with_logits",
        contrib_nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits,
    )
)
