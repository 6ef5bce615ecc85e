"""Which steps AsyncCheckpointSaverHook saves, and when listeners hear of it; prints the same under TensorFlow 1.15.5."""

import tempfile
import threading

import tensorflow as tf

heard, may_save = [], threading.Event()


class Listener(tf.train.CheckpointSaverListener):
    def begin(self):
        heard.append("begin")

    def before_save(self, session, global_step_value):
        heard.append("before %d" % global_step_value)
        if global_step_value == 2:
            assert may_save.wait(60)

    def after_save(self, session, global_step_value):
        heard.append("after %d" % global_step_value)
        saved.set()
        return True  # a stop that is not heard

    def end(self, session, global_step_value):
        heard.append("end %d" % global_step_value)


saved = threading.Event()
step = tf.train.get_or_create_global_step()
double = tf.get_variable("double", [], tf.int64, tf.zeros_initializer())
train = tf.assign(double, 2 * tf.assign_add(step, 1))
folder = tempfile.mkdtemp()
hook = tf.contrib.tpu.AsyncCheckpointSaverHook(folder, save_steps=2, listeners=[Listener()], scaffold=tf.train.Scaffold())
with tf.train.SingularMonitoredSession([hook], scaffold=hook._scaffold) as session:
    for i in range(1, 10):
        if i == 2:
            assert saved.wait(60)
            saved.clear()
        session.run(train)
        # The checkpoint of step 2 is written until step 6: those of steps 4 and 6 are left out.
        if i == 6:
            may_save.set()
            assert saved.wait(60)
            hook._saving.result() if hasattr(hook, "_saving") else hook._save_thread.join()
        if i == 8:
            hook._saving.result() if hasattr(hook, "_saving") else hook._save_thread.join()
print(" ".join(heard))
found = tf.train.get_checkpoint_state(folder).all_model_checkpoint_paths
print([path[len(folder) :] for path in found])
print([tf.train.load_variable(path, "global_step") for path in found][-1], tf.train.load_variable(folder, "double"))
for arguments in ({"save_steps": 1, "save_secs": 1}, {"save_steps": 1, "saver": 1, "scaffold": 2}):
    try:
        tf.contrib.tpu.AsyncCheckpointSaverHook(folder, **arguments)
    except ValueError as e:
        print(e)
