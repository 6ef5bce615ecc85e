"""A DCGAN of 8 x 8 digits: a generator of transposed convolutions against a convolutional discriminator.

Batch normalization with its update operations, two optimizers over two scopes of variables, label smoothing, and a picture
of what has been drawn, written as a PNG file by the graph.

    tfcompat run examples/dcgan.py --picture digits.png
"""

import os
import tempfile

import numpy as np
import tensorflow as tf

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
flags = tf.app.flags
flags.DEFINE_string("picture", "", "where the picture goes; a temporary file if empty")
flags.DEFINE_integer("steps", 201, "training steps")
flags.DEFINE_integer("filters", 16, "filters of the layers next to the image")
FLAGS = flags.FLAGS
BATCH, NOISE = 32, 16


def read_digits():
    """Images [n, 8, 8, 1] between -1 and 1."""
    with np.load(os.path.join(DATA, "digits.npz")) as data:
        return data["images"].astype(np.float32)[..., None] / 8.0 - 1.0


def generator(noise, training):
    """Images [n, 8, 8, 1] between -1 and 1, of noise [n, NOISE]."""
    with tf.variable_scope("generator", reuse=tf.AUTO_REUSE):
        hidden = tf.layers.dense(noise, 2 * 2 * 2 * FLAGS.filters, name="project")
        hidden = tf.reshape(hidden, [-1, 2, 2, 2 * FLAGS.filters])
        hidden = tf.nn.relu(tf.layers.batch_normalization(hidden, training=training, momentum=0.9, name="norm1"))
        hidden = tf.layers.conv2d_transpose(hidden, FLAGS.filters, 4, 2, padding="same", name="deconv1")
        hidden = tf.nn.relu(tf.layers.batch_normalization(hidden, training=training, momentum=0.9, name="norm2"))
        return tf.layers.conv2d_transpose(hidden, 1, 4, 2, padding="same", activation=tf.tanh, name="deconv2")


def discriminator(images, training):
    """Logits [n, 1]: positive for real images."""
    with tf.variable_scope("discriminator", reuse=tf.AUTO_REUSE):
        hidden = tf.nn.leaky_relu(tf.layers.conv2d(images, FLAGS.filters, 4, 2, padding="same", name="conv1"))
        hidden = tf.layers.conv2d(hidden, 2 * FLAGS.filters, 4, 2, padding="same", name="conv2")
        hidden = tf.nn.leaky_relu(tf.layers.batch_normalization(hidden, training=training, momentum=0.9, name="norm"))
        return tf.layers.dense(tf.layers.flatten(hidden), 1, name="logit")


def cross_entropy(logits, label):
    """Mean cross entropy where every label is `label`."""
    return tf.losses.sigmoid_cross_entropy(tf.fill(tf.shape(logits), label), logits)


def train_op(loss, scope):
    """One step for the variables of a scope, after its moving averages; the other scope stays as it is."""
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS, scope)):
        return tf.train.AdamOptimizer(0.0002, beta1=0.5).minimize(loss, var_list=tf.trainable_variables(scope))


def png_of(images, columns):
    """A PNG of images [n, h, w, 1] in rows of `columns`, four pixels for one."""
    sheet = tf.reshape(images, [-1, columns, 8, 8])
    sheet = tf.reshape(tf.transpose(sheet, [0, 2, 1, 3]), [1, -1, 8 * columns, 1])
    large = tf.image.resize_nearest_neighbor(sheet, 4 * tf.shape(sheet)[1:3])
    return tf.image.encode_png(tf.image.convert_image_dtype((large[0] + 1.0) / 2.0, tf.uint8, saturate=True))


def main(_):
    """Trains the two against each other, and draws."""
    digits = read_digits()
    tf.set_random_seed(12)
    images = tf.placeholder(tf.float32, [None, 8, 8, 1], name="images")
    noise = tf.placeholder(tf.float32, [None, NOISE], name="noise")
    training = tf.placeholder_with_default(False, [], name="training")
    drawn = generator(noise, training)
    real, fake = discriminator(images, training), discriminator(drawn, training)
    with tf.name_scope("losses"):
        discriminator_loss = cross_entropy(real, 0.9) + cross_entropy(fake, 0.0)
        generator_loss = cross_entropy(fake, 1.0)
    train_discriminator = train_op(discriminator_loss, "discriminator")
    train_generator = train_op(generator_loss, "generator")
    png = png_of(drawn, 8)
    for scope in ("generator", "discriminator"):
        sizes = [variable.shape.num_elements() for variable in tf.trainable_variables(scope)]
        print("%-13s %d variables of %d numbers" % (scope, len(sizes), sum(sizes)))

    random = np.random.RandomState(12)
    shown = random.normal(size=[32, NOISE])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(FLAGS.steps):
            batch = random.choice(len(digits), BATCH, replace=False)
            feed = {images: digits[batch], noise: random.normal(size=[BATCH, NOISE]), training: True}
            losses = [
                sess.run([discriminator_loss, train_discriminator], feed)[0],
                sess.run([generator_loss, train_generator], feed)[0],
            ]
            if step % 40 == 0 or step == FLAGS.steps - 1:
                print("step %3d  discriminator %.4f  generator %.4f" % (step, losses[0], losses[1]))
        picture, values = sess.run([png, drawn], {noise: shown})
        path = FLAGS.picture or os.path.join(tempfile.mkdtemp(), "digits.png")
        with tf.gfile.GFile(path, "wb") as f:
            f.write(picture)
        print("pixels: mean %.4f  deviation %.4f" % (values.mean(), values.std()))
        print("picture of", sess.run(tf.shape(tf.image.decode_png(tf.read_file(path)))))


if __name__ == "__main__":
    tf.app.run()
