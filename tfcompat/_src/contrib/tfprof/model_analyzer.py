"""tf.contrib.tfprof.model_analyzer: the old names of tf.profiler."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.graph import Graph
from tfcompat._src.profiler.advice import ALL_ADVICE
from tfcompat._src.profiler.model_analyzer import advise as _advise
from tfcompat._src.profiler.model_analyzer import profile
from tfcompat._src.profiler.option_builder import ProfileOptionBuilder

TRAINABLE_VARS_PARAMS_STAT_OPTIONS = export("contrib.tfprof.model_analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS")(
    ProfileOptionBuilder.trainable_variables_parameter()
)
FLOAT_OPS_OPTIONS = export("contrib.tfprof.model_analyzer.FLOAT_OPS_OPTIONS")(ProfileOptionBuilder.float_operation())
PRINT_ALL_TIMING_MEMORY = export("contrib.tfprof.model_analyzer.PRINT_ALL_TIMING_MEMORY")(
    ProfileOptionBuilder(ProfileOptionBuilder.time_and_memory()).order_by("name").build()
)


@export("contrib.tfprof.model_analyzer.print_model_analysis")
def print_model_analysis(
    graph: Graph | None, run_meta: object = None, op_log: object = None, tfprof_cmd: str = "scope", tfprof_options: object = 0
) -> Any:
    """`tf.profiler.profile` under its old name and with old names of arguments."""
    return profile(graph, run_meta, op_log, tfprof_cmd, tfprof_options)


export("contrib.tfprof.model_analyzer.ALL_ADVICE")(ALL_ADVICE)


@export("contrib.tfprof.model_analyzer.advise")
def advise(graph: Graph | None, run_meta: object = None, tfprof_options: object = 0) -> Any:
    """`tf.profiler.advise` under its old name and with old names of arguments."""
    return _advise(graph, run_meta, tfprof_options)
