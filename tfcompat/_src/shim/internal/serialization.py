"""`tensorflow.python.util.serialization`: the JSON encoding of Keras objects."""

from tfcompat._src.keras.utils.generic_utils import get_json_type as get_json_type
