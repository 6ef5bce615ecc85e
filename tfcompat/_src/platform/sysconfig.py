"""`tf.sysconfig`: where a compiler of TensorFlow's C++ ops would look; tfcompat has no C++ library."""

from __future__ import annotations

import os

from tfcompat._src.base.export import export

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NO_LIBRARY = "tfcompat has no C++ library to {}: register the op in Python instead of compiling it"


@export("sysconfig.get_lib")
def get_lib() -> str:
    """The folder of the package."""
    return PACKAGE


@export("sysconfig.get_include")
def get_include() -> str:
    """The folder of C++ headers, of which tfcompat has none.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(NO_LIBRARY.format("compile against (tf.sysconfig.get_include)"))


@export("sysconfig.get_compile_flags")
def get_compile_flags() -> list[str]:
    """Compiler flags of a C++ op, for which tfcompat has no headers.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(NO_LIBRARY.format("compile against (tf.sysconfig.get_compile_flags)"))


@export("sysconfig.get_link_flags")
def get_link_flags() -> list[str]:
    """Linker flags of a C++ op, for which tfcompat has no library.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(NO_LIBRARY.format("link with (tf.sysconfig.get_link_flags)"))
