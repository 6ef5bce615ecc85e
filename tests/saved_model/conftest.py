"""The modules beside the tests can be imported."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
