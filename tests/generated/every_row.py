"""Each row of tests/cases at each place: prints those that do not give the values of the plain row, and how many end how.

PYTHONPATH=.:tests python -m generated.every_row [--gradients] [--places loop,rows] [PREFIX ...]

A PREFIX is the beginning of rows' names, as `extremes/`.
"""

import argparse
import collections

from generated.surroundings import PLACES, variants


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefixes", nargs="*", default=[""], metavar="PREFIX")
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--places", default=",".join(PLACES))
    options = parser.parse_args()
    counts = collections.Counter()
    for variant in variants(options.prefixes, options.places.split(","), options.gradients):
        word, text = variant.outcome()
        counts[word] += 1
        if word not in ("same", "refused"):
            print(word, variant.name, " ".join(text.split())[:300], flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
