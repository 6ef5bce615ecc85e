"""The versions that tfcompat states: those of TensorFlow 1.15.5, whose API it is."""

from tfcompat._src.base.export import export

VERSION = export("__version__", "VERSION", "version.VERSION")("1.15.5")
GIT_VERSION = export("__git_version__", "GIT_VERSION", "version.GIT_VERSION")("v1.15.4-39-g3db52be")
COMPILER_VERSION = export("__compiler_version__", "COMPILER_VERSION", "version.COMPILER_VERSION")("7.3.1 20180303")
CXX11_ABI_FLAG = export("__cxx11_abi_flag__", "CXX11_ABI_FLAG", "sysconfig.CXX11_ABI_FLAG")(0)
MONOLITHIC_BUILD = export("__monolithic_build__", "MONOLITHIC_BUILD", "sysconfig.MONOLITHIC_BUILD")(0)
GRAPH_DEF_VERSION = export("GRAPH_DEF_VERSION", "version.GRAPH_DEF_VERSION")(134)
GRAPH_DEF_VERSION_MIN_CONSUMER = export("GRAPH_DEF_VERSION_MIN_CONSUMER", "version.GRAPH_DEF_VERSION_MIN_CONSUMER")(0)
GRAPH_DEF_VERSION_MIN_PRODUCER = export("GRAPH_DEF_VERSION_MIN_PRODUCER", "version.GRAPH_DEF_VERSION_MIN_PRODUCER")(0)
