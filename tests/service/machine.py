"""A service under random operations, with a plain list of rows beside it that says what its model must be.

All random choices come from one seed, so a failure can be repeated. Every row has a word that no other row has: what was
forgotten can be looked for in all files.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import shutil
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from discern.classifier import Classifier
from discern.data.strings import DataError
from discern.evaluation.decisions import Decision
from discern.learners.smoothing import Dirichlet, JelinekMercer
from discern.service.state import read_base
from tests.service.running import Client, Process, kill_all_of, kill_one_of

Row = dict[str, Any]

COMMON = ["win", "money", "prize", "noon", "lunch", "meeting", "report"]
LEVELS = ["red", "green", "blue"]
WEIGHTS = {
    "learn": 30,
    "forget": 14,
    "relabel": 8,
    "undo": 8,
    "forget_unknown": 4,
    "learn_unsure": 2,
    "predict": 14,
    "compact": 6,
    "reload": 2,
    "kill_one": 5,
    "kill_all": 1.5,
    "restart": 1.5,
    "replace": 1,
    "misplace": 2,
    "remove_log": 0.7,
}
"""How often each operation is drawn."""


@dataclass
class Kind:
    """The settings of a model, drawn at random."""

    columns: dict[str, str]
    settings: dict[str, Any]
    decision: Decision | None
    calibrated: bool

    @classmethod
    def draw(cls, chance: random.Random) -> Kind:
        """Draw settings; those that do not go together are found when rows are fitted."""
        columns = {"text": "text"} if chance.random() < 0.85 else {}
        columns |= {"color": "category"} if chance.random() < 0.4 or not columns else {}
        columns |= {"size": "number"} if chance.random() < 0.3 else {}
        roles: dict[str, list[str]] = {}
        for name, role in columns.items():
            roles.setdefault(role, []).append(name)
        calibrated = chance.random() < 0.2
        settings = {
            **roles,
            "model": chance.choice(["multinomial", "binary", "bernoulli", "complement"]),
            "smoothing": chance.choice([1.0, 0.1, JelinekMercer(0.3), Dirichlet(50.0)]),
            "priors": chance.choice(["data", "uniform", {"spam": 0.3, "ham": 0.7}]),
            "min_df": chance.choice([1, 2]),
            "numbers": "gaussian",
            "calibrate": calibrated,
            "ledger": "00" * 16 if chance.random() < 0.3 else False,
        }
        costs = [[0, 5], [1, 0]]
        decision = chance.choice(
            [
                None,
                Decision.at(0.6, "spam"),
                Decision.of_costs(costs, ["ham", "spam"]),
                Decision.of_costs(costs, ["ham", "spam"], unsure=0.2),
                Decision.argmax().with_priors({"ham": 0.5, "spam": 0.5}, {"ham": 0.9, "spam": 0.1}),
            ]
        )
        return cls(columns, settings, decision, calibrated)

    def fitted(self, rows: list[Row]) -> Classifier:
        """Fit a model with these settings; labels that they do not name have the defaults."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "no prior was given for the label")
            model = Classifier(**self.settings).fit(rows)
        return model.take(replace(model.fitted, decision=self.decision))


