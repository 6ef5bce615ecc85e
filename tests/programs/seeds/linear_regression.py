# Supplied lines:
import numpy as np
import tensorflow as tf
import matplotlib.pyplot as plt
np.random.seed(0)
# The program:
# 將先前的 graph 清除
tf.reset_default_graph()
tf.set_random_seed(1)  # supplied line

# 產生 y=3x+b 包含雜訊的資料
x_in = np.linspace(0, 1, 100)
y_true = (3 * x_in) + np.random.rand(len(x_in))
plt.plot(x_in, y_true, 'b.')
plt.show()

## build the regression fomula
# 隨機初始化 w, b
w1 = tf.Variable(tf.random_uniform([1], -1.0, 1.0), dtype= tf.float32)
b1 = tf.Variable(tf.zeros([1]))

# 預測結果
y_pred = (w1 * x_in) + b1
# 計算 loss
loss = tf.reduce_mean(tf.square(y_pred - y_true))

# 最佳化方法: 使用梯度下降
optim = tf.train.GradientDescentOptimizer(0.1)
# 最小化 loss
train_ops = optim.minimize(loss)

## train the model
sess = tf.Session()
init = tf.global_variables_initializer()
sess.run(init)

for step in np.arange(500):
    # 執行一次 train_ops 定義的流程
    sess.run(train_ops)
    if step % 25 == 0:
        # 印出 w1, b1
        print('step: ' + str(step) + ', weight: ' + str(sess.run(w1)[0]) + ' bias: ' + str(sess.run(b1)[0]) )

# 執行 y_pred 定義的流程，得到預測結果
y_out = sess.run(y_pred)

plt.plot(y_true, y_out, 'r.')
plt.show()

plt.plot(x_in, y_true, 'b.')
plt.plot(x_in, y_out, 'r.')
plt.show()

sess.close()
