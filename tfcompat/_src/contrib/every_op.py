"""Imports every module of contrib that registers op types, so that any of them is found."""

import tfcompat._src.contrib.boosted_trees.resources  # noqa: F401
import tfcompat._src.contrib.compiler.xla  # noqa: F401
import tfcompat._src.contrib.factorization.products  # noqa: F401
import tfcompat._src.contrib.hadoop.sequence_file  # noqa: F401
import tfcompat._src.contrib.image.distort  # noqa: F401
import tfcompat._src.contrib.image.segmentation  # noqa: F401
import tfcompat._src.contrib.image.stereogram  # noqa: F401
import tfcompat._src.contrib.image.transform  # noqa: F401
import tfcompat._src.contrib.input_pipeline.input_pipeline_ops  # noqa: F401
import tfcompat._src.contrib.layers.sparse_feature_cross  # noqa: F401
import tfcompat._src.contrib.libsvm.libsvm_ops  # noqa: F401
import tfcompat._src.contrib.memory_stats.memory_stats_ops  # noqa: F401
import tfcompat._src.contrib.nearest_neighbor.hyperplane_lsh_probes  # noqa: F401
import tfcompat._src.contrib.periodic_resample.periodic_resample  # noqa: F401
import tfcompat._src.contrib.reduce_slice_ops.reduce_slice_ops  # noqa: F401
import tfcompat._src.contrib.resampler.resampler  # noqa: F401
import tfcompat._src.contrib.tensor_forest.kernels  # noqa: F401
import tfcompat._src.contrib.tensor_forest.tensor_forest_ops  # noqa: F401
import tfcompat._src.contrib.text.skip_gram  # noqa: F401
