"""A child process that runs variants of rows: `python -m generated.surroundings_worker FAMILIES`, where FAMILIES are joined by commas, or "all".

It speaks as `program_worker` does: the number before a variant, and "NUMBER<tab>OUTCOME<tab>NAME<tab>TEXT" after it.
"""

import logging
import os
import resource
import sys

import tfcompat as tf
from generated.surroundings import Variant, rows

MOST_BYTES = 16 << 30


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print there
    logging.disable(logging.CRITICAL)
    tf.logging.set_verbosity(tf.logging.FATAL)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    bank = rows(None if sys.argv[1] == "all" else sys.argv[1].split(","))
    for line in sys.stdin:
        first, count = map(int, line.split())
        for number in range(first, first + count):
            print(number, file=answers, flush=True)
            variant = Variant.drawn(bank, number)
            word, text = variant.outcome()
            print(f"{number}\t{word}\t{variant.name}\t{' '.join(text.split())[:400]}", file=answers, flush=True)


if __name__ == "__main__":
    main()
