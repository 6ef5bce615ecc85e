import pickle
from types import SimpleNamespace

import pytest

from tfcompat._src.base import errors

# google/rpc/code.proto
CODES = {
    1: "Cancelled", 2: "Unknown", 3: "InvalidArgument", 4: "DeadlineExceeded", 5: "NotFound", 6: "AlreadyExists",
    7: "PermissionDenied", 8: "ResourceExhausted", 9: "FailedPrecondition", 10: "Aborted", 11: "OutOfRange",
    12: "Unimplemented", 13: "Internal", 14: "Unavailable", 15: "DataLoss", 16: "Unauthenticated",
}  # fmt: skip


def _op(name, line, inputs=()):
    return SimpleNamespace(
        name=name,
        traceback=[("train.py", 3, "<module>", "main()"), ("model.py", line, "build", f"{name} = make()")],
        inputs=[SimpleNamespace(op=i) for i in inputs],
    )


@pytest.mark.parametrize("code, name", CODES.items())
def test_class_and_code(code, name):
    cls = getattr(errors, name + "Error")
    assert errors.exception_type_from_error_code(code) is cls
    assert errors.error_code_from_exception_type(cls) == code
    error = errors._make_specific_exception(None, None, "text", code)
    assert type(error) is cls and cls.__bases__ == (errors.OpError,)
    assert (error.error_code, error.message, error.op, error.node_def, str(error), error.args) == (
        code, "text", None, None, "text", (),
    )  # fmt: skip
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.message, copy.error_code) == (cls, "text", code)


def test_codes_without_a_class():
    for code in (0, 17):
        with pytest.raises(KeyError):
            errors.exception_type_from_error_code(code)
    with pytest.warns(UserWarning, match="Unknown error code: 37"):
        error = errors._make_specific_exception(None, None, "text", 37)
    assert type(error) is errors.UnknownError and error.error_code == 37
    assert pickle.loads(pickle.dumps(error)).error_code == 37
    with pytest.warns(UserWarning, match="Unknown class exception"):
        assert isinstance(errors.error_code_from_exception_type(ValueError), errors.UnknownError)


def test_text_of_an_error_shows_where_its_node_was_made():
    error = errors.InvalidArgumentError(None, _op("bad", 7), "Incompatible shapes: [3] vs. [2]")
    assert str(error) == (
        "Incompatible shapes: [3] vs. [2]\n\nOriginal stack trace for 'bad':\n"
        '  File "train.py", line 3, in <module>\n    main()\n'
        '  File "model.py", line 7, in build\n    bad = make()\n'
    )
    assert pickle.loads(pickle.dumps(error)).message == error.message


def test_message_names_its_node_once():
    once = errors.with_node("text", _op("bad", 7))
    assert once == errors.with_node(once, _op("other", 5)) == "text\n\t [[node bad (defined at model.py:7) ]]"


def test_frames_of_the_framework_are_left_out():
    op = _op("bad", 7)
    op.traceback.append((errors.__file__, 1, "make_op", ""))
    assert errors.defined_at(op) == "(defined at model.py:7)"


def test_status_context():
    with errors.raise_exception_on_not_ok_status() as status:
        assert status.code == errors.OK
    with pytest.raises(errors.NotFoundError, match="no file"):
        with errors.raise_exception_on_not_ok_status() as status:
            status.set(errors.NOT_FOUND, "no file")
