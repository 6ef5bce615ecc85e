# Supplied lines:
import tensorflow as tf
import numpy as np
# The program:
sess = tf.Session() # start a session

# constant: fixed item, rarely used, the value cannot be changed during training
a = tf.constant([[1, 2], [3, 4]], dtype=tf.float32)
print(a)
print(sess.run(a))
# variable: we alwayes use this. the value can change during training
c = tf.Variable([[1, 2], [3, 4]], dtype=tf.float32)

# initial variables: 使用 variable 之前必須先初始化
init = tf.global_variables_initializer()
sess.run(init)

sess.run(c)
# placeholder: used very often!
b = tf.placeholder(shape=[2,3], dtype=tf.float32) # placehodler 只能塞進跟定義好的shape 相同的array

my_input_array = np.array([[1,1,1],[2,4,6]])

sess.run(b, feed_dict={b: my_input_array }) # 使用dict 將my_input_array assign 給 b 這個 placeholder
x1 = tf.Variable([[1,2], [3,4]], dtype= tf.float32)
x2 = tf.Variable([[5,6], [7,8]], dtype= tf.float32)

mat_mul_ops = tf.matmul(x1, x2) # np.dot
element_wise_mul_ops = tf.multiply(x1, x2) # element-wise mul
add_ops = tf.add(x1, x2)

init = tf.global_variables_initializer()
sess.run(init)

res1, res2, res3 = sess.run([mat_mul_ops, element_wise_mul_ops, add_ops])
print(res1)
print("---")
print(res2)
print("---")
print(res3)
take_sum_1 = tf.reduce_sum(x1, axis=0) # np.sum
take_sum_2 = tf.reduce_sum(x1, axis=1)
take_sum_3 = tf.reduce_sum(x1)
take_mean_1 = tf.reduce_mean(x1, axis = 0) # np.mean
take_mean_2 = tf.reduce_mean(x1, axis = 1)
take_mean_3 = tf.reduce_mean(x1)

sess.run(tf.global_variables_initializer())
print(sess.run(x1))
print('---')
print(sess.run(take_sum_1))
print(sess.run(take_sum_2))
print(sess.run(take_sum_3))
print(sess.run(take_mean_1))
print(sess.run(take_mean_2))
print(sess.run(take_mean_3))
index_counter = tf.Variable(0)
one = tf.constant(1)

new_index = tf.add(index_counter, one)
update_ops = tf.assign(index_counter, new_index) # if the value change, you have to "assign" it

init = tf.global_variables_initializer()
sess.run(init)
for _ in np.arange(10):
    sess.run(new_index) # 沒有assign 結果就是不會更新
    sess.run(update_ops)
    print(sess.run(index_counter))
