"""What Python 3, NumPy and SciPy took away."""

import time

import ConfigParser  #: restored ConfigParser
import numpy as np
import scipy.misc as misc
from itertools import izip  #: restored itertools.izip
from scipy.misc import imread  #: restored scipy.misc.imread
import no_such_package_anywhere  #: not_installed no_such_package_anywhere

for i in xrange(3):  #: restored xrange
    print(time.clock(), np.int(3), np.float32(3))  #: restored time.clock #: restored numpy.int
print(misc.imresize, np.no_such_name)  #: restored scipy.misc.imresize #: stops numpy.no_such_name
d = {}
print(d.has_key(1), d.items(), d.keys()[0], list(map(str, d))[0])  #: restored dict.has_key #: restored .keys()[i]
print(map(str, d)[0], d.readfp())  #: restored map(...)[i]
print(list(range(len(d) / 2)), list(range(len(d) // 2)))  #: restored range(a / b)
print >>open("a"), "to a file"  #: restored print >>file
print(open("a", "rU"), b"".tostring())  #: restored open(path, "U") #: restored .tostring


def of_a_shared_folder():
    import google.protobuf
    from google.no_such_service import client  #: not_installed google.no_such_service

    return google.protobuf
