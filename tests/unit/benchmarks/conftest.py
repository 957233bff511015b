"""Puts the root of the repository on the path: benchmarks are no part of the package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
