"""The example of the Yahoo benchmark gives what DuckDB gives, also of windows that are open."""

from __future__ import annotations

from pathlib import Path

import duckdb
from examples_support import EXAMPLES, make

from thalweg.testing.comparison import compare
from thalweg.testing.local import LocalSession

VIEWS = """CREATE VIEW views AS SELECT campaign_id, event_time AS seen, time_bucket(INTERVAL 10 SECOND, event_time) AS start
  FROM '{0}/events/*.parquet' JOIN '{0}/campaigns.parquet' USING (ad_id) WHERE event_type = 'view'"""
LAST = "(SELECT max(event_time) - INTERVAL 1 SECOND FROM '{0}/events/*.parquet')"
COUNTED = "SELECT campaign_id, start, start + INTERVAL 10 SECOND AS e, count(*), max(seen) FROM views WHERE {} GROUP BY ALL"


def test_views_of_campaigns(tmp_path: Path) -> None:
    make("ysb", tmp_path, 6000)
    session = LocalSession(tmp_path / "run", 2)
    session.sql((EXAMPLES / "ysb.sql").read_text().replace("data/ysb", str(tmp_path)))
    for path in sorted((tmp_path / "events").glob("*.parquet")):
        session.batch([("ad_events", str(path))])
    final, told = session.handle("views_per_campaign").results(), session.handle("views_so_far")
    with duckdb.connect() as db:
        db.execute(VIEWS.format(tmp_path))
        last = LAST.format(tmp_path)
        over = db.sql(COUNTED.format(f"start + INTERVAL 10 SECOND <= {last}")).to_arrow_table()
        so_far = db.sql(COUNTED.format(f"seen < date_trunc('second', {last})")).to_arrow_table()
    assert over.num_rows > 1500 and told.results().num_rows > so_far.num_rows
    compare(final, over.rename_columns(final.column_names))
    left = told.state().drop_columns(["as_of"])
    compare(left, so_far.rename_columns(left.column_names))
    session.close()
