"""`import tensorflow` outside of `tfcompat run`: tfcompat takes this name, and this module's place."""

import importlib
import sys

import tfcompat

del sys.modules[__name__]
tfcompat.install_as_tensorflow()
importlib.import_module(__name__)
