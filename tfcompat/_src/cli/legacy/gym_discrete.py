"""gym.envs.toy_text.discrete, which gym had until 0.21: environments of finitely many states and actions, given by tables."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

_gym: Any = importlib.import_module("gym")
_seeding: Any = importlib.import_module("gym.utils.seeding")


def categorical_sample(prob_n: Sequence[float], np_random: Any) -> int:
    """The first index at which the cumulated probabilities exceed a uniform random number."""
    return int((np.cumsum(prob_n) > np_random.random()).argmax())


class DiscreteEnv(_gym.Env):  # type: ignore[misc]  # gym is whatever is installed
    """A Markov decision process.

    Args:
      nS: number of states. nA: number of actions. isd: probability of each state at the start.
      P: per state and action a list of (probability, next state, reward, is it the end).
    """

    def __init__(self, nS: int, nA: int, P: Any, isd: Sequence[float]) -> None:
        self.P, self.isd, self.nS, self.nA = P, isd, nS, nA
        self.lastaction: int | None = None
        self.action_space = _gym.spaces.Discrete(nA)
        self.observation_space = _gym.spaces.Discrete(nS)
        self.seed()
        self.s = categorical_sample(self.isd, self.np_random)

    def seed(self, seed: int | None = None) -> list[int | None]:
        self.np_random, seed = _seeding.np_random(seed)
        return [seed]

    def reset(self) -> int:
        self.s, self.lastaction = categorical_sample(self.isd, self.np_random), None
        return self.s

    def step(self, a: int) -> tuple[int, float, bool, dict[str, float]]:
        ways = self.P[self.s][a]
        probability, self.s, reward, is_end = ways[categorical_sample([way[0] for way in ways], self.np_random)]
        self.lastaction = a
        return int(self.s), reward, is_end, {"prob": probability}