@dataclass
class Machine:
    """One service with one kind of model, from its start to its end."""

    folder: Path
    chance: random.Random
    store: str | None = None
    prelude: str = ""
    rows: list[Row] = field(default_factory=list)
    log: dict[int, tuple[list[Row], list[Row]]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    kills: int = 0
    done: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._number = self._key = 0
        self.last = 0
        self.model = self.folder / "m.discern"
        while True:
            self.kind = Kind.draw(self.chance)
            self.rows = [self._row(label) for label in ["spam", "ham"] * 6]
            try:
                self.shadow = self.kind.fitted(self.rows)
                break
            except ValueError:
                continue  # these settings do not go together
        self.shadow.save(self.model)
        self.kept_labels = True
        self.service = self._started()

    # ----------------------------------------------------------------------------------------------- drawing

    def _row(self, label: str) -> Row:
        self._number += 1
        row: Row = {"label": label}
        for name, role in self.kind.columns.items():
            if role == "text":
                row[name] = " ".join([f"zq{self._number}zq", *self.chance.choices(COMMON, k=3)])
            elif role == "category":
                row[name] = self.chance.choice([*LEVELS, f"zl{self._number}zl"])
            else:
                row[name] = self.chance.randint(-40, 40) / 4
        return row

    def _label(self) -> str:
        labels = ["spam", "ham"] if self.chance.random() < 0.8 else ["news", f"zk{self._number}zk"]
        return self.chance.choice(labels)

    def _held(self, most: int = 3) -> list[Row]:
        return self.chance.sample(self.rows, min(len(self.rows), self.chance.randint(1, most)))

    # ---------------------------------------------------------------------------------------------- requests

    def _started(self) -> Process:
        more = {} if self.store is None else {"store": self.store}
        return Process(self.model, prelude=self.prelude, workers=self.chance.randint(1, 3), **more)

    def _send(self, method: str, path: str, body: Any = None, kill: bool = False, **headers: str) -> tuple[int, Any]:
        """Send until there is an answer; with ``kill`` something dies meanwhile."""
        killing = threading.Timer(self.chance.uniform(0, 0.02), self._kill) if kill else None
        if killing is not None:
            killing.start()
        deadline = time.monotonic() + 60
        while True:
            client = Client(self.service.port, 10)
            try:
                status, _, content = client.send(method, path, body, **headers)
                if killing is not None:
                    killing.join()
                return status, json.loads(content)
            except (OSError, http.client.HTTPException):
                if killing is not None:
                    killing.join()
                if self.service.process.poll() is not None:
                    self.service.kill()
                    self.service = self._started()
                assert time.monotonic() < deadline, "the service answers no more"
                time.sleep(0.02)
            finally:
                client.close()

    def _kill(self) -> None:
        """Kill a worker, or a service that has no others."""
        if self.service.process.poll() is not None:
            return  # it is dead already
        self.kills += 1
        if not kill_one_of(self.service, self.chance):
            self.service.process.kill()
            self.service.process.wait()

    def _ask(self, path: str, body: Any, learn: list[Row], forget: list[Row]) -> None:
        """Send a change, and compare whether it was accepted with what the library does."""
        try:
            expected: Classifier | None = self._changed(learn, forget)
        except DataError:
            expected = None
        if "size" not in self.kind.columns:  # sums of numbers are rounded: rows that are held may be refused
            assert (expected is not None) == self._can(learn, forget)
        self._key += 1
        kill = self.chance.random() < 0.02
        status, told = self._send("POST", path, body, kill, idempotency_key=f"key-{self._key}")
        if expected is None:
            assert status == 409, (status, told)
            return
        assert status == 200, (status, told)
        assert told["sequence"] == self.last + 1 or told["repeated"]
        self.last = told["sequence"]
        self._take(expected, learn, forget)
        self.log[self.last] = (learn, forget)

    def _changed(self, learn: list[Row], forget: list[Row]) -> Classifier:
        return self.shadow.changed(forget or iter(()), learn or iter(()))

    def _can(self, learn: list[Row], forget: list[Row]) -> bool:
        """Whether the model must take a change, by the list of rows alone."""
        left = [*self.rows]
        for row in forget:
            if row not in left:
                return False
            left.remove(row)
        labels, decision = {row["label"] for row in [*left, *learn]}, self.kind.decision
        if decision is None:
            return bool(labels)
        is_said = decision.unsure is not None and "unsure" in labels
        return bool(labels) and decision.positive in (None, *labels) and not is_said

    def _take(self, changed: Classifier, learn: list[Row], forget: list[Row]) -> None:
        before = {row["label"] for row in self.rows}
        for row in forget:
            self.rows.remove(row)
        self.rows += learn
        after = {row["label"] for row in self.rows}
        self.kept_labels &= {"spam", "ham"} <= after
        self.gone |= _words(forget) | {label for label in before - after if label.startswith("z")}
        self.gone -= _words(self.rows) | after
        self.shadow = changed

    # -------------------------------------------------------------------------------------------- operations

    def step(self) -> str:
        """Do something at random, and compare."""
        names = [*WEIGHTS]
        [name] = self.chance.choices(names, [WEIGHTS[name] for name in names])
        self.done.append(name)
        operation: Callable[[], None] = getattr(self, f"_{name}")
        operation()
        return name

    def _learn(self) -> None:
        rows = [self._row(self._label()) for _ in range(self.chance.randint(1, 3))]
        self._ask("/v1/learn", {"rows": rows}, rows, [])

    def _forget(self) -> None:
        rows = self._held()
        self._ask("/v1/forget", {"rows": rows}, [], rows)

    def _relabel(self) -> None:
        [row] = self._held(1)
        label, plain = self._label(), {name: value for name, value in row.items() if name != "label"}
        body = {"rows": [plain], "from": row["label"], "to": label}
        self._ask("/v1/relabel", body, [{**plain, "label": label}], [row])

    def _undo(self) -> None:
        if not self.log:
            assert self._send("POST", "/v1/undo", {"sequence": self.last + 7})[0] == 404
            return
        number = self.chance.choice([*self.log])
        learn, forget = self.log[number]
        undone_before = learn is _UNDONE
        if undone_before:
            assert self._send("POST", "/v1/undo", {"sequence": number})[0] == 409
            return
        if any(row not in self.rows for row in learn):  # counts may allow it; the list of rows does not
            return
        self._ask("/v1/undo", {"sequence": number}, forget, learn)
        if self.last in self.log and self.log[self.last] == (forget, learn):
            self.log[number] = (_UNDONE, [])

    def _forget_unknown(self) -> None:
        row = self._row("spam")
        if "text" not in row:
            return
        self._ask("/v1/forget", {"rows": [row]}, [], [row])

    def _learn_unsure(self) -> None:
        if self.kind.decision is not None and self.kind.decision.unsure is not None:
            rows = [self._row("unsure")]
            self._ask("/v1/learn", {"rows": rows}, rows, [])

    def _predict(self) -> None:
        rows = [{name: value for name, value in row.items() if name != "label"} for row in self._held()]
        status, told = self._send("POST", "/v1/predict/batch", {"rows": rows}, discern_after=str(self.last))
        assert status == 200, told
        labels = [*self.shadow.labels]
        got = [[one["probabilities"].get(label, -1.0) for label in labels] for one in told["predictions"]]
        np.testing.assert_allclose(got, self.shadow.predict_proba(rows), atol=1e-9)

    def _compact(self) -> None:
        status, told = self._send("POST", "/v1/compact", kill=self.chance.random() < 0.2)
        assert status == 200, told
        assert told["through"] == self.last
        self.log.clear()
        self._compare(read_base(self.model).classifier)
        self._look_for_what_is_gone()

    def _reload(self) -> None:
        assert self._send("POST", "/v1/reload")[0] == 200

    def _kill_one(self) -> None:
        self._kill()

    def _kill_all(self) -> None:
        if self.service.process.poll() is None:
            self.kills += 1
            kill_all_of(self.service)
        self._again()

    def _restart(self) -> None:
        if self.service.process.poll() is None:
            code = self.service.stop()
            assert code == 0, f"the service ended with {code}"
        self._again()

    def _again(self) -> None:
        self.service = self._started()
        self._is_whole()

    def _is_whole(self) -> None:
        """See that a worker has applied everything, and nothing else."""
        self._predict()
        told = self._send("GET", "/v1/model")[1]
        assert (told["sequence"], told["rows"], told["log"]["not_applied"]) == (self.last, len(self.rows), 0)

    def _put(self, content: bytes) -> None:
        """Put a model file in place, and have every worker take it."""
        beside = self.folder / "beside"
        beside.write_bytes(content)
        beside.rename(self.model)
        checksum, agreed, deadline = read_base(self.model).checksum, 0, time.monotonic() + 30
        while agreed < 20:  # each time a new connection, which any worker may take
            agreed = agreed + 1 if self._send("GET", "/v1/model")[1]["checksum"] == checksum else 0
            assert time.monotonic() < deadline, "a worker does not serve the new file"
            time.sleep(0.02)

    def _replace(self) -> None:
        """Put a model of other rows in place of a compacted one."""
        self._compact()
        self.rows = [*self._held(20), *(self._row(label) for label in ["spam", "ham"] * 3)]
        self.gone.clear()
        self.shadow, self.kept_labels = self.kind.fitted(self.rows), True
        beside = self.folder / "made"
        self.shadow.save(beside)
        content = beside.read_bytes()
        beside.unlink()
        self._put(content)
        self._is_whole()

    def _misplace(self) -> None:
        """Put a model of other columns in place for a while: no entry is lost."""
        if not self.log:
            return
        content = self.model.read_bytes()
        other = self.folder / "other"
        self._number += 1  # another file each time: one that is known from before a compaction is refused
        label = self.chance.choice(["label", "kind"])
        rows = [{label: "x", "words": f"a{self._number} b"}, {label: "y", "words": "c d"}]
        Classifier(label, smoothing=1.0).fit(rows).save(other)
        self._put(other.read_bytes())
        other.unlink()
        told = self._send("GET", "/v1/feedback?limit=1000")[1]["entries"]
        assert [entry["sequence"] for entry in told if entry["applied"]] == [], told
        assert {entry["sequence"] for entry in told} == {*self.log}
        if self.chance.random() < 0.5:
            assert self._send("POST", "/v1/compact")[0] == 200
            assert {entry["sequence"] for entry in self._send("GET", "/v1/feedback?limit=1000")[1]["entries"]} == {
                *self.log
            }
        self._put(content)
        self._is_whole()

    def _remove_log(self) -> None:
        """Remove the log under the running service: nothing is acknowledged until it is started again."""
        if self.store is not None:
            return
        self._compact()
        for path in self.folder.glob("*.feedback*"):
            path.unlink()
        if self.chance.random() < 0.5:
            self._kill()
        row = self._row("ham")
        status, _ = self._send("POST", "/v1/learn", {"rows": [row]})
        assert status in (200, 503)
        if status == 200:  # only a service that was started again begins a new log
            self.last = 1
            self._take(self._changed([row], []), [row], [])
            self.log[1] = ([row], [])
            self._is_whole()
        assert self._send("POST", "/v1/predict", _plain(row))[0] == 200
        if self.service.process.poll() is None:
            self.service.stop()
        self.last, self.log = (self.last, self.log) if status == 200 else (0, {})
        self._again()

    # --------------------------------------------------------------------------------------------- comparing

    def _compare(self, model: Classifier) -> None:
        """Compare a model file with a fresh fit of the rows that it should hold."""
        fresh = self.kind.fitted(self.rows)
        assert model.statistics == fresh.statistics
        if self.kept_labels and not self.kind.calibrated:
            assert model.checksum() == fresh.checksum()
        assert model.checksum() == self.shadow.checksum()

    def _look_for_what_is_gone(self) -> None:
        held = {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}
        for text in self.gone:
            found = [name for name, content in held.items() if text.encode() in content]
            assert found == [], f"{text} is still in {found}"

    def end(self) -> None:
        """Compact, stop, and open everything once more."""
        self._compact()
        if self.service.process.poll() is None:  # else it was killed after its answer
            assert self.service.stop() == 0
        self._compare(read_base(self.model).classifier)


_UNDONE: list[Row] = []


def _plain(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "label"}


def _words(rows: list[Row]) -> set[str]:
    return {
        word
        for row in rows
        for value in row.values()
        if isinstance(value, str)
        for word in value.split()
        if word[0] == "z"
    }


def run(
    folder: Path, seed: int, steps: int, store: str | None = None, prelude: str = "", episode: int = 60
) -> tuple[int, int]:
    """Take steps with one service after the other; return how many were taken, and how much was killed."""
    taken = kills = 0
    while taken < steps:
        place = folder / f"{seed}-{taken}"
        place.mkdir()
        machine = Machine(place, random.Random(f"{seed}-{taken}"), store, prelude)
        try:
            for _ in range(min(episode, steps - taken)):
                machine.step()
                taken += 1
            machine.end()
        except Exception as error:
            lines = [line for line in machine.service.events if line["event"] != "request"]
            raise AssertionError(
                f"seed {seed}, step {taken}: {error!r}; {machine.kind}; {machine.done[-12:]}; {lines[-6:]}"
            ) from error
        finally:
            with contextlib.suppress(Exception):
                kill_all_of(machine.service)
        kills += machine.kills
        shutil.rmtree(place)
    return taken, kills
