"""What oracle/record_serving.py feeds."""

X = [80.0, 20.0, 0.1]
TYPES = {
    "f": [[0.1, 1e-7], [3e9, 2.0]], "d": [0.1, 1e300], "i": [7, -8], "l": [2**62, -1], "u": [250, 3], "b": [True, False],
    "s": ['a"b', "\u00e4\n"], "s_bytes": [b"\xff\x00", b""],
}  # fmt: skip
