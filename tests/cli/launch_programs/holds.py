"""Holds a named pipe open until it is ended."""

import signal
import sys

with open(sys.argv[1], "w") as held:
    held.write("here\n")
    held.flush()
    signal.pause()
