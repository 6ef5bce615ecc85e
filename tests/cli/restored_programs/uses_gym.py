import gym

env = gym.make("CartPole-v1")
env.seed(1)
o = env.reset()
assert o.shape == (4,)
o, r, d, i = env.step(env.action_space.sample())
assert d in (True, False)
env2 = gym.make("CartPole-v1")
env2.seed(1)
import numpy as np

assert np.array_equal(env2.reset(), (env.seed(1), env.reset())[1])
