"""Calls functions of TensorFlow 1.15's own modules that few programs use; what it prints is the same under both."""

from tensorflow.python.autograph.converters import directives as converter
from tensorflow.python.autograph.lang import directives
from tensorflow.python.autograph.pyct import parser
from tensorflow.python.keras.saving import saved_model_experimental


def arguments_of_directives():
    def with_default(valid, invalid=7):
        del valid, invalid

    calls = [
        (directives.set_loop_options, "f()"),
        (directives.set_loop_options, "f(a, back_prop=b)"),
        (directives.set_element_type, "f(a, b)"),
        (directives.set_element_type, "f(a, dtype=b, shape=c)"),
        (directives.set_element_type, "f(a, b, c)"),
        (with_default, "f(a, b)"),
        (with_default, "f(a, invalid=b)"),
        (with_default, "f(a)"),
    ]
    for directive, text in calls:
        try:
            found = converter._map_args(parser.parse_expression(text), directive)
            print(text, sorted((name, node.id) for name, node in found.items()))
        except ValueError as e:
            print(text, str(e)[:34])


def checks_of_clones():
    print(saved_model_experimental._assert_same_non_optimizer_objects(None, None, None, None))


for part in (arguments_of_directives, checks_of_clones):
    print("#", part.__name__)
    part()
