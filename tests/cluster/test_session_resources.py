"""Resources without a shared name on a server: which belong to a session and which to the node's name. Expected: what TensorFlow 1.15.5 gives."""

import threading

import pytest

import tfcompat as tf

raw = tf.raw_ops
INT = {"output_types": [tf.int64], "output_shapes": [tf.TensorShape([])]}


def long(value):
    return tf.constant(value, tf.int64)


def queue(op_type, names, priority=False):
    made = getattr(raw, op_type)(component_types=[tf.int32], shapes=[[]], **names)
    put = raw.QueueEnqueueV2(handle=made, components=[long(1), tf.constant(7)] if priority else [tf.constant(7)])
    return [put, raw.QueueCloseV2(handle=made)], [raw.QueueSizeV2(handle=made), raw.QueueIsClosedV2(handle=made)]


def barrier(names):
    made = raw.Barrier(component_types=[tf.int32, tf.int32], shapes=[[], []], **names)
    return [raw.BarrierInsertMany(handle=made, keys=["k"], values=[1], component_index=0)], raw.BarrierIncompleteSize(handle=made)


def accumulator(names):
    made = raw.ConditionalAccumulator(dtype=tf.float32, shape=[], **names)
    put = raw.AccumulatorApplyGradient(handle=made, local_step=long(0), gradient=1.0)
    return [put], raw.AccumulatorNumAccumulated(handle=made)


def sparse_accumulator(names):
    made = raw.SparseConditionalAccumulator(dtype=tf.float32, shape=[2], **names)
    put = raw.SparseAccumulatorApplyGradient(
        handle=made, local_step=long(0), gradient_indices=long([0]), gradient_values=[1.0], gradient_shape=long([2]), has_known_shape=True
    )
    return [put], raw.AccumulatorNumAccumulated(handle=made)


def reader(names):
    work = raw.FIFOQueueV2(component_types=[tf.string], name="work")
    made = raw.IdentityReaderV2(**names)
    put = raw.QueueEnqueueV2(handle=work, components=[tf.constant("a")])
    return [put, raw.ReaderReadV2(reader_handle=made, queue_handle=work).key], raw.ReaderNumRecordsProducedV2(reader_handle=made)


def table(made):
    insert = raw.InitializeTableV2 if made.op.type == "HashTableV2" else raw.LookupTableInsertV2
    return [insert(table_handle=made, keys=long([5]), values=long([6]))], raw.LookupTableSizeV2(table_handle=made)


def dense_table(names):
    return table(raw.MutableDenseHashTableV2(empty_key=long(0), deleted_key=long(-1), value_dtype=tf.int64, **names))


def numbers():
    return raw.RangeDataset(start=long(0), stop=long(9), step=long(1), **INT)


def iterator(names):
    made = raw.IteratorV2(container="", **names, **INT)
    following = raw.IteratorGetNext(iterator=made, **INT)
    return [raw.MakeIterator(dataset=numbers(), iterator=made), following], following


def multi_device_iterator(names):
    made = raw.MultiDeviceIterator(devices=["/cpu:0"], container="", **names, **INT)
    begun = raw.MultiDeviceIteratorInit(dataset=numbers(), multi_device_iterator=made, max_buffer_size=long(1))
    return [begun], begun


def sparse_tensors_map(names):
    added = raw.AddSparseToTensorsMap(sparse_indices=long([[0]]), sparse_values=[1], sparse_shape=long([2]), **names)
    return [added], added


def ensemble(names):
    made = raw.BoostedTreesEnsembleResourceHandleOp(**names)
    created = raw.BoostedTreesCreateEnsemble(tree_ensemble_handle=made, stamp_token=long(0), tree_ensemble_serialized="")
    return [created], raw.IsBoostedTreesEnsembleInitialized(tree_ensemble_handle=made)


def sampler(names):
    drawn = raw.ThreadUnsafeUnigramCandidateSampler(
        true_classes=long([[1]]), num_true=1, num_sampled=1, unique=False, range_max=3, seed=1, seed2=1, name=names["name"]
    )
    return [drawn.true_expected_count], drawn.true_expected_count


