"""Whether all runs of this process are searched for NaNs and infinities: `tfcompat run --debug-nans`."""


class Switch:
    """Whether they are."""

    is_on = False
