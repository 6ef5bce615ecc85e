from .. import common
from ..common import tf
from . import network

print(common.tf.neg, tf.inv)  #: missing tf.neg #: missing tf.inv