KEYS = {"key_dtype": tf.int64, "value_dtype": tf.int64}
UNSET = tf.errors.FailedPreconditionError
KINDS = {
    "queue": (lambda names: queue("FIFOQueueV2", names), [1, True], [0, False], [0, False]),
    "random queue": (lambda names: queue("RandomShuffleQueueV2", names), [1, True], [0, False], [0, False]),
    "padding queue": (lambda names: queue("PaddingFIFOQueueV2", names), [1, True], [0, False], [0, False]),
    "priority queue": (lambda names: queue("PriorityQueueV2", names, True), [1, True], [0, False], [0, False]),
    "barrier": (barrier, 1, 0, 0),
    "accumulator": (accumulator, 1, 0, 0),
    "sparse accumulator": (sparse_accumulator, 1, 0, 0),
    "reader": (reader, 1, 0, 0),
    "table": (lambda names: table(raw.HashTableV2(**KEYS, **names)), 1, 0, 0),
    "table named by its node": (lambda names: table(raw.HashTableV2(use_node_name_sharing=True, **KEYS, **names)), 1, 1, 1),
    "mutable table": (lambda names: table(raw.MutableHashTableV2(**KEYS, **names)), 1, 0, 0),
    "dense table": (dense_table, 1, 0, 0),
    "iterator": (iterator, [1], UNSET, UNSET),
    "multi-device iterator": (multi_device_iterator, 2, 1, 1),
    "sparse tensors map": (sparse_tensors_map, 1, 2, 3),
    "ensemble of trees": (ensemble, True, True, True),
    "sampler that learns": (sampler, [[0.5]], [[pytest.approx(1 / 3)]], [[pytest.approx(1 / 3)]]),
}
"""By kind: what builds the nodes that change a resource and that look; what the session that changed it sees, another one, one made later."""
SHARED = {"queue": [1, True], "barrier": 1, "reader": 1, "table": 1, "mutable table": 1, "dense table": 1, "iterator": [2]}
"""What another session sees where the resource has a shared name."""


@pytest.fixture(params=["localhost", "127.0.0.1"])
def target(request):
    """A server's target: by its own name it is called straight, by another one over gRPC."""
    server = tf.train.Server.create_local_server()
    yield server.target.replace("localhost", request.param)


def session(target, build, shared_name=""):
    """A session on a graph of its own, with the nodes that change and that look."""
    with tf.Graph().as_default() as graph:
        return (tf.Session(target, graph), *build({"name": "r", "shared_name": shared_name}))


def seen(session, look):
    try:
        found = session.run(look)
    except UNSET:
        return UNSET
    return [f.item() if hasattr(f, "item") else f for f in found] if isinstance(found, list) else found.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_who_sees_a_resource_without_a_shared_name(target, kind):
    build, own, others, later = KINDS[kind]
    first, changes, look = session(target, build)
    second, _, look_too = session(target, build)
    for change in changes:
        first.run(change)
    assert seen(first, look) == own
    assert seen(second, look_too) == others
    first.close()
    third, _, look_again = session(target, build)
    assert seen(third, look_again) == later


@pytest.mark.parametrize("kind", SHARED)
def test_all_see_a_resource_with_a_shared_name(target, kind):
    build, own, *_ = KINDS[kind]
    first, changes, look = session(target, build, "s")
    for change in changes:
        first.run(change)
    assert seen(first, look) == own
    first.close()
    second, _, look_too = session(target, build, "s")
    assert seen(second, look_too) == SHARED[kind]


def test_a_one_shot_iterator_begins_in_each_session(target):
    taken = []
    for _ in range(2):
        with tf.Graph().as_default() as graph:
            following = tf.data.Dataset.range(9).make_one_shot_iterator().get_next()
            with tf.Session(target, graph) as running:
                taken.append([running.run(following) for _ in range(2)])
    assert taken == [[0, 1], [0, 1]]


def test_staging_areas_are_named_by_their_node(target):
    with tf.Graph().as_default() as graph, tf.Session(target, graph) as first:
        first.run(raw.Stage(values=[1], name="r"))
        first.run(raw.MapStage(key=long(1), indices=[0], values=[1], dtypes=[tf.int32], name="m"))
    with tf.Graph().as_default() as graph, tf.Session(target, graph) as second:
        sizes = second.run([raw.StageSize(dtypes=[tf.int32], name="r"), raw.MapSize(dtypes=[tf.int32], name="m")])
    assert sizes == [1, 1]


def test_an_iterator_that_begins_by_itself_has_no_shared_name(target):
    with tf.Graph().as_default() as graph:
        tf.data.Dataset.range(9).make_one_shot_iterator()
        nodes = graph.as_graph_def()
    (node,) = [node for node in nodes.node if node.op == "OneShotIterator"]
    node.attr["shared_name"].s = b"s"
    with tf.Graph().as_default() as graph, tf.Session(target, graph) as running:
        (handle,) = tf.import_graph_def(nodes, return_elements=[f"{node.name}:0"])
        with pytest.raises(tf.errors.InvalidArgumentError, match="OneShotIteratorOp does not currently support the 'shared_name' attr"):
            running.run(raw.IteratorGetNext(iterator=handle, **INT))


