"""Beam searches whose beams are full for most frames, as 1.15.5 decoded them."""

import json
from pathlib import Path

import numpy as np
import pytest

import tfcompat as tf

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "ctc_beams.json").read_text())


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda r: f"seed {r['seed']}")
def test_paths_of_a_full_beam(recorded):
    options = {name: recorded[name] for name in ("beam_width", "top_paths", "merge_repeated")}
    time, classes, lengths = recorded["time"], recorded["classes"], recorded["lengths"]
    logits = np.random.RandomState(recorded["seed"]).standard_normal((time, len(lengths), classes)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        decoded, scores = session.run(tf.nn.ctc_beam_search_decoder(logits, lengths, **options))
    assert [[part.tolist() for part in path] for path in decoded] == recorded["paths"]
    np.testing.assert_allclose(scores, recorded["scores"], rtol=1e-6)
