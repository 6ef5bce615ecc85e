"""Policy gradient (REINFORCE with a baseline) on a pole that is balanced on a cart; the environment is a few lines of NumPy.

The graph has the policy, a value function as baseline, and one update from a batch of whole episodes; the loop acts,
collects and learns.

    tfcompat run examples/policy_gradient.py
"""

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_integer("updates", 30, "how many batches of episodes to learn from")
flags.DEFINE_integer("carts", 16, "episodes per batch, which run side by side")
flags.DEFINE_integer("longest", 200, "an episode ends after so many steps")
FLAGS = flags.FLAGS
DISCOUNT = 0.98


class Carts(object):
    """Several carts with a pole each: states [n, 4] are position, speed, angle and angular speed; pushes go left or right.

    The equations are those of Barto, Sutton and Anderson (1983), with Euler steps of 0.02 seconds.
    """

    def __init__(self, count, random):
        self.states = random.uniform(-0.05, 0.05, [count, 4])

    def push(self, actions):
        """Pushes every cart to the right where its action is 1, else to the left; says which poles stand."""
        x, speed, angle, turn = self.states.T
        force = np.where(actions == 1, 10.0, -10.0)
        sine, cosine = np.sin(angle), np.cos(angle)
        pull = (force + 0.05 * turn**2 * sine) / 1.1
        angular = (9.8 * sine - cosine * pull) / (0.5 * (4.0 / 3.0 - 0.1 * cosine**2 / 1.1))
        linear = pull - 0.05 * angular * cosine / 1.1
        self.states = self.states + 0.02 * np.stack([speed, linear, turn, angular], 1)
        return (np.abs(self.states[:, 0]) < 2.4) & (np.abs(self.states[:, 2]) < np.radians(12))


class Agent(object):
    """The graph: logits and values of states, and an update from states, actions and returns."""

    def __init__(self):
        self.states = tf.placeholder(tf.float32, [None, 4], name="states")
        self.actions = tf.placeholder(tf.int32, [None], name="actions")
        self.returns = tf.placeholder(tf.float32, [None], name="returns")
        with tf.variable_scope("policy"):
            hidden = tf.layers.dense(self.states, 16, tf.tanh)
            logits = tf.layers.dense(hidden, 2, kernel_initializer=tf.zeros_initializer())
        self.right = tf.nn.softmax(logits)[:, 1]
        with tf.variable_scope("value"):
            value = tf.squeeze(tf.layers.dense(tf.layers.dense(self.states, 16, tf.tanh), 1), 1)
        advantage = self.returns - value
        mean, variance = tf.nn.moments(advantage, [0])
        normal = tf.stop_gradient((advantage - mean) / tf.sqrt(variance + 1e-6))
        log_probability = -tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.actions, logits=logits)
        self.entropy = -tf.reduce_mean(tf.reduce_sum(tf.nn.softmax(logits) * tf.nn.log_softmax(logits), 1))
        self.policy_loss = -tf.reduce_mean(normal * log_probability)
        self.value_loss = tf.losses.huber_loss(self.returns, value, delta=10.0)
        self.learn = tf.group(
            tf.train.AdamOptimizer(0.02).minimize(
                self.policy_loss - 0.01 * self.entropy, var_list=tf.trainable_variables("policy")
            ),
            tf.train.AdamOptimizer(0.05).minimize(self.value_loss, var_list=tf.trainable_variables("value")),
        )


def play(sess, agent, random):
    """States [t, n, 4], actions [t, n] and which poles stood before each [t, n]."""
    carts = Carts(FLAGS.carts, random)
    standing = np.ones(FLAGS.carts, bool)
    states, actions, stood = [], [], []
    while standing.any() and len(states) < FLAGS.longest:
        right = sess.run(agent.right, {agent.states: carts.states})
        states.append(carts.states)
        actions.append((random.uniform(size=FLAGS.carts) < right).astype(np.int32))
        stood.append(standing)
        standing = standing & carts.push(actions[-1])
    return np.stack(states), np.stack(actions), np.stack(stood)


def discounted(rewards):
    """The sum of what follows each step [t, n], later rewards counting less."""
    total, sums = np.zeros(rewards.shape[1]), []
    for reward in rewards[::-1]:
        total = reward + DISCOUNT * total
        sums.append(total)
    return np.stack(sums[::-1])


def main(_):
    """Plays and learns in turn."""
    tf.set_random_seed(9)
    random = np.random.RandomState(9)
    agent = Agent()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for update in range(FLAGS.updates):
            states, actions, stood = play(sess, agent, random)
            returns = discounted(stood.astype(np.float32))
            feed = {agent.states: states[stood], agent.actions: actions[stood], agent.returns: returns[stood]}
            fetched = sess.run([agent.policy_loss, agent.value_loss, agent.entropy, agent.learn], feed)
            if update % 5 == 4 or update == 0:
                line = "update %2d  mean steps %5.1f  policy loss %.4f  value loss %.3f  entropy %.4f"
                print(line % ((update + 1, stood.sum(0).mean()) + tuple(fetched[:3])))


if __name__ == "__main__":
    tf.app.run()
