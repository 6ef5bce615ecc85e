"""`pytest --long`: what draws its inputs by chance, or repeats what a race decides, does so many times more often; for hours, by hand."""


class LongRun:
    """Whether `--long` was given; set before the test modules are imported."""

    is_on = False


def add_option(parser):
    """Adds `--long`."""
    parser.addoption("--long", action="store_true", help="repeat and draw many times more often, and compile every row of tests/cases; takes hours")


def configure(config):
    """Notes the option."""
    LongRun.is_on = config.getoption("--long")


def count(usual, long):
    """How often a test does what it does: `usual`, or `long` in a long run."""
    return long if LongRun.is_on else usual