@pytest.mark.parametrize("shared_name", [None, "s"])
def test_closing_a_session_ends_its_runs_that_wait(target, shared_name):
    with tf.Graph().as_default() as graph:
        begun, empty = tf.FIFOQueue(1, [tf.int32]), tf.FIFOQueue(1, [tf.int32], shared_name=shared_name)
        with tf.control_dependencies([begun.enqueue(1)]):
            taken = empty.dequeue()
        has_begun = begun.dequeue()
    running, found = tf.Session(target, graph), []

    def wait():
        with pytest.raises(tf.errors.CancelledError, match="Session::Close"):
            running.run(taken)
        found.append(True)

    thread = threading.Thread(target=wait)
    thread.start()
    running.run(has_begun)
    running.close()
    thread.join(30)
    assert found == [True]


def writer(folder, name="w", **names):
    """Nodes that open an event file, write a summary with a tag, flush the file, and close it."""
    made = raw.SummaryWriter(name=name, **names)
    opened = raw.CreateSummaryFileWriter(writer=made, logdir=str(folder), max_queue=10, flush_millis=10**6, filename_suffix="")
    written = {tag: raw.WriteScalarSummary(writer=made, step=long(1), tag=tag, value=1.0) for tag in "abcd"}
    return opened, written, raw.FlushSummaryWriter(writer=made), raw.CloseSummaryWriter(writer=made)


def tags(folder):
    """The tags of the summaries in each event file of a folder."""
    return [[v.tag for e in tf.train.summary_iterator(str(path)) for v in e.summary.value] for path in folder.glob("*")]


@pytest.mark.parametrize("shared_name", ["s", ""])
def test_a_summary_writer_outlives_its_session(target, tmp_path, shared_name):
    def begin(folder):
        return session(target, lambda names: writer(tmp_path / folder, **names), shared_name)

    first, opened, written, *_ = begin("first")
    second, opened_too, written_too, *_ = begin("second")
    with pytest.raises(tf.errors.NotFoundError):
        second.run(written_too["a"])
    first.run(opened)
    first.run(written["a"])
    second.run(opened_too)
    second.run(written_too["b"])
    first.close()
    third, _, written_again, flushed, closed = begin("third")
    third.run(written_again["c"])
    third.run(flushed)
    assert tags(tmp_path / "first") == [["a", "b", "c"]] and [path.name for path in tmp_path.iterdir()] == ["first"]
    third.run(closed)
    with pytest.raises(tf.errors.NotFoundError):
        second.run(written_too["d"])


def test_writers_without_a_shared_name_are_one(tmp_path):
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as running:
        (opened, written, *_), (opened_too, written_too, flushed, _) = (writer(tmp_path / name, name) for name in ("first", "second"))
        for each in (opened, opened_too, written["a"], written_too["b"], flushed):
            running.run(each)
    assert tags(tmp_path / "first") == [["a", "b"]] and not (tmp_path / "second").exists()


def test_a_session_closes_although_its_event_file_is_gone(tmp_path):
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as running:
        opened, written, *_ = writer(tmp_path)
        running.run(opened)
        running.run(written["a"])
        for path in tmp_path.iterdir():
            path.unlink()
    assert tags(tmp_path) == []


@pytest.mark.parametrize(
    ("containers", "left"),
    [(None, {"c"}), ([], {"c"}), (["local"], {"c"}), (["c"], {""}), (["local", "c"], set()), (["other"], {"", "c"})],
)
def test_a_reset_deletes_the_variables_and_resources_of_containers(target, tmp_path, containers, left):
    def build(names, container):
        with tf.Graph().as_default() as graph, graph.container(container):
            variable = tf.Variable(1)
            made = raw.FIFOQueueV2(component_types=[tf.int32], **names)
            handle = raw.MutableHashTableV2(**KEYS, **names)
            put = [raw.QueueEnqueueV2(handle=made, components=[tf.constant(7)]), *table(handle)[0]]
            opened, written, *_ = writer(tmp_path / f"in_{container}", container=container, **names)
            look = [raw.QueueSizeV2(handle=made), raw.LookupTableSizeV2(table_handle=handle), tf.is_variable_initialized(variable)]
            return tf.Session(target, graph), [variable.initializer, *put, opened], written, look

    for container in ("", "c"):
        running, changes, written, _ = build({"shared_name": "s"}, container)
        for each in (*changes, written["a"]):
            running.run(each)
    tf.Session.reset(target, containers)
    for container in ("", "c"):
        running, _, written, look = build({"shared_name": "s"}, container)
        assert running.run(look) == ([1, 1, True] if container in left else [0, 0, False])
        if container in left:
            running.run(written["b"])
        else:
            with pytest.raises(tf.errors.NotFoundError):
                running.run(written["b"])
            assert tags(tmp_path / f"in_{container}") == [["a"]]
