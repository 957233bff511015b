"""Puts the root of the repository on the path: the steady workload is that of `make steady`, and benchmarks are no part of the package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
