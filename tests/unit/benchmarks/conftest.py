"""The benchmarks' modules stand beside one another, as scripts see them."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
