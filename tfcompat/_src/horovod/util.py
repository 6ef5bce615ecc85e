"""The module `horovod.common.util`: questions about how Horovod was built."""

from tfcompat._src.horovod.processes import (  # noqa: F401
    ccl_built,
    check_num_rank_power_of_2,
    ddl_built,
    gloo_built,
    mpi_built,
    nccl_built,
)

num_rank_is_power_2 = check_num_rank_power_of_2
