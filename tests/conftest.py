"""Settings for all tests: Hypothesis draws the same cases every time unless THALWEG_EXAMPLES asks for more."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

EXAMPLES = int(os.environ.get("THALWEG_EXAMPLES", "0"))
PHASES = (Phase.explicit, Phase.reuse, Phase.generate) if os.environ.get("THALWEG_NO_SHRINK") else tuple(Phase)

settings.register_profile(
    "thalweg",
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=EXAMPLES == 0,
    max_examples=EXAMPLES or 25,
    phases=PHASES,
)
settings.load_profile("thalweg")
