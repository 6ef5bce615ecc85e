"""tf.lite.constants: types and formats of conversions."""

from __future__ import annotations

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export

FLOAT = export("lite.constants.FLOAT")(dtypes.float32)
FLOAT16 = export("lite.constants.FLOAT16")(dtypes.float16)
INT32 = export("lite.constants.INT32")(dtypes.int32)
INT64 = export("lite.constants.INT64")(dtypes.int64)
STRING = export("lite.constants.STRING")(dtypes.string)
QUANTIZED_UINT8 = export("lite.constants.QUANTIZED_UINT8")(dtypes.uint8)
INT8 = export("lite.constants.INT8")(dtypes.int8)
COMPLEX64 = dtypes.complex64
TENSORFLOW_GRAPHDEF = 1
TFLITE = export("lite.constants.TFLITE")(2)
GRAPHVIZ_DOT = export("lite.constants.GRAPHVIZ_DOT")(3)
EXPERIMENTAL_USE_TOCO_API_DIRECTLY = False
