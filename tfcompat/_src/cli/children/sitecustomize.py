"""Python imports this at the start of each process below `tfcompat run`, whose PYTHONPATH has this folder.

Any Python may come here, so it is written for all versions, and does nothing but for the interpreter that runs the program.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
if os.environ.get("TFCOMPAT_RUN", "").partition(" ")[2] == "%d.%d %s" % (sys.version_info[0], sys.version_info[1], sys.prefix):
    sys.path.insert(0, HERE)
    import inheritance  # noqa: PLC0415

    sys.path.remove(HERE)
    inheritance.restore()
this = sys.modules.pop("sitecustomize")
try:
    import sitecustomize  # noqa: F401  (the one that this hides)
except ImportError as error:
    if getattr(error, "name", "sitecustomize") != "sitecustomize":
        raise
sys.modules.setdefault("sitecustomize", this)
