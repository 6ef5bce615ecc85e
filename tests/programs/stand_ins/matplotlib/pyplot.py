"""Accepts the drawing calls of the programs and draws nothing."""


def _ignore(*args, **kwargs):
    return None


plot = show = legend = figure = subplot = title = xlabel = ylabel = _ignore
