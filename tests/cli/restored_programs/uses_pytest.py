import os
import pathlib
import sys

import pytest

sys.dont_write_bytecode = False
pathlib.Path("test_restored_sources.py").write_text(
    """
import numpy as np

def test_restored_sources():
    every = [slice(None), 0]
    assert np.ones(2, np.uint8).tostring() == b"\\x01\\x01"
    assert np.eye(2)[every].tolist() == [1, 0]
"""
)
assert pytest.main(["-q", "--rootdir", os.getcwd(), "-p", "no:cacheprovider", "test_restored_sources.py"]) == 0
assert all("-tfcompat.pyc" in path.name for path in pathlib.Path("__pycache__").glob("test_*"))
