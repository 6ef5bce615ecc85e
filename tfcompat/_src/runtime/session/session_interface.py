"""The common base class of sessions."""


class SessionInterface:
    """The base class of tf.Session and of the debugger's sessions that wrap one; it marks objects with the methods of a session."""
