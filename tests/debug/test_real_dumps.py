"""DebugDumpDir on dumps that the real program wrote: it says of them what 1.15.5 says."""

import os
import shutil

import debugged_programs
import numpy as np
import pytest
from oracle import golden

from tfcompat._src.base.errors import DataLossError
from tfcompat._src.debug.debug_graphs import get_node_name, parse_debug_node_name, reconstruct_non_debug_graph_def
from tfcompat._src.debug.dump_dir import DebugDumpDir, WatchKeyDoesNotExistInDebugDumpDirError
from tfcompat._src.debug.dump_files import InconvertibleTensorProto, has_inf_or_nan

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(__file__)), "golden", "debug")
NAMES = [program.__name__ for program in debugged_programs.PROGRAMS]


@pytest.fixture(params=NAMES)
def real(request, tmp_path):
    """The folder of a dump, and what 1.15.5 says of it."""
    return unpacked(request.param, tmp_path)


def unpacked(name, folder):
    record = golden.unpack(golden.read(os.path.join(GOLDEN, name + ".json.gz")))
    for path, content in record["files"].items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder, record["answers"]


def test_tensors(real):
    folder, said = real
    dump = DebugDumpDir(str(folder))
    assert dump.size == said["size"]
    assert [d.watch_key for d in dump.dumped_tensor_data] == [key for key, *_ in said["data"]]
    for datum, (_, time, size, value) in zip(dump.dumped_tensor_data, said["data"], strict=True):
        assert (datum.timestamp - dump.t0, datum.dump_size_bytes) == (time, size)
        found = datum.get_tensor()
        if isinstance(value, str):
            assert isinstance(found, InconvertibleTensorProto) and found.initialized == (value == "initialized")
        else:
            np.testing.assert_array_equal(found, value.array)
        assert any(same is datum for same in dump.watch_key_to_data(datum.watch_key))


def test_graph(real):
    folder, said = real
    dump = DebugDumpDir(str(folder))
    assert (dump.devices(), list(dump.core_metadata)) == (said["devices"], said["metadata"])
    nodes = sorted(dump.nodes())
    assert nodes == said["nodes"]
    assert [dump.node_op_type(n) for n in nodes] == said["op_types"]
    assert [dump.node_inputs(n) for n in nodes] == said["inputs"]
    assert [sorted(dump.node_inputs(n, is_control=True)) for n in nodes] == said["control_inputs"]
    assert [sorted(dump.node_recipients(n)) for n in nodes] == said["recipients"]
    assert [sorted(dump.node_recipients(n, is_control=True)) for n in nodes] == said["control_recipients"]
    assert [sorted(dump.debug_watch_keys(n)) for n in nodes] == said["watch_keys"]
    assert [sorted(set(dump.transitive_inputs(n))) for n in nodes] == said["transitive"]
    assert [dump.node_device(n) for n in nodes] == said["devices"] * len(nodes)


def test_paths(real):
    """A path is a chain of inputs, and there is one exactly where 1.15.5 finds one."""
    folder, said = real
    dump = DebugDumpDir(str(folder))
    for node, length in zip(said["nodes"], said["paths_to_last"], strict=True):
        path = dump.find_some_path(node, said["last"])
        assert (path is None) == (length == 0)
        for source, target in zip(path or (), (path or ())[1:]):
            taken = [*dump.node_inputs(get_node_name(target)), *dump.node_inputs(get_node_name(target), is_control=True)]
            assert source in taken or get_node_name(source) in taken


def test_reconstructed_graphs_have_no_nodes_of_the_debugger(real):
    dump = DebugDumpDir(str(real[0]))
    (debugged,), (plain,) = dump.partition_graphs(), dump.reconstructed_non_debug_partition_graphs().values()
    assert plain == reconstruct_non_debug_graph_def(debugged)
    assert [n.name for n in plain.node] == [n.name for n in debugged.node if not n.name.startswith("__")]
    assert not any("__copy_" in i or "__dbg_" in i for n in plain.node for i in n.input)


def test_unknown_names(tmp_path):
    dump = DebugDumpDir(str(unpacked("branches", tmp_path)[0]))
    with pytest.raises(WatchKeyDoesNotExistInDebugDumpDirError, match='Watch key "x:1:DebugIdentity" does not exist'):
        dump.get_tensors("x", 1, "DebugIdentity")
    with pytest.raises(WatchKeyDoesNotExistInDebugDumpDirError):
        dump.get_tensors("nothing", 0, "DebugIdentity")
    for ask in (dump.node_op_type, dump.node_inputs, dump.node_recipients, dump.transitive_inputs, dump.node_attributes):
        with pytest.raises(ValueError, match=r"None of the 1 device\(s\) has a node named 'nothing'"):
            ask("nothing")
    assert dump.debug_watch_keys("nothing") == dump.watch_key_to_data("nothing:0:DebugIdentity") == []
    with pytest.raises(ValueError, match="Invalid device name: /gpu"):
        dump.nodes("/gpu")


def test_order_is_checked(tmp_path):
    folder, _ = unpacked("branches", tmp_path)
    datum = DebugDumpDir(str(folder)).watch_key_to_data("Greater:0:DebugIdentity")[0]
    early = datum.file_path.replace(f"_{datum.timestamp}", f"_{datum.timestamp - 100_000_000}")
    shutil.move(datum.file_path, early)
    with pytest.raises(ValueError, match=r"Causality violated in timing relations of debug dumps: Greater \(\d+\).*'x/read', 0"):
        DebugDumpDir(str(folder))
    assert DebugDumpDir(str(folder), validate=False).dumped_tensor_data[0].node_name == "Greater"


def test_find(tmp_path):
    dump = DebugDumpDir(str(unpacked("branches", tmp_path)[0]))
    assert dump.find(has_inf_or_nan) == []
    twenty = [d.node_name for d in dump.find(lambda datum, value: np.all(value == 20))]
    assert set(twenty) >= {"y", "y/read"}
    assert [d.node_name for d in dump.find(lambda datum, value: np.all(value == 20), first_n=1)] == twenty[:1]
    left = [d.node_name for d in dump.find(lambda datum, value: np.all(value == 20), exclude_node_names="y")]
    assert left == [name for name in twenty if not name.startswith("y")]


@pytest.mark.parametrize(
    "value, bad",
    [([1.0, np.nan], True), ([np.inf], True), ([1.0], False), ([], False), ([1j, np.nan], True), ([1], False), (["a"], False), ([True], False)],
)
def test_has_inf_or_nan(value, bad):
    assert has_inf_or_nan(None, np.array(value)) is bad


@pytest.mark.parametrize("kept", [0, 20])
def test_a_truncated_file_is_an_error(tmp_path, kept):
    folder, _ = unpacked("branches", tmp_path)
    datum = DebugDumpDir(str(folder)).dumped_tensor_data[0]
    with open(datum.file_path, "r+b") as file:
        file.truncate(kept)
    with pytest.raises(DataLossError, match="x_0_DebugIdentity_[0-9]+ is cut off or damaged"):
        datum.get_tensor()


def test_names_of_debug_nodes():
    assert parse_debug_node_name("__dbg_a_b/c_d:1_0_DebugIdentity") == ("a_b/c_d", 1, 0, "DebugIdentity")
