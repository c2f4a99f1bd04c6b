"""``python -m esproxy``: the command line."""

import sys

from esproxy.cli import main

if __name__ == "__main__":
    sys.exit(main())
