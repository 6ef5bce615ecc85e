"""Counts of the runs of programs, examples and rows of tests/cases that tfcompat.to_jax converts, and that give Session.run's bits.

    python tests/interop/to_jax_survey.py programs examples cases:rnn,nn_conv

Each Session.run of a graph with other fetches or feeds than before is converted, called with the same arrays, and compared with what the
session gives and leaves in variables.
"""

import collections
import contextlib
import importlib
import io
import os
import runpy
import shlex
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1]), str(HERE.parent / "programs/stand_ins")]
os.environ.setdefault("TFCOMPAT_ENGINE", "compile")

import jax  # noqa: E402
import numpy as np  # noqa: E402
from cases import observe  # noqa: E402
from programs import run_folder  # noqa: E402

import tfcompat as tf  # noqa: E402
from tfcompat._src.base import jax_compat  # noqa: E402
from tfcompat._src.runtime.session.fetches import convert_feed, expand_feeds  # noqa: E402
from tfcompat._src.runtime.session.session import BaseSession  # noqa: E402
from tfcompat._src.runtime.state.variable_state import variable_key  # noqa: E402

EQUAL, CLOSE, DIFFERENT, REFUSED = "equal bits", "close", "DIFFERENT", "refused"
CLOSE_TO = 1e-5


class Survey:
    """Compares each new kind of run of every session inside the block."""

    def __init__(self):
        self.found, self.seen, self.label = collections.defaultdict(list), set(), ""

    def __enter__(self):
        self.run = BaseSession.run
        survey = self

        def run(session, fetches, feed_dict=None, options=None, run_metadata=None):
            return survey.compared(session, fetches, feed_dict or {}, (options, run_metadata))

        BaseSession.run = run
        return self

    def __exit__(self, *raised):
        BaseSession.run = self.run

    def compared(self, session, fetches, feeds, more):
        """What the session gives, after its run was compared with the function's."""
        key = (id(session.graph), session.graph._changes, str(fetches), str(list(feeds)))
        if key in self.seen or session._remote:
            return self.run(session, fetches, feeds, *more)
        self.seen.add(key)
        try:
            parts = dict(expand_feeds(session.graph, feeds))
            with jax.enable_x64(True):
                fn, params = tf.to_jax(fetches, list(parts), session, checks=True)
                found, new, holds = jax_compat.jit(fn, donate=())(params, *(convert_feed(t, v) for t, v in parts.items()))
                found, new = jax.tree.map(np.asarray, (found, new))
            outcome = (found, new, bool(holds))
        except Exception as error:  # noqa: BLE001  # whatever is raised is counted under its text
            outcome = error
        try:
            wanted = self.run(session, fetches, feeds, *more)
        except Exception as error:
            if not isinstance(outcome, Exception) and outcome[2]:
                self.note(DIFFERENT, f"no failed check where Session.run raises {type(error).__name__}")
            raise
        kind, why = self.verdict(session, fn if not isinstance(outcome, Exception) else None, wanted, outcome)
        self.note(kind, why and f"{why}: {named(fetches)}")
        return wanted

    def verdict(self, session, fn, wanted, outcome):
        """How the function's results compare with the session's, and the reason where it has none."""
        if isinstance(outcome, Exception):
            kind = REFUSED if isinstance(outcome, (NotImplementedError, tf.errors.FailedPreconditionError)) else DIFFERENT
            return kind, f"{type(outcome).__name__}: {outcome}"
        found, new, holds = outcome
        there = {v.name: session.context.variable_state.read(v, variable_key(v)) for v in fn._run.variables}
        have = {**new["trainable"], **new["other"]}
        if set(have) != set(there) or not holds:
            return DIFFERENT, f"variables {sorted(set(have) ^ set(there))}, checks {holds}"
        pairs = list(zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True)) + [(have[name], there[name]) for name in there]
        worst = max((difference(a, b) for a, b in pairs), default=0.0)
        return (EQUAL if worst == 0 else CLOSE if worst < CLOSE_TO else DIFFERENT), f"differs by {worst:.1e}" if worst else ""

    def note(self, kind, why):
        self.found[self.label].append((kind, why))


