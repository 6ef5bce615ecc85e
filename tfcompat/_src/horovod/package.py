"""The module `horovod`: the version whose interface tfcompat has."""

__version__ = "0.19.5"
