"""`python -m tfcompat` is the `tfcompat` command."""

import sys

from tfcompat._src.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
