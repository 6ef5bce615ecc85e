"""Evaluates the calls in recorded/calls.txt; with TensorFlow 1.15.5, `python called.py` from this folder writes what they give to recorded/given.json.

    PYTHONPATH= .../tf115/bin/python called.py
"""

import json
import os

import numpy as np

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")


def names(cp, cs, tf, dc, cw, cu, ev):
    """What the calls may refer to: the modules of the debugger, and helpers."""

    def text(lines):
        """A text with its attributes and annotations, in which links are what they run."""
        if isinstance(lines, dc.RichLine):
            return [lines.text, shown(lines.font_attr_segs)]
        return [lines.lines, shown(sorted(lines.font_attr_segs.items())), shown(sorted(lines.annotations.items(), key=str))]

    def shown(value):
        if isinstance(value, dc.MenuItem):
            return "link %s %s" % (value.content, value.is_enabled())
        if isinstance(value, dc.Menu):
            return value.captions()
        if isinstance(value, dict):
            return shown(sorted(value.items()))
        return [shown(part) for part in value] if isinstance(value, (list, tuple)) else str(value)

    def joined(first, second):
        first.extend(second)
        return first

    def walked(*commands, **how):
        history = cw.CursesNavigationHistory(5)
        for command in commands:
            history.add_item(command, None, 0)
        for _ in range(how.get("back", 0)):
            history.go_back()
        return history

    return {"cp": cp, "cs": cs, "tf": tf, "dc": dc, "cw": cw, "ev": ev, "np": np, "bar": cu.ScrollBar, "text": text, "joined": joined, "walked": walked}


def given(call, known):
    """The value of a call as JSON has it, or its error."""
    try:
        return json.loads(json.dumps(eval(call, dict(known)), default=repr))
    except (ValueError, TypeError, AttributeError, SyntaxError) as e:
        return "%s: %s" % (type(e).__name__, e)


def calls():
    with open(os.path.join(RECORDED, "calls.txt")) as file:
        return file.read().splitlines()


if __name__ == "__main__":
    from tensorflow.python.debug.cli import (
        cli_shared,
        command_parser,
        curses_ui,
        curses_widgets,
        debugger_cli_common,
        evaluator,
        tensor_format,
    )

    found = names(command_parser, cli_shared, tensor_format, debugger_cli_common, curses_widgets, curses_ui, evaluator)
    with open(os.path.join(RECORDED, "given.json"), "w") as file:
        json.dump([given(call, found) for call in calls()], file, indent=0)
