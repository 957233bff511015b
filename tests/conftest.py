"""Settings for all tests: Hypothesis draws the same cases every time unless THALWEG_EXAMPLES asks for more, and the root of the
repository is on the path, since benchmarks are no part of the package."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
# Plans are those of a machine that was never measured, whatever is known of this one.
os.environ["THALWEG_HOME"] = tempfile.mkdtemp(prefix="thalweg-tests-")
EXAMPLES = int(os.environ.get("THALWEG_EXAMPLES", "0"))
PHASES = (
    (Phase.explicit, Phase.reuse, Phase.generate) if os.environ.get("THALWEG_NO_SHRINK") else tuple(Phase)
)

settings.register_profile(
    "thalweg",
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=EXAMPLES == 0,
    max_examples=EXAMPLES or 12,
    phases=PHASES,
)
settings.load_profile("thalweg")


def pytest_collection_finish() -> None:
    """What was imported stays for the whole run: no collection of garbage need look at it, in the midst of a test that takes its time."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let the interpreter end as it would."""
    gc.unfreeze()
