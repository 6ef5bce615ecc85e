"""`%load_ext tfcompat` and the picture of a graph, in an InteractiveShell of this process."""

import html
import json
import re
import sys

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

import tfcompat as tf
from tfcompat._src.graph import picture

SHOW_GRAPH = '''
import tensorflow as tf
from IPython.display import HTML
with tf.Graph().as_default() as graph:
    with tf.name_scope("scope"):
        tf.add(tf.constant(1.0, name="one"), 2.0, name="sum")
page = """<script>function load() {{document.getElementById("g").pbtxt = {data};}}</script>
<link rel="import" href="https://tensorboard.appspot.com/tf-graph-basic.build.html" onload=load()>
<div><tf-graph-basic id="g"></tf-graph-basic></div>""".format(data=repr(str(graph.as_graph_def())))
shown = HTML('<iframe srcdoc="{}"></iframe>'.format(page.replace('"', '&quot;')))
'''


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        shell = InteractiveShell(display_pub_class=CapturingDisplayPublisher)
        shell.history_manager.enabled = False
        tf.load_ipython_extension(shell)
        yield shell


def drawn(text):
    """The data in a picture: {"nodes": ..., "devices": ...}."""
    page = html.unescape(re.search(r'srcdoc="(.*)"></iframe>', text, re.DOTALL)[1])
    assert not re.search(r'(src|href)="?https?:', page)
    return json.loads(re.search(r"const DATA = (\{.*\}), OPEN = ", page)[1])


def test_tensorflow_is_tfcompat(shell):
    shell.run_cell("import tensorflow as tf").raise_error()
    assert shell.user_ns["tf"] is tf


@pytest.mark.parametrize("line", ["1.x", "1.15.0", "1.x  # as in Colab"])
def test_version_1_is_accepted(shell, line, capsys):
    shell.run_cell(f"%tensorflow_version {line}").raise_error()
    assert capsys.readouterr().out == "TensorFlow 1.15.5 (tfcompat)\n"


def test_version_2_is_an_error(shell):
    error = shell.run_cell("%tensorflow_version 2.x").error_in_exec
    assert type(error).__name__ == "UsageError" and "restart the kernel" in str(error)


def test_graph_is_drawn_with_shapes_and_devices(shell):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        with tf.device("/gpu:0"), tf.control_dependencies([tf.no_op(name="first")]):
            tf.nn.relu(x, name="scope/relu")
    data = drawn(shell.display_formatter.format(graph)[0]["text/html"])
    assert data["nodes"] == [
        ["x", "Placeholder", [], [], 0],
        ["first", "NoOp", [], [], 1],
        ["scope/relu", "Relu", [[0, "?×3"]], [1], 1],
    ]
    assert data["devices"] == ["", "/device:GPU:0"]
    nodes = drawn(shell.display_formatter.format(graph.as_graph_def(add_shapes=True))[0]["text/html"])["nodes"]
    assert nodes == data["nodes"]


def test_names_cannot_leave_the_page():
    graph_def = tf.GraphDef()
    graph_def.node.add(name='</script>"&quot;', op="NoOp")
    assert drawn(picture.graph_def_html(graph_def))["nodes"][0][0] == '</script>"&quot;'


@pytest.mark.filterwarnings("ignore:Consider using IPython.display.IFrame")  # IPython says so of the snippet
def test_show_graph_of_old_notebooks_is_drawn(shell):
    shell.run_cell(SHOW_GRAPH).raise_error()
    shown = shell.display_formatter.format(shell.user_ns["shown"])[0]["text/html"]
    assert "appspot" not in shown
    assert [node[0] for node in drawn(shown)["nodes"]] == ["scope/one", "scope/sum/y", "scope/sum"]
    plain = shell.run_cell("HTML('<b>tf-graph-basic</b>')").result
    assert shell.display_formatter.format(plain)[0]["text/html"] == "<b>tf-graph-basic</b>"


def test_exceptions_show_the_cell_and_not_tfcompat(shell, capsys):
    tf.reset_default_graph()
    shell.run_cell("import tensorflow as tf\nx = tf.placeholder(tf.float32, [3])\ntf.Session().run(x, {x: [1, 2]})")
    text = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert re.match(r"tfcompat: \d frames of tfcompat and JAX folded; TFCOMPAT_TRACEBACK=full shows all\n", text)
    assert "----> 3 tf.Session().run(x, {x: [1, 2]})" in text and text.count("File ") == 1
    assert text.rstrip().endswith("Cannot feed value of shape (2,) for Tensor 'Placeholder:0', which has shape '(3,)'")
    assert "session.py" in sys.last_traceback.tb_next.tb_next.tb_frame.f_code.co_filename  # %debug has all frames


def test_a_handler_of_exceptions_that_the_program_has_set_stays(shell):
    own = shell.CustomTB
    shell.set_custom_exc((KeyError,), lambda *args, **kwargs: None)
    theirs = shell.CustomTB
    tf.load_ipython_extension(shell)
    assert shell.CustomTB is theirs
    shell.CustomTB, shell.custom_exceptions = own, (BaseException,)
