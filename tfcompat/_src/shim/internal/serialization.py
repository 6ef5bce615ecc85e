"""`tensorflow.python.util.serialization`."""

from tfcompat._src.keras.utils.generic_utils import get_json_type as get_json_type
