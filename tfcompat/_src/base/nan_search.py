"""The switch of `tfcompat run --debug-nans`: whether every run of this process is searched for NaNs and infinities."""


class Switch:
    """`is_on`: whether runs are searched."""

    is_on = False
