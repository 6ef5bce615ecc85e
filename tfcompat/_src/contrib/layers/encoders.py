"""tf.contrib.layers: embeddings of sequences of ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base.export import export
from tfcompat._src.contrib.framework.variables import model_variable
from tfcompat._src.contrib.layers.sparse_ops import dense_to_sparse_tensor
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.search import unique as unique_elements
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.reduce import reduce_mean, reduce_prod
from tfcompat._src.ops.nn.embedding import embedding_lookup
from tfcompat._src.ops.sparse.embedding import contrib_safe_embedding_lookup_sparse
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.layers.embedding_lookup_unique", "contrib.slim.embedding_lookup_unique")
def embedding_lookup_unique(
    params: object, ids: TensorLike, partition_strategy: str = "mod", name: str | None = None
) -> Tensor:
    """tf.nn.embedding_lookup that looks each id up once; arguments and result as there."""
    with name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = convert_to_tensor(ids)
        shape = shape_of(ids)
        flat = reshape(ids, reduce_prod(shape, keepdims=True))
        distinct, places = unique_elements(flat)
        embeddings = embedding_lookup(params, distinct, partition_strategy)
        found = gather(embeddings, places)
        result = reshape(found, concat([shape, shape_of(embeddings)[1:]], 0))
        result.set_shape(ids.get_shape().concatenate(embeddings.get_shape()[1:]))
        return result


@export("contrib.layers.bow_encoder", "contrib.slim.bow_encoder")
def bow_encoder(
    ids: TensorLike, vocab_size: int, embed_dim: int, sparse_lookup: bool = True, initializer: object = None,
    regularizer: object = None, trainable: bool = True, scope: object = None, reuse: bool | None = None,
) -> Tensor:  # fmt: skip
    """The mean of the embeddings of each row of ids.

    Args:
      ids: int Tensor or SparseTensor [batch, length].
      vocab_size, embed_dim: shape of the embeddings.
      sparse_lookup: whether zeros are left out.
      initializer, regularizer, trainable: of the variable "embeddings".
      scope: variable scope, "bow_encoder" by default.
      reuse: whether the variable must exist.

    Raises:
      ValueError: a size is missing. TypeError: a SparseTensor comes without `sparse_lookup`.
    """
    if not vocab_size or not embed_dim:
        raise ValueError("Must specify vocab size and embedding dimension")
    with variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = model_variable(
            "embeddings", shape=[vocab_size, embed_dim], initializer=initializer, regularizer=regularizer,
            trainable=trainable,
        )  # fmt: skip
        if sparse_lookup:
            sparse_ids = ids if isinstance(ids, SparseTensor) else dense_to_sparse_tensor(ids)
            return contrib_safe_embedding_lookup_sparse([embeddings], sparse_ids, combiner="mean", default_id=0)
        if isinstance(ids, SparseTensor):
            raise TypeError("ids are expected to be dense Tensor, got: %s", ids)
        return reduce_mean(embedding_lookup(embeddings, ids), axis=1)


@export("contrib.layers.embed_sequence", "contrib.slim.embed_sequence")
def embed_sequence(
    ids: object, vocab_size: int | None = None, embed_dim: int | None = None, unique: bool = False,
    initializer: object = None, regularizer: object = None, trainable: bool = True, scope: object = None,
    reuse: bool | None = None,
) -> Tensor:  # fmt: skip
    """The embeddings of ids.

    Args:
      ids: int Tensor [batch, length].
      vocab_size, embed_dim: shape of the embeddings; not needed where they are reused.
      unique: whether each id is looked up once.
      initializer, regularizer, trainable: of the variable "embeddings".
      scope: variable scope, "EmbedSequence" by default.
      reuse: whether the variable must exist.

    Returns:
      Tensor [batch, length, embed_dim].

    Raises:
      ValueError: a size is missing.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            "Must specify vocab size and embedding dimension when not reusing. Got vocab_size="
            f"{vocab_size} and embed_dim={embed_dim}"
        )
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        unknown = (reuse and vocab_size is None) or embed_dim is None
        embeddings = model_variable(
            "embeddings", shape=None if unknown else [vocab_size, embed_dim], initializer=initializer,
            regularizer=regularizer, trainable=trainable,
        )  # fmt: skip
        return (embedding_lookup_unique if unique else embedding_lookup)(embeddings, ids)
