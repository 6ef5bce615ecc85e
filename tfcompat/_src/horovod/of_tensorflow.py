"""The module `horovod.tensorflow`."""

from tfcompat._src.graph.scopes import executing_eagerly as _executing_eagerly  # noqa: F401
from tfcompat._src.horovod.collectives import _allreduce, allgather, broadcast  # noqa: F401
from tfcompat._src.horovod.compression import Compression  # noqa: F401
from tfcompat._src.horovod.optimizers import (  # noqa: F401
    BroadcastGlobalVariablesHook,
    DistributedGradientTape,
    DistributedOptimizer,
)
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
from tfcompat._src.horovod.reductions import allreduce, broadcast_global_variables, broadcast_variables  # noqa: F401
