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

from gym.envs.toy_text import discrete

walk = discrete.DiscreteEnv(2, 1, {0: {0: [(1.0, 1, 5.0, True)]}, 1: {0: [(1.0, 1, 0.0, True)]}}, [1.0, 0.0])
assert walk.seed(3) == [3] and walk.reset() == 0 and walk.step(0) == (1, 5.0, True, {"prob": 1.0})
assert walk.observation_space.n == 2 and discrete.categorical_sample([0.0, 1.0], walk.np_random) == 1


class Reaching(gym.GoalEnv):
    observation_space = gym.spaces.Dict({"observation": gym.spaces.Discrete(2)})


try:
    Reaching().reset()
except gym.error.Error as e:
    assert '"achieved_goal" key' in str(e)
else:
    raise AssertionError("an observation space without achieved_goal is refused")
