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
#### define variables(weight/bias) ####
x1 = tf.layers.dense(input_data, 256, activation=tf.nn.relu, name='hidden1')
x2 = tf.layers.dense(x1, 256, activation=tf.nn.relu, name='hidden2')
x3 = tf.layers.dense(x2, 128, activation=tf.nn.relu, name='hidden3')
x4 = tf.layers.dense(x3, 128, activation=tf.nn.relu, name='hidden4')
x5 = tf.layers.dense(x4, 64, activation=tf.nn.relu, name='hidden5')
x6 = tf.layers.dense(x5, 64, activation=tf.nn.relu, name='hidden6')
out = tf.layers.dense(x6, y_train.shape[1], name='output')

y_pred = out
#### calculate loss ####
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y_true, logits=y_pred))
#loss = tf.reduce_mean(tf.square(y_pred-y_true)) # MSE
#### optimize variables ####
#opt = tf.train.GradientDescentOptimizer(learning_rate=0.001)
opt = tf.train.AdamOptimizer(learning_rate=0.001)

update = opt.minimize(loss)
#### init ####
init = tf.global_variables_initializer()

sess = tf.Session()
sess.run(init)
# Supplied lines:
for step in range(40):
    rows = slice(step * 32, step * 32 + 32)
    tr_pred, training_loss_batch, _ = sess.run([y_pred, loss, update], feed_dict={input_data: x_train[rows], y_true: y_train[rows]})
print('loss %.3f' % training_loss_batch)
# The program:
tf.reset_default_graph()
tf.global_variables()
