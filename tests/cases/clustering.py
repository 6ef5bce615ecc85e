"""Centers of clusters: k-means++ and k-MC2 to the bit, nearest centers."""

from cases.table import F32, Table

TABLE = Table("clustering")
case, error_case = TABLE.case, TABLE.error_case
OUTPUTS = {"NearestNeighbors": ("int64", "float32"), "KmeansPlusPlusInitialization": ("float32",), "KMC2ChainInitialization": ("int64",)}


def node(tf, kind, *inputs):
    """The outputs of a node; 1.15 has no public function for these op types."""
    tensors = [tf.convert_to_tensor(v, tf.int64) if isinstance(v, int) else v for v in inputs]
    return tf.get_default_graph().create_op(kind, tensors, [tf.as_dtype(each) for each in OUTPUTS[kind]]).outputs


for _k in (1, 3, 9):
    case(
        "nearest_%d" % _k,
        lambda tf, points, centers, k=_k: node(tf, "NearestNeighbors", points, centers, k),
        grad=False,
        points=F32(20, 3),
        centers=F32(7, 3),
        rtol=1e-4,
        atol=1e-5,
        reason="sums of products in another order",
    )
for _seed in (0, 5, 12345678901):
    for _retries in (0, 2, -1):
        case(
            "kmeans_plus_plus_%d_%d" % (_seed, _retries),
            lambda tf, points, s=_seed, r=_retries: node(tf, "KmeansPlusPlusInitialization", points, 5, s, r),
            grad=False,
            points=F32(50, 3, low=0.0, high=1.0),
        )
    case(
        "kmc2_%d" % _seed,
        lambda tf, distances, s=_seed: node(tf, "KMC2ChainInitialization", distances, s),
        grad=False,
        distances=F32(40, low=0.0, high=1.0),
    )
error_case(
    "nearest_dimensions",
    lambda tf, points, centers: node(tf, "NearestNeighbors", points, centers, 1),
    points=F32(4, 3),
    centers=F32(7, 2),
)
for _count in (0, 51):
    error_case(
        "kmeans_plus_plus_samples_%d" % _count,
        lambda tf, points, count=_count: node(tf, "KmeansPlusPlusInitialization", points, count, 1, 0),
        points=F32(50, 3),
    )
error_case("kmc2_seed", lambda tf, distances: node(tf, "KMC2ChainInitialization", distances, tf.constant([1], tf.int64)), distances=F32(4))
