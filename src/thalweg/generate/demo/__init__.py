"""A workload to try Thalweg with: an auction site's events and a script of queries over them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from thalweg.errors import UsageError
from thalweg.expr.quoting import spark_quoted
from thalweg.generate import Nexmark

MARK = ".thalweg-demo"
RATE, DISORDER, LATE = 500, 2.0, 0.0005
EVENTS_PER_FILE = 25_000


@dataclass(frozen=True)
class Demo:
    """A directory with the demo's data, its script, and the session that runs it."""

    directory: Path
    events: int

    @property
    def data(self) -> Path:
        """Where the events are."""
        return self.directory / "data"

    @property
    def script(self) -> Path:
        """The SQL that is run."""
        return self.directory / "demo.sql"

    @property
    def session(self) -> Path:
        """The session's directory."""
        return self.directory / "session"

    @property
    def generator(self) -> Nexmark:
        """Bids, auctions and people, a little out of order, a few of them late."""
        return Nexmark(events=self.events, rate=RATE, disorder=DISORDER, late=LATE)

    def prepare(self) -> None:
        """An empty directory with the script; what an earlier demo left there goes, anything else is kept and refused."""
        mark = self.directory / MARK
        if self.directory.exists() and not self.directory.is_dir():
            raise UsageError(f"{self.directory}: not a directory", "give another one with --dir")
        if self.directory.is_dir() and any(self.directory.iterdir()) and not mark.exists():
            raise UsageError(
                f"{self.directory}: holds something else than a demo", "give another directory with --dir"
            )
        for old in (self.data, self.session):
            shutil.rmtree(old, ignore_errors=True)
        self.directory.mkdir(parents=True, exist_ok=True)
        mark.touch()
        self.script.write_text(script(self.data))


def script(data: Path) -> str:
    """The demo's SQL over the events under `data`."""
    places = {name: spark_quoted(str(data / name)) for name in ("bid", "auction")}
    return Path(__file__).with_name("auctions.sql").read_text().format(**places)