def named(fetches):
    """The names of what is fetched."""
    return ", ".join(str(getattr(leaf, "name", leaf)) for leaf in jax.tree.leaves(fetches))


def difference(one, other):
    """The greatest difference of two arrays, relative to the greatest magnitude; 0 for the same bits."""
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return np.inf
    if one.tobytes() == other.tobytes():
        return 0.0
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    one, other = one.astype(wide), other.astype(wide)
    if not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return np.inf
    one, other = one[np.isfinite(one)], other[np.isfinite(other)]
    return float(np.max(np.abs(one - other), initial=0) / max(np.max(np.abs(other), initial=0), 1e-30)) or 1e-300


def scripts(paths, survey):
    """Runs scripts, each with a graph and flags of its own in an empty folder."""
    tf.install_as_tensorflow()
    for path, *arguments in paths:
        survey.label = path.stem
        flags = tf.app.flags.FLAGS
        before = set(flags)
        sys.argv = [str(path), *arguments]
        flags.unparse_flags()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            with contextlib.suppress(AssertionError):
                tf.reset_default_graph()
            run_folder.make_mnist(folder)
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    runpy.run_path(str(path), run_name="__main__")
            except SystemExit:
                pass
            except Exception as error:  # noqa: BLE001
                print(f"{path.stem} ends with {type(error).__name__}: {error}"[:200])
        with contextlib.suppress(AssertionError):
            tf.keras.backend.clear_session()
        for name in set(flags) - before:
            delattr(flags, name)
        flags.unparse_flags()


def rows(families, survey):
    """Runs the rows of tables: outputs and gradients."""
    for family in families:
        for case in importlib.import_module("cases." + family).TABLE.cases:
            survey.label = case.id
            if case.error or not case.fetch:
                continue
            with tf.Graph().as_default():
                try:
                    inputs, outputs, _ = observe.build(tf, case)
                    tensors = [t for _, t in observe.flat_outputs(tf, outputs)]
                    with tf.Session() as session:
                        with survey_off(survey):
                            observe.initialise(tf, session)
                        feed = observe.feed_for(case, inputs)
                        if case.run:
                            case.run(tf, session, outputs, feed)
                        else:
                            session.run(tensors, feed)
                except Exception as error:  # noqa: BLE001
                    print(f"{case.id} ends with {type(error).__name__}: {error}"[:200])


@contextlib.contextmanager
def survey_off(survey):
    """Runs inside are not looked at."""
    hooked, BaseSession.run = BaseSession.run, survey.run
    yield
    BaseSession.run = hooked


def report(survey):
    """Prints each label with its outcomes, and the totals."""
    totals = collections.Counter()
    graphs = collections.Counter()
    for label, found in survey.found.items():
        kinds = collections.Counter(kind for kind, _ in found)
        totals.update(kinds)
        graphs["all runs equal" if set(kinds) == {EQUAL} else "some runs equal" if EQUAL in kinds else "none equal"] += 1
        print(f"{label}: {dict(kinds)}")
        for kind, why in dict.fromkeys(found):
            if kind != EQUAL:
                print(f"    {kind}: {why}"[:400])
    print(f"graphs: {sum(graphs.values())} {dict(graphs)}; runs: {dict(totals)}")


def main(arguments):
    """Surveys what is named: programs, examples, cases:FAMILY,FAMILY."""
    with Survey() as survey:
        for argument in arguments:
            if argument == "programs":
                paths = sorted(p for p in (HERE.parent / "programs").glob("*.py") if p.stem not in ("__init__", "run_folder"))
                scripts([(p,) for p in paths + sorted((HERE.parent / "programs/seeds").glob("*.py"))], survey)
            elif argument == "examples":
                lines = [shlex.split(line) for line in (HERE.parent / "examples/commands.txt").read_text().splitlines()]
                scripts([(HERE.parents[1] / "examples" / n, *rest) for n, *rest in lines if n != "parameter_server.py"], survey)
            else:
                rows(argument.partition(":")[2].split(","), survey)
    report(survey)


if __name__ == "__main__":
    main(sys.argv[1:])
