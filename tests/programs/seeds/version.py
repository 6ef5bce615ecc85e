import tensorflow as tf
print(tf.VERSION)
import tensorflow as tf
tf.__version__
