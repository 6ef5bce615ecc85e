"""Names through modules of the repository, and modules of it that have the names of others."""

import common
import signal
from common import *
from package.inner import network, tf as other_tf

print(common.tf.mul, common.contrib.slim)  #: missing tf.mul
print(tf.sub, contrib.nothing)  #: missing tf.sub #: missing tf.contrib.nothing
print(other_tf.pack, network.mul)  #: missing tf.pack
print(signal.no_such_signal)
