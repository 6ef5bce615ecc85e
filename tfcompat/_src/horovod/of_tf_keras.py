"""The module `horovod.tensorflow.keras`: Horovod for tf.keras."""

import importlib

from tfcompat._src.horovod import of_tf_keras_callbacks as callbacks  # noqa: F401
from tfcompat._src.horovod.compression import Compression
from tfcompat._src.horovod.keras_support import Functions
from tfcompat._src.horovod.processes import (  # noqa: F401
    Adasum,
    Average,
    Sum,
    ccl_built,
    check_num_rank_power_of_2,
    ddl_built,
    gloo_built,
    gloo_enabled,
    handle_average_backwards_compatibility,
    init,
    is_homogeneous,
    local_rank,
    local_size,
    mpi_built,
    mpi_enabled,
    mpi_threads_supported,
    nccl_built,
    rank,
    shutdown,
    size,
)

_functions = Functions(importlib.import_module("tfcompat.keras"), Compression.none)
DistributedOptimizer = _functions.DistributedOptimizer
broadcast_global_variables = _functions.broadcast_global_variables
allreduce, allgather, broadcast = _functions.allreduce, _functions.allgather, _functions.broadcast
load_model = _functions.load_model
