import numpy as np
import scipy, scipy.integrate, scipy.signal, scipy.sparse as sp, scipy.stats, scipy.linalg, scipy.ndimage, scipy.interpolate, scipy.spatial.distance
import scipy.misc
from scipy.misc import logsumexp, imread, imsave, imresize, toimage, imshow, fromimage, face
from scipy.sparse.linalg.eigen.arpack import eigsh
from scipy.sparse.csr import csr_matrix
from scipy.ndimage.filters import gaussian_filter

assert np.allclose(eigsh(sp.diags([1.0, 2.0, 3.0]), 1)[0], 3) and csr_matrix is sp.csr_matrix
assert np.isclose(logsumexp([0.0, 0.0]), np.log(2)) and scipy.integrate.simps([0.0, 1.0, 4.0]) == 8 / 3
assert scipy.signal.hann(3).tolist() == [0, 1, 0] and scipy.zeros(2).tolist() == [0, 0]
assert scipy.stats.mode([[1, 1], [1, 2]])[0][0].tolist() == [1, 1] and scipy.linalg.triu(np.ones((2, 2))).tolist() == [[1, 1], [0, 1]]
assert scipy.ndimage.imread and scipy.stats.itemfreq([1, 1, 2]).tolist() == [[1, 2], [2, 1]]
f = scipy.interpolate.interp2d([0, 1, 2], [0, 1], np.arange(6).reshape(2, 3))
assert np.allclose(f([0.5, 1.5], [0, 0.5]), [[0.5, 1.5], [2, 3]])
assert np.allclose(scipy.interpolate.spline([0, 1, 2, 3, 4], [0, 1, 4, 9, 16], [1.5]), [2.25])
assert scipy.spatial.distance.wminkowski([0], [2], 1, [3]) == 6
from scipy.stats.distributions import norm
from scipy.misc import central_diff_weights, derivative

assert np.isclose(derivative(lambda x, a: a * x**3, 2.0, dx=0.5, args=(2,)), 24.5) and derivative(np.square, 3.0) == 6
assert np.isclose(derivative(lambda x: x**4, 1.0, n=2, order=5), 12)
assert np.allclose(central_diff_weights(5, 2), np.array([-1, 16, -30, 16, -1]) / 12)
