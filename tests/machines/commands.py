"""A state machine over the command line: commands on files of a folder, compared with a reference after each."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import typer.testing
from typer.testing import CliRunner

from discern.classifier import load
from discern.cli.main import app
from discern.learners.smoothing import Dirichlet, JelinekMercer, Laplace
from tests.machines.reference import Reference, Rule
from tests.machines.rows import ENOUGH, ROLES, UNSURE, Row, Source, columns_of, draw_settings, own_strings
from tests.machines.walking import Walker, require

command_of = cache(typer.main.get_command)
"""Making the command of the application takes longer than most commands: it is made once."""
KILLED_AT = ("mkstemp", "fsync", "chmod", "replace", "after replace")
KILLED = """
import os, signal, sys, tempfile
from discern.cli.__main__ import main
point, sys.argv = sys.argv[1], ["discern", *sys.argv[2:]]
place = tempfile if point == "mkstemp" else os
name = point.removeprefix("after ")
real = getattr(place, name)
def killed(*given, **named):
    if not point.startswith("after"):
        os.kill(os.getpid(), signal.SIGKILL)
    real(*given, **named)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(place, name, killed)
main()
"""
"""Run a command that is killed when it is about to call a function, or has called it."""


@dataclass(frozen=True)
class Written:
    """Rows as a command gets them: a file, or ``-`` with what is on standard input."""

    source: str
    given: str | None = None
    options: tuple[str, ...] = ()


OPERATIONS: dict[str, int] = {
    "fit": 1,
    "learn": 7,
    "learn_one_label": 3,
    "learn_elsewhere": 1,
    "forget": 6,
    "forget_a_label": 3,
    "relabel": 5,
    "decide": 2,
    "decide_by_costs": 4,
    "decide_by_shares": 2,
    "clear": 2,
    "merge": 3,
    "predict": 2,
    "evaluate": 1,
    "explain": 1,
    "forget_strangers": 2,
    "forget_everything": 1,
    "learn_unsure": 2,
    "learn_nonsense": 1,
}
"""The commands, and how often each is drawn."""
KILLS = {"killed": 4}
"""An operation that takes a process of its own."""


class Machine(Walker):
    """A model file, a link to it, its reference, and the commands that change both."""

    operations = OPERATIONS
    length = 25

    def __init__(self, seed: int, folder: Path) -> None:
        random = Random(f"commands {seed}")
        self.kills = 0
        self.places = folder / "models", folder / "links", folder / "data"
        for place in self.places:
            place.mkdir()
        self.file, self.link = self.places[0] / "m.discern", self.places[1] / "m.discern"
        self.link.symlink_to(self.file)
        self.settings = _settings(random)
        self.source = Source(columns_of(self.settings))
        self.reference: Reference
        self.fit(random)
        self.check(random)

    # ------------------------------------------------------------------------------------------- what must hold

    def check(self, random: Random) -> None:
        """Compare the model file with the reference."""
        expected, model = self.reference.fresh(), load(self.file)
        rows = [dict.fromkeys(self.source.columns), *self.reference.rows[:3]]
        require(model.checksum() == expected.checksum(), "the file is not that of a fresh fit of its rows")
        require(np.array_equal(model.predict_proba(rows), expected.predict_proba(rows)), "other probabilities")
        facts = json.loads(self.ran("info", self._path(random), "--json").stdout)
        counts = {label: [row["label"] for row in self.reference.rows].count(label) for label in self.reference.labels}
        require(facts["rows_per_label"] == counts, f"{facts['rows_per_label']} rows instead of {counts}")
        require(facts["decision"] == (self.reference.rule and self.reference.rule.decision().to_json()), "the decision")
        require(self.link.is_symlink(), "the link was replaced by a file")
        self._check_folder()

    def _check_folder(self) -> None:
        held = own_strings(self.reference.rows) | {UNSURE}
        names = sorted(file.name for file in self.places[0].iterdir() if not file.name.endswith(".lock"))
        require(names == ["m.discern"], f"there are other files beside the model: {names}")
        for file in self.places[0].iterdir():
            content = file.read_bytes()
            found = [own for own in self.source.own - held if own.encode() in content]
            require(not found, f"{found[:1]} is forgotten, but still in {file.name}")

    def ran(self, *arguments: Any, given: str | None = None, code: int | None = 0) -> Any:
        """Run a command in this process; any other end than an exit code and a sentence is a violation."""
        with mock.patch.object(typer.testing, "_get_command", command_of):
            result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)
        end = result.exception
        require(end is None or isinstance(end, SystemExit), f"{arguments[0]} ended with {end!r}")
        require(result.exit_code in (0, 1, 2), f"{arguments[0]} ended with exit code {result.exit_code}")
        require(code is None or result.exit_code == code, f"{arguments} ended with {result.exit_code}: {result.output}")
        if result.exit_code:
            require(result.stderr.strip(), "an exit code without a sentence")
            require("Traceback" not in result.stderr, "a traceback")
        return result

    # -------------------------------------------------------------------------------------------- what changes it

    def fit(self, random: Random) -> None:
        many = random.random() < 0.15
        rows = self.source.rows(random, random.randint(ENOUGH, ENOUGH + 20) if many else random.randint(1, 20))
        written = self._written(random, rows)
        where = (written.source, *written.options, "-o", self._path(random))
        self.ran("fit", *where, *_options(self.settings), given=written.given)
        self.reference = Reference.of(self.settings, rows, load(self.file))

    def learn(self, random: Random) -> None:
        rows = self.source.rows(random, random.randint(1, 4))
        self._change(random, "learn", self.reference.exchanged((), rows), rows)

    def learn_one_label(self, random: Random) -> None:
        rows = self.source.rows(random, random.randint(1, 3), [random.choice(self.reference.labels)])
        self._change(random, "learn", self.reference.exchanged((), rows), rows, label=rows[0]["label"])

    def learn_elsewhere(self, random: Random) -> None:
        """Write the model that learned more to another file: this one stays as it is."""
        rows, other = self.source.rows(random, 2), self.places[2] / "other.discern"
        after, before = self.reference.exchanged((), rows), self.file.read_bytes()
        written = self._written(random, rows)
        where = (self._path(random), written.source, *written.options, "-o", other)
        self.ran("learn", *where, given=written.given, code=1 if after is None else 0)
        require(self.file.read_bytes() == before, "learning to another file changed this one")
        if after is not None:
            require(load(other).checksum() == after.fresh().checksum(), "elsewhere: other bytes")
            other.unlink()

    def forget(self, random: Random) -> None:
        rows = self._held(random, 4)
        self._change(random, "forget", self.reference.exchanged(rows, ()), rows)

    def forget_a_label(self, random: Random) -> None:
        label = random.choice(self.reference.labels)
        rows = [row for row in self.reference.rows if row["label"] == label]
        self._change(random, "forget", self.reference.exchanged(rows, ()), rows, label=random.choice([label, None]))

    def relabel(self, random: Random) -> None:
        old = random.choice(self.reference.labels)
        new = random.choice([*self.reference.labels, self.source.new_label(random), UNSURE])
        held = [row for row in self.reference.rows if row["label"] == old]
        rows = random.sample(held, random.randint(1, min(3, len(held))))
        if new == old or (new == UNSURE and (self.reference.rule is None or self.reference.rule.unsure is None)):
            return
        self.source.own.add(new)
        after = self.reference.exchanged(rows, [{**row, "label": new} for row in rows])
        self._change(random, "relabel", after, rows, "--from", old, "--to", new, label="")

    def decide(self, random: Random) -> None:
        labels, number = self.reference.labels, random.choice([0.2, 0.7])
        positive = random.choice(labels)
        rule = Rule(threshold=number, positive=positive)
        self._decide(random, rule, "--threshold", number, "--positive", positive)

    def decide_by_costs(self, random: Random) -> None:
        labels, unsure = self.reference.labels, random.choice([None, 0.25])
        if len(labels) < 2 or (unsure is not None and UNSURE in labels):
            return
        costs = {(true, given): float(true != given) for true in labels for given in labels}
        true, given = random.sample(labels, 2)
        costs[true, given] = 5.0
        words = [f"--cost={true}:{given}=5", *([] if unsure is None else [f"--cost=unsure={unsure}"])]
        self._decide(random, Rule(costs=costs, unsure=unsure), *words)

    def decide_by_shares(self, random: Random) -> None:
        parts = {label: random.randint(1, 9) for label in self.reference.labels}
        shares = {label: part / sum(parts.values()) for label, part in parts.items()}
        old = load(self.file).info()["priors"]
        rule = Rule(weights={label: float(share / old[label]) for label, share in shares.items()})
        self._decide(random, rule, *(f"--share={label}={share!r}" for label, share in shares.items()))

    def clear(self, random: Random) -> None:
        self._decide(random, None, "--clear")

    def _decide(self, random: Random, rule: Rule | None, *options: Any) -> None:
        self.ran("decide", self._path(random), *options)
        self.reference.rule = rule

    def merge(self, random: Random) -> None:
        rows = [self.source.row(random, label) for label in self.reference.labels]
        rows += self.source.rows(random, random.randint(1, 5))
        after = self.reference.exchanged(self.reference.rows, rows)
        if after is None:
            return
        other, both = self.places[2] / "other.discern", self.places[2] / "both.discern"
        load(self.file).changed(self.reference.rows, rows).save(other)
        files = random.sample([self._path(random), other], 2)
        self.ran("merge", *files, "-o", both)
        both.replace(self.file)
        other.unlink()
        self.reference = replace(after, rows=[*self.reference.rows, *rows])

    def killed(self, random: Random) -> None:
        """Kill a command that learns when it is about to write: the file is the old one or the new one."""
        rows, point = self.source.rows(random, 3, self.reference.labels), random.choice(KILLED_AT)
        path, after = self._written(random, rows, pipe=False).source, self.reference.exchanged((), rows)
        require(after is not None, "the machine asked for too much")
        command = [sys.executable, "-c", KILLED, point, "learn", str(self._path(random)), path]
        done = subprocess.run(command, capture_output=True, timeout=60, check=False, env={**os.environ})
        require(done.returncode == -signal.SIGKILL, f"not killed at {point}: {done.stderr.decode()}")
        self.kills += 1
        if load(self.file).rows == len(self.reference.rows) + len(rows):
            self.reference = after or self.reference
        load(self.file).save(self.file)  # the next save removes what the one that was killed left beside the file

    # -------------------------------------------------------------------------------------------- what reads it

    def predict(self, random: Random) -> None:
        rows = [{name: row[name] for name in self.source.columns} for row in self._held(random, 4)]
        written = self._written(random, rows)
        path = (self._path(random), written.source, *written.options)
        answered = self.ran("predict", *path, given=written.given).stdout
        labels = [row["label"] for row in csv.DictReader(io.StringIO(answered))]
        require(labels == load(self.file).predict(rows).tolist(), f"predict gave {answered!r}")

    def evaluate(self, random: Random) -> None:
        written = self._written(random, self.reference.rows)
        where = (self._path(random), written.source, *written.options)
        facts = json.loads(self.ran("evaluate", *where, "--json", given=written.given).stdout)
        require(facts["accuracy"] == load(self.file).evaluate(self.reference.rows).accuracy, "another accuracy")

    def explain(self, random: Random) -> None:
        row = self._held(random, 1)[0]
        values = [f"--value={name}={'' if row[name] is None else row[name]}" for name in self.source.columns]
        self.ran("explain", self._path(random), *values, "--json")

    # ------------------------------------------------------------------------------------ what must be refused

    def forget_strangers(self, random: Random) -> None:
        if {"words", "kind"}.isdisjoint(self.source.columns):
            return
        rows = [*self._held(random, 1), self.source.stranger(random, random.choice(self.reference.labels))]
        self._change(random, "forget", None, rows)

    def forget_everything(self, random: Random) -> None:
        self._change(random, "forget", None, self.reference.rows)

    def learn_unsure(self, random: Random) -> None:
        if self.reference.rule is not None and self.reference.rule.unsure is not None:
            self._change(random, "learn", None, [self.source.row(random, UNSURE)])

    def learn_nonsense(self, random: Random) -> None:
        self._change(random, "learn", None, [{"other": "x1", "more": "x2"}])
        self._change(random, "learn", self.reference, [])  # no rows: nothing to learn, and nothing wrong
        self._unchanged("learn", self._path(random), self.places[2] / "nowhere.csv")
        self._unchanged("decide", self._path(random), "--threshold", 0.5, "--positive", "k999v")
        self._unchanged("decide", self._path(random), "--cost", "k999v:k998v=3")

    # --------------------------------------------------------------------------------------------------- helpers

    def _change(
        self,
        random: Random,
        command: str,
        after: Reference | None,
        rows: list[Row],
        *options: str,
        label: str | None = None,
    ) -> None:
        """Run a command on rows; with a label, the rows are written without one."""
        if label is not None:
            rows = [{name: value for name, value in row.items() if name != "label"} for row in rows]
            options = (*options, *(["--label", label] if label else []))
        written = self._written(random, rows)
        arguments = (command, self._path(random), written.source, *written.options, *options)
        if after is None:
            self._unchanged(*arguments, given=written.given)
            return
        self.ran(*arguments, given=written.given)
        self.reference = after

    def _unchanged(self, *arguments: Any, given: str | None = None) -> None:
        before = self.file.read_bytes()
        result = self.ran(*arguments, given=given, code=None)
        require(result.exit_code, f"this should have been refused: {arguments}")
        require(self.file.read_bytes() == before, "a refused command changed the file")

    def _held(self, random: Random, most: int) -> list[Row]:
        return random.sample(self.reference.rows, min(random.randint(1, most), len(self.reference.rows)))

    def _path(self, random: Random) -> Path:
        return random.choice([self.file, self.link])

    def _written(self, random: Random, rows: list[Row], pipe: bool = True) -> Written:
        """Write rows as CSV or JSON lines, into a file or for standard input."""
        names, kind = list(rows[0]) if rows else ["label", "words"], random.choice(["csv", "jsonl"])
        text = io.StringIO()
        if kind == "csv":
            table = csv.DictWriter(text, names, restval="", lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
        else:
            text.writelines(json.dumps(row) + "\n" for row in rows)
        if pipe and random.random() < 0.3:
            return Written("-", text.getvalue(), ("--format", kind))
        path = self.places[2] / f"rows.{kind}"
        path.write_text(text.getvalue(), "utf-8")
        return Written(str(path))


def _settings(random: Random) -> dict[str, Any]:
    """Draw settings that the command line has options for."""
    settings = draw_settings(random)
    return {**settings, "priors": random.choice(["data", "uniform"]) if settings["priors"] != "data" else "data"}


def _options(settings: dict[str, Any]) -> list[str]:
    options = [f"--{ROLES[name]}={name}" for name in columns_of(settings)]
    options += [f"--{name}={settings[name]}" for name in ("model", "numbers", "priors", "select", "threads")]
    options += [f"--smoothing={_smoothing(settings['smoothing'])}", "--stem=none"]
    options += [f"--min-df={settings['min_df']}"] if settings["min_df"] else []
    options += [f"--max-terms={settings['max_terms']}"] if settings["max_terms"] else []
    options += ["--ngrams={},{}".format(*settings["ngrams"])] if settings["ngrams"] else []
    options += [f"--ledger-salt={settings['ledger']}"] if settings["ledger"] else []
    given = {"auto": [], True: ["--calibrate"], False: ["--no-calibrate"]}
    return [*options, *given[settings["calibrate"]]]


def _smoothing(smoothing: Any) -> str:
    if isinstance(smoothing, JelinekMercer):
        return f"jelinek-mercer:{smoothing.weight}"
    if isinstance(smoothing, Dirichlet):
        return f"dirichlet:{smoothing.mass}"
    return str(smoothing.alpha if isinstance(smoothing, Laplace) else smoothing)
