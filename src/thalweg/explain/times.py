"""What was measured of steps."""

from __future__ import annotations

from collections.abc import Mapping

Times = Mapping[str, tuple[int, float]]
"""Rows and milliseconds by the name of what was done: scan, lift, derive, merge, keep, emit, or the evaluation of a join."""
