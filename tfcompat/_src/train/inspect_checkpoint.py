"""What `tensorflow.python.tools.inspect_checkpoint` holds: printing the tensors of a checkpoint."""

from __future__ import annotations

import re

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.checkpoint.reader import CheckpointReader

_FILE_SUFFIXES = (".index", ".meta", ".data")


def print_tensors_in_checkpoint_file(
    file_name: str,
    tensor_name: str | None,
    all_tensors: bool,
    all_tensor_names: bool = False,
    count_exclude_pattern: str = "",
) -> None:
    """Prints the tensors of a checkpoint and their number of elements; errors are printed too.

    Args:
      file_name: the checkpoint's prefix.
      tensor_name: the tensor to print; without one, names, types and shapes of all.
      all_tensors: print the values of all.
      all_tensor_names: print the names of all.
      count_exclude_pattern: tensors whose names match this regular expression are not counted.
    """
    try:
        reader = CheckpointReader(file_name)
        shapes = reader.get_variable_to_shape_map()
        if all_tensors or all_tensor_names:
            for name in sorted(shapes):
                print("tensor_name: ", name)
                if all_tensors:
                    print(reader.get_tensor(name))
        elif not tensor_name:
            print(reader.debug_string().decode())
        else:
            print("tensor_name: ", tensor_name)
            print(reader.get_tensor(tensor_name))
        print(f"# Total number of params: {_count_total_params(reader, count_exclude_pattern)}")
    except errors.OpError as e:
        print(e)
        if isinstance(e, errors.DataLossError) and any(suffix in file_name for suffix in _FILE_SUFFIXES):
            prefix = file_name.rpartition(".")[0]
            print(
                "\nIt's likely that this is a V2 checkpoint and you need to provide the filename\n*prefix*.  Try removing the '.' "
                f"and extension.  Try:\ninspect checkpoint --file_name = {prefix}"
            )


def _count_total_params(reader: CheckpointReader, count_exclude_pattern: str = "") -> int:
    sizes = {name: int(np.prod(shape)) for name, shape in reader.get_variable_to_shape_map().items()}
    excluded = {n: s for n, s in sizes.items() if count_exclude_pattern and re.search(count_exclude_pattern, n)}
    if count_exclude_pattern:
        print(
            f"# Excluding {len(excluded)} tensors ({sum(excluded.values())} params) that match {count_exclude_pattern} when counting."
        )
    return sum(sizes.values()) - sum(excluded.values())
