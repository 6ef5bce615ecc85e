import numpy as np
from skimage.measure import compare_psnr, compare_ssim

image = np.arange(256.0).reshape(16, 16)
assert compare_ssim(image, image, data_range=255.0) == 1 and compare_psnr(image, image + 1, data_range=255) > 48
