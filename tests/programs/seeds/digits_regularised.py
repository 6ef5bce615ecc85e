from sklearn.model_selection import train_test_split
from sklearn.utils import shuffle
import numpy as np
import os
import argparse
from tqdm import tqdm
import matplotlib.pyplot as plt
import pprint as pprint
parser = argparse.ArgumentParser()
parser.add_argument('--batch_size', default = 32, type = int)
parser.add_argument('--epochs', default = 100, type = int)
parser.add_argument('--lr', default = 0.001, type = float)
parser.add_argument('--train_ratio', default = 0.9, type = float)

FLAGS = parser.parse_args([]) # if not jupyter notebook, remove [reference link]
# You should always set visible devices before import tensorflow
#os.environ['CUDA_VISIBLE_DEVICES'] = str(FLAGS.gpu_id)
import tensorflow as tf
from sklearn.datasets import load_digits
# load data
digits = load_digits()
x_, y_ = digits.data, digits.target

# do data pre-processing
x_ = x_ / x_.max()

y_one_hot = np.zeros((len(y_), 10))
y_one_hot[np.arange(len(y_)), y_] = 1
from sklearn.model_selection import train_test_split

x_train, x_test, y_train, y_test = train_test_split(x_,
                                                    y_one_hot,
                                                    test_size = 0.05,
                                                    stratify  = y_)

x_train, x_valid, y_train, y_valid = train_test_split(x_train,
                                                      y_train,
                                                      test_size = 1.0 - FLAGS.train_ratio,
                                                      stratify = y_train.argmax(axis = 1))
print("training set data dimension")
print(x_train.shape)
print(y_train.shape)
print("-----------")
print("training set: %i" % len(x_train))
print("validation set: %i" % len(x_valid))
print("testing set: %i" % len(x_test))
# Supplied lines:
img = x_train[0]
tf.set_random_seed(1)
# The program:
#### define placeholder ####
input_data = tf.placeholder(dtype=tf.float32,
                           shape=[None, img.shape[0]],
                           name='input_data')

y_true = tf.placeholder(dtype=tf.float32,
                        shape=[None, y_train.shape[1]],
                        name='y_true')
l2 = tf.placeholder(dtype=tf.float32, name = 'l2_regulizers')
#### define variables(weight/bias) ####
x1 = tf.layers.dense(input_data,
                     256,
                     activation=tf.nn.relu,
                     name='hidden1',
                     kernel_regularizer=tf.contrib.layers.l2_regularizer(scale=l2))
x2 = tf.layers.dense(x1,
                     128,
                     activation=tf.nn.relu,
                     name='hidden2',
                     kernel_regularizer=tf.contrib.layers.l2_regularizer(scale=l2))
x3 = tf.layers.dense(x2,
                     64,
                     activation=tf.nn.relu,
                     name='hidden3',
                     kernel_regularizer=tf.contrib.layers.l2_regularizer(scale=l2))
out = tf.layers.dense(x3, y_train.shape[1], name='output')

y_pred = tf.nn.softmax(out)
#### calculate loss ####
cross_entropy = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y_true, logits=out))

#### optimize variables ####
opt = tf.train.AdamOptimizer(learning_rate=0.001)

reg = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
loss = cross_entropy + tf.reduce_sum(reg)
update = opt.minimize(loss)
#### init ####
init = tf.global_variables_initializer()

sess = tf.Session()
sess.run(init)
# Supplied lines:
for step in range(40):
    rows = slice(step * 32, step * 32 + 32)
    x_batch, y_batch = x_train[rows], y_train[rows]
    # The program:
    for l2_iter in [0.0, 0.5, 0.05, 0.005, 0.0005]:

        tr_pred, training_loss_batch, _ = sess.run([y_pred, loss, update], feed_dict={
        input_data:x_batch,
        y_true:y_batch,
        l2: l2_iter})
print('loss %.3f' % training_loss_batch)
