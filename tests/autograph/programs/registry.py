"""Where programs are listed."""

PROGRAMS = {}


def program(fn):
    PROGRAMS[fn.__name__] = fn
    return fn


class Holder:
    """An object with attributes."""

    def __init__(self, **values):
        self.__dict__.update(values)
