"""matplotlib's toolkits: their tables stand with matplotlib's."""

from tfcompat._src.cli.legacy.of_matplotlib import ADDED as ADDED
from tfcompat._src.cli.legacy.of_matplotlib import MOVED as MOVED
from tfcompat._src.cli.legacy.of_matplotlib import REPLACED as REPLACED
