"""The stages of a step's nodes: a task sends together what nobody needs apart."""

from tfcompat._src.cluster.stages import MOST_BYTES, stages

PS, WORKER = "ps", "worker"


def found(edges, crossing, sizes=None, acts=()):
    """The stages of nodes "task/name": `edges` from what is needed to what needs it; `crossing`, from nodes that send to those that receive."""
    as_node = lambda text: tuple(text.split("/"))  # noqa: E731
    sources = {as_node(text): set() for pair in (*edges, *crossing) for text in pair}
    for source, target in (*edges, *crossing):
        sources[as_node(target)].add(as_node(source))
    sent_by = {as_node(target): as_node(source) for source, target in crossing}
    size_of = {as_node(text): size for text, size in (sizes or {}).items()}
    result = stages(sources, sent_by, lambda node: size_of.get(node, 4), [as_node(text) for text in acts])
    return {"/".join(node): stage for node, stage in result.items()}


LOOKUPS = [  # two lookups on the ps, of rows that are fed and of rows that the worker draws; the worker needs both results for what it sends
    ("ps/words", "ps/send_rows"), ("worker/draw", "worker/send_ids"), ("ps/ids", "ps/send_drawn"),
    ("worker/rows", "worker/loss"), ("worker/drawn", "worker/loss"), ("worker/loss", "worker/send_gradient"), ("ps/gradient", "ps/update"),
]  # fmt: skip
CROSSING = [
    ("ps/send_rows", "worker/rows"), ("worker/send_ids", "ps/ids"), ("ps/send_drawn", "worker/drawn"), ("worker/send_gradient", "ps/gradient")
]  # fmt: skip


def test_what_is_needed_with_a_later_tensor_is_sent_with_it() -> None:
    stage = found(LOOKUPS, CROSSING)
    assert (stage["ps/send_rows"], stage["ps/send_drawn"], stage["worker/rows"]) == (1, 1, 2)
    assert (stage["worker/send_ids"], stage["worker/send_gradient"], stage["ps/update"]) == (0, 2, 3)


def test_what_is_large_or_of_unknown_size_is_sent_at_once() -> None:
    assert found(LOOKUPS, CROSSING, {"ps/send_rows": MOST_BYTES + 1})["ps/send_rows"] == 0
    assert found(LOOKUPS, CROSSING, {"ps/send_rows": None})["ps/send_rows"] == 0


def test_what_another_task_needs_for_an_earlier_tensor_is_sent_at_once() -> None:
    needed_first = [*LOOKUPS, ("worker/rows", "worker/send_ids")]
    stage = found(needed_first, CROSSING)
    assert (stage["ps/send_rows"], stage["worker/send_ids"], stage["ps/send_drawn"], stage["worker/send_gradient"]) == (0, 1, 2, 3)


def test_what_another_task_puts_into_a_queue_is_sent_at_once() -> None:
    """The ps may give an element that it has only when this one is there."""
    put = [("worker/element", "worker/send_element"), ("ps/element", "ps/enqueue")]
    crossing = [*CROSSING, ("worker/send_element", "ps/element")]
    ids_later = [*LOOKUPS, *put, ("worker/rows", "worker/send_ids")]
    stage = found(ids_later, crossing, acts=["ps/enqueue"])
    assert (stage["worker/send_element"], stage["ps/enqueue"], stage["worker/send_ids"]) == (0, 1, 1)
    assert found(ids_later, crossing)["worker/send_element"] == 1  # where it does not act, it goes with the ids


def test_a_number_of_the_worker_is_sent_with_its_gradients() -> None:
    """As the local step of SyncReplicas: its sending alone would be a run of its own."""
    edges = [
        ("worker/step", "worker/send_step"), ("ps/variable", "ps/send_variable"), ("worker/variable", "worker/send_gradient"),
        ("ps/step", "ps/apply"), ("ps/gradient", "ps/apply"), ("ps/apply", "ps/send_token"), ("worker/token", "worker/assign"),
    ]  # fmt: skip
    crossing = [
        ("worker/send_step", "ps/step"), ("ps/send_variable", "worker/variable"), ("worker/send_gradient", "ps/gradient"),
        ("ps/send_token", "worker/token"),
    ]  # fmt: skip
    stage = found(edges, crossing, acts=["ps/apply"])
    assert (stage["worker/send_step"], stage["worker/send_gradient"], stage["ps/apply"], stage["worker/assign"]) == (1, 1, 2, 3)
