"""`tensorflow.python.layers.utils`: normalized arguments and output lengths of convolutions, and `smart_cond`."""

from tfcompat._src.keras.utils.conv_utils import (
    conv_input_length as conv_input_length,
)
from tfcompat._src.keras.utils.conv_utils import (
    conv_output_length as conv_output_length,
)
from tfcompat._src.keras.utils.conv_utils import (
    convert_data_format as convert_data_format,
)
from tfcompat._src.keras.utils.conv_utils import (
    deconv_output_length as deconv_output_length,
)
from tfcompat._src.keras.utils.conv_utils import (
    normalize_data_format as normalize_data_format,
)
from tfcompat._src.keras.utils.conv_utils import (
    normalize_padding as normalize_padding,
)
from tfcompat._src.keras.utils.conv_utils import (
    normalize_tuple as normalize_tuple,
)
from tfcompat._src.keras.utils.smart_cond import constant_value as constant_value
from tfcompat._src.keras.utils.smart_cond import smart_cond as smart_cond
