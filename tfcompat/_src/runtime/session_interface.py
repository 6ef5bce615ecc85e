"""The base class of all that runs graphs as a tf.Session does."""


class SessionInterface:
    """What has `graph`, `run` and the other methods of a session: tf.Session, and the sessions of the debugger around one."""
