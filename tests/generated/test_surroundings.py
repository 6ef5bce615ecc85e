"""Rows elsewhere give their values or a stated error (`python -m generated.run_programs --rows all --help` for long runs)."""

from generated.run_programs import ROWS, run

FAMILIES = "array,control,kernel_edges,math_binary,nn_conv,reduction,slicing,state"
VARIANTS = 60


def test_rows_elsewhere_end_in_a_value_or_a_stated_error():
    found = run(FAMILIES, first=0, count=VARIANTS, report=lambda line: None, worker=ROWS)
    assert sum(map(len, found.values())) == VARIANTS
    assert not {word: found[word] for word in ("abort", "hang", "internal", "differs") if found[word]}
    assert len(found["same"]) > VARIANTS / 3
