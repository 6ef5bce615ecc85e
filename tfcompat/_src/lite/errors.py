"""The error of a conversion."""


class ConverterError(Exception):
    """A graph cannot be converted; the message names what of it."""
