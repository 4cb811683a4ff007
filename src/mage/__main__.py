"""`python -m mage`: the command line."""

import sys

from mage.cli import main

if __name__ == "__main__":
    sys.exit(main())
