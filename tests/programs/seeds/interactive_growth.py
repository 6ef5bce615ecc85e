# Supplied lines:
import os
import tensorflow as tf
# The program:
gpu_no = '0' # or '1'
os.environ["CUDA_VISIBLE_DEVICES"] = gpu_no

# 定義TensorFlow配置
config = tf.ConfigProto()

# 配置GPU內存分配方式，按需增長，很關鍵
config.gpu_options.allow_growth = True

# 配置可使用的顯存比例
config.gpu_options.per_process_gpu_memory_fraction = 0.1

# 在創建session的時候把config作為參數傳進去
sess = tf.InteractiveSession(config = config)
print(tf.constant(1.0).eval())  # supplied line
