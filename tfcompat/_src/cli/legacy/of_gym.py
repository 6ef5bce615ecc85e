"""gym: environments that 0.26 makes answer as they did: `reset` with an observation, `step` with four values, `seed`, `render` with a mode;
`GoalEnv`, which 0.22 removed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tfcompat._src.cli.legacy.keywords import Tables

Names = dict[Any, dict[str, Any]]


def _earlier_kind(gym: Any) -> Any:
    """The class of environments that have the interface of before, around one with that of 0.26."""

    class Earlier(gym.Wrapper):
        _seed: int | None = None

        def reset(self, **options: Any) -> Any:
            if self._seed is not None:
                options["seed"], self._seed = self._seed, None
            return self.env.reset(**options)[0]

        def step(self, action: object) -> tuple[Any, float, bool, dict]:
            observation, reward, is_terminal, is_cut, notes = self.env.step(action)
            if is_cut:
                notes = {**notes, "TimeLimit.truncated": not is_terminal}
            return observation, reward, is_terminal or is_cut, notes

        def seed(self, seed: int | None = None) -> list[int | None]:
            self._seed = seed
            self.action_space.seed(seed)
            return [seed]

        def render(self, mode: str = "human") -> Any:
            modes = self.env.unwrapped.metadata.get("render_modes") or [mode]
            if mode not in modes:
                raise ValueError(f"{self.env.unwrapped} does not render in the mode {mode!r}: it has {modes}")
            self.env.unwrapped.render_mode = mode
            return self.env.render()

    return Earlier


def _making(gym: Any) -> Callable[..., Any]:
    make, kind = gym.make, _earlier_kind(gym)

    @functools.wraps(make)
    def wrapped(id: object, **options: Any) -> Any:
        return kind(make(id, **options))

    return wrapped


def _added(gym: Any) -> Names:
    class GoalEnv(gym.Env):
        """An environment whose observations have the goal and what has been achieved of it."""

        def reset(self, **options: Any) -> None:
            space = self.observation_space
            if not isinstance(space, gym.spaces.Dict):
                raise gym.error.Error(f"GoalEnv requires an observation space of type gym.spaces.Dict, got {type(space).__name__}")
            for key in ("observation", "achieved_goal", "desired_goal"):
                if key not in space.spaces:
                    raise gym.error.Error(f'GoalEnv requires the "{key}" key to be part of the observation dictionary.')

        def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: dict) -> float:
            raise NotImplementedError

    return {gym: dict(GoalEnv=GoalEnv)}


def _replaced(gym: Any) -> Names:
    if tuple(int(part) for part in gym.__version__.split(".")[:2]) < (0, 26):
        return {}
    return {gym: dict(make=_making(gym))}


ADDED: Tables = {"gym": _added}
REPLACED: Tables = {"gym": _replaced}
MOVED: dict[str, str] = {"gym.envs.toy_text.discrete": f"{__package__}.gym_discrete"}
