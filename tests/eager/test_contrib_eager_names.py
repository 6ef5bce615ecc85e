"""Networks, templates and restoring of tf.contrib.eager; values, names and texts of TensorFlow 1.15.5."""

import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode

tfe = tf.contrib.eager


@pytest.fixture(autouse=True)
def _eager():
    with eager_mode():
        yield


def _dense(units):
    return tf.layers.Dense(units, kernel_initializer=tf.ones_initializer())


def _scaled(x):
    return x * tf.get_variable("q", shape=[], initializer=tf.ones_initializer())


def test_sequential_calls_layers_and_functions():
    network = tfe.Sequential([_dense(2), lambda x: x + 1.0, _dense(1)], name="net")
    for _ in range(2):
        assert network(tf.constant([[1.0, 2.0]])).numpy().tolist() == [[8.0]]
    names = ["net/dense/kernel:0", "net/dense/bias:0", "net/dense_1/kernel:0", "net/dense_1/bias:0"]
    assert [v.name for v in network.variables] == names


def test_sequential_hands_training_to_steps_that_take_it():
    network = tfe.Sequential([tf.layers.Dropout(0.5), _dense(1)], name="mine")
    assert network(tf.ones([1, 4]), training=False).numpy().tolist() == [[4.0]]
    assert [v.name for v in network.variables] == ["mine/dense/kernel:0", "mine/dense/bias:0"]
    doubled = tfe.Sequential([lambda x, training: x * 2 if training else x, lambda x: x + 1])
    assert doubled(tf.ones([2]), training=True).numpy().tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'training'"):
        doubled(tf.ones([2]))


def test_sequential_without_steps_and_with_a_wrong_one():
    assert tfe.Sequential()(tf.ones([2])).numpy().tolist() == [1.0, 1.0]
    with pytest.raises(TypeError) as found:
        tfe.Sequential([3])
    text = "Sequential.add() takes only tf.layers.Layer objects or callables; not '3' of type '<class 'int'>'."
    assert str(found.value) == text


@pytest.mark.parametrize("compiled", [False, True])
def test_template(compiled):
    template = tfe.make_template("t", _scaled, create_graph_function_=compiled)
    assert [template(tf.constant(x)).numpy() for x in (2.0, 3.0)] == [2.0, 3.0]
    assert [v.name for v in template.variables] == ["t/q:0"]
    with pytest.raises(ValueError, match="unique_name_ cannot be used when eager"):
        tfe.make_template("t", _scaled, unique_name_="u", create_graph_function_=compiled)


@pytest.fixture
def checkpoint(tmp_path):
    return tfe.Saver([tfe.Variable(3.0, name="v"), tfe.Variable(4.0, name="w")]).save(str(tmp_path / "c"))


def test_variables_are_restored_when_made(checkpoint):
    with tfe.restore_variables_on_create(checkpoint):
        assert [tfe.Variable(0.0, name="v").numpy() for _ in range(2)] == [3.0, 0.0]
        with pytest.raises(tf.errors.NotFoundError, match="zz not found in checkpoint"):
            tfe.Variable(1.0, name="zz")
    with tfe.restore_variables_on_create(checkpoint, lambda name: "w"):
        assert tfe.Variable(0.0, name="x").numpy() == 4.0
    with tfe.restore_variables_on_create(None):
        assert tfe.Variable(0.0, name="x").numpy() == 0.0
    assert tfe.Variable(0.0, name="v").numpy() == 0.0


def test_restoring_refuses(checkpoint):
    with pytest.raises(ValueError, match="map_func must be callable"), tfe.restore_variables_on_create(checkpoint, 3):
        pass
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="can only be used with eager"), tfe.restore_variables_on_create(checkpoint):
            pass
        with pytest.raises(RuntimeError, match="tfe.Saver can only be used when eager execution is enabled"):
            tfe.Saver([])


def test_remote_eager_execution_needs_no_server():
    assert tfe.enable_remote_eager_execution() is None
    with pytest.raises(ValueError, match="execution_mode must be one of None, "):
        tfe.enable_remote_eager_execution(execution_mode=7)
    with pytest.raises(NotImplementedError, match="without server_def"):
        tfe.enable_remote_eager_execution(server_def=tf.train.ServerDef())


def test_load_variable_of_graph_actions(checkpoint):
    assert tf.contrib.learn.graph_actions.load_variable(checkpoint, "w") == 4.0


class Net(tfe.Network):
    def __init__(self, name=None, value=2.0):
        super().__init__(name=name)
        self.a = self.track_layer(tf.layers.Dense(2, use_bias=False, kernel_initializer=tf.constant_initializer(value)))
        self.b = self.track_layer(tf.layers.Dense(1, kernel_initializer=tf.constant_initializer(1.0)))

    def call(self, x):
        return self.b(self.a(x))


def _save_and_restore_network(folder, evaluate, initialize):
    x = tf.constant([[1.0, 2.0]])
    first = Net("my")
    with pytest.raises(ValueError, match="Attempt to save the Network before it was first called"):
        tfe.save_network_checkpoint(first, folder)
    first(x)
    initialize()
    path = tfe.save_network_checkpoint(first, folder)
    assert path == folder + "/my" and first.scope_name == "my"
    assert tf.train.list_variables(path) == [("dense/kernel", [2, 2]), ("dense_1/bias", [1]), ("dense_1/kernel", [2, 1])]
    renamed = tfe.save_network_checkpoint(first, folder + "/x", global_step=7, map_func=lambda name: "q/" + name)
    assert renamed == folder + "/x-7"
    assert [name for name, _ in tf.train.list_variables(renamed)] == ["q/my/dense/kernel", "q/my/dense_1/bias", "q/my/dense_1/kernel"]
    later, now = Net(value=5.0), Net(value=6.0)
    tfe.restore_network_checkpoint(later, path)
    assert evaluate(later(x)) == [[12.0]] and later.scope_name == "net"
    now(x)
    initialize(now.variables)
    tfe.restore_network_checkpoint(now, path)
    assert evaluate(now(x)) == [[12.0]]
    for function in (tfe.save_network_checkpoint, tfe.restore_network_checkpoint):
        with pytest.raises(ValueError, match="has two variables of the Network 'net_1' for the name 'q'"):
            function(now, path, map_func=lambda name: "q")
    other = Net()
    tfe.restore_network_checkpoint(other, path, map_func=lambda name: "dense/kernel")
    with pytest.raises(ValueError, match="two variables of the Network 'net_2' for the name 'dense/kernel'"):
        other(x)
    with pytest.raises(ValueError, match="A Network named 'my' already exists"):
        Net("my")(x)


def test_network_checkpoints_eager(tmp_path):
    _save_and_restore_network(str(tmp_path), lambda y: y.numpy().tolist(), lambda variables=None: None)


def test_network_checkpoints_of_graphs(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:

        def initialize(variables=None):
            sess.run(tf.variables_initializer(tf.global_variables() if variables is None else variables))

        _save_and_restore_network(str(tmp_path), lambda y: sess.run(y).tolist(), initialize)
