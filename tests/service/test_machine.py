"""Random operations on a real service: it holds exactly the rows that were acknowledged, whatever is killed."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sql

from tests.service.machine import run

FAULTS = {
    "entries are not tried": """
import discern.service.teach as teach
teach._Commit._tried = lambda self: self.trial
""",
    "entries are only applied together": """
import discern.service.state as live, discern.service.replay as replay
live.replayed = replay._together
""",
    "entries for other columns are applied as empty rows": """
import discern.service.replay as replay, discern.service.teach as teach
replay.objection = teach.objection = lambda *_: None
""",
    "entries that are not applied are cut off": """
import discern.service.log as log
log.Log.note_unapplied = lambda *_: None
""",
    "a log that has gone is not noticed": """
import discern.service.store as store, discern.service.worker as worker
store.Store._refuse_if_gone = lambda self: None
worker.Worker._opened = lambda self: store.Store(self.settings.log_place, self.settings.synchronous)
""",
    "the threshold of a label that is gone stays": """
import discern.evaluation.decisions as decide
decide.Decision.for_labels = lambda self, labels, gone=(): self
""",
    "a new file is not compared with the model": """
import discern.service.state as live
from discern.classifier import Classifier
live._verify, save = (lambda *_: None), Classifier.save
Classifier.save = lambda self, path: save(Classifier.load(live.Path(path).parent / "m.discern"), path)
""",
    "deleted text is not overwritten": """
import discern.service.store as store
store.Store.erase = lambda self: None
""",
}
"""Faults to put into the service, as code that runs before it: the machine must find each of them."""


@pytest.mark.parametrize("seed", range(2))
def test_random_operations(tmp_path: Path, seed: int) -> None:
    run(tmp_path, seed, 60, episode=30)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_five_thousand_operations_with_two_hundred_kills(tmp_path: Path) -> None:
    steps = kills = seed = 0
    while steps < 5000 or kills < 200:
        seed += 1
        taken, killed = run(tmp_path, 1000 + seed, 250)
        steps, kills = steps + taken, kills + killed
    print(f"{steps:,} operations, {kills} kills")


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_operations_with_a_log_on_postgresql(tmp_path: Path, server: str) -> None:
    engine = sql.create_engine(server.replace("postgresql://", "postgresql+psycopg://"))
    for seed in range(10):
        with engine.begin() as connection:
            connection.exec_driver_sql("DROP TABLE IF EXISTS discern_log, discern_keys, discern_bases, discern_facts")
        run(tmp_path, 2000 + seed, 60, store=server)
    engine.dispose()


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", sorted(FAULTS))
def test_the_machine_finds_faults(tmp_path: Path, name: str) -> None:
    with pytest.raises(AssertionError, match=r"^seed 3000, step \d+: "):
        run(tmp_path, 3000, 2000, prelude=FAULTS[name])
