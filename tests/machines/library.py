"""A state machine over the library: random operations on a classifier, compared with a reference after every step.

Failed walks are printed so that they can be repeated: ``Machine.replay(seed, steps)``.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from discern.analysis.drift import Window
from discern.classifier import Classifier, load
from discern.evaluation.decisions import Decision
from discern.models import file as files
from tests.machines.operations import OPERATIONS
from tests.machines.reference import Reference, Rule, quietly
from tests.machines.rows import (
    ENOUGH,
    EXPECTED,
    LABELS,
    SALT,
    UNSURE,
    Row,
    Source,
    columns_of,
    draw_settings,
    key,
    own_strings,
)
from tests.machines.walking import Walker, attempt, refuses, require, together

Labels = Sequence[str]
THREADS = 8


class Machine(Walker):
    """A classifier, its reference, and the operations that change both."""

    operations = OPERATIONS
    length = 40

    def __init__(self, seed: int, folder: Path) -> None:
        random = Random(f"library {seed}")
        self.folder = folder
        self.settings = draw_settings(random)
        self.source = Source(columns_of(self.settings))
        self.model, self.reference = self._fitted(self._some_rows(random))
        self.check(random)

    # ------------------------------------------------------------------------------------------- what must hold

    def check(self, random: Random) -> None:
        """Compare the classifier with its reference."""
        expected, model = self.reference.fresh(), self.model
        content = bytes(files.encode(*model.fitted.content())[0])
        require(model.checksum() == expected.checksum(), "the model is not that of a fresh fit of its rows")
        self._check_facts(model, expected)
        self._check_answers(model, expected, random)
        self._check_privacy(content, "the model file")
        if random.random() < 0.1:
            priors = model.settings.naive_bayes.priors  # fit would begin with them again
            asked = set[str]() if isinstance(priors, str) else {label for label, _ in priors}
            self._check_privacy(pickle.dumps(model), "the pickled model", asked)
            self._check_file(model, random)

    def _check_facts(self, model: Classifier, expected: Classifier) -> None:
        facts, others, reference = model.info(), expected.info(), self.reference
        names = (
            "rows_per_label",
            "naive_bayes",
            "decision",
            "features",
            "text_settings",
            "calibration",
            "chosen",
            "min_df",
        )
        for name in names:
            require(facts[name] == others[name], f"{name}: {facts[name]} instead of {others[name]}")
        counts = {label: [row["label"] for row in reference.rows].count(label) for label in reference.labels}
        require(facts["rows_per_label"] == counts, f"{facts['rows_per_label']} rows instead of {counts}")
        prior = reference.prior()
        require(np.allclose([facts["priors"][label] for label in prior], [*prior.values()]), "another prior")
        named = [*(reference.rule.named() if reference.rule else ())]
        unset = {label for label in prior if named and label not in named}
        unset |= {label for label in prior if not isinstance(reference.priors, str) and label not in reference.priors}
        require({*facts["labels_by_default"]} == unset, f"labels by default: {facts['labels_by_default']}, not {unset}")

    def _check_answers(self, model: Classifier, expected: Classifier, random: Random) -> None:
        rows = self._questions(random)
        shares, decided = model.predict_proba(rows), model.predict(rows).tolist()
        require(np.array_equal(shares, expected.predict_proba(rows)), "other probabilities")
        require(np.allclose(shares.sum(axis=1), 1), "probabilities that do not sum to 1")
        rule = self.reference.rule or Rule()
        for row, label in zip(shares.tolist(), decided, strict=True):
            allowed = rule.answers(dict(zip(model.labels, row, strict=True)))
            require(label in allowed, f"decided {label}, not one of {allowed}")

    def _check_privacy(self, content: bytes, where: str, beside: set[str] = frozenset()) -> None:  # type: ignore[assignment]
        held = own_strings(self.reference.rows) | {*self._priors(self.reference.priors)} | beside | {UNSURE}
        held |= self.reference.kept()
        found = [own for own in self.source.own - held if own.encode() in content]
        require(not found, f"{found[:1]} is forgotten, but still in {where}")

    def _check_file(self, model: Classifier, random: Random) -> Classifier:
        path, rows = self.folder / "model.discern", self._questions(random)
        require(model.save(path) == model.checksum(), "the file has another checksum")
        again = load(path)
        require(again.checksum() == model.checksum(), "the loaded model has another checksum")
        require(again.predict(rows).tolist() == model.predict(rows).tolist(), "the loaded model decides otherwise")
        require(np.array_equal(again.predict_proba(rows), model.predict_proba(rows)), "loaded: other probabilities")
        require([one.name for one in self.folder.iterdir()] == [path.name], "a file was left beside the model")
        self._check_privacy(path.read_bytes(), "the saved file")
        return again

    # ----------------------------------------------------------------------------------------- learning, forgetting

    def learn(self, random: Random) -> None:
        rows = self.source.rows(random, random.randint(1, 4))
        self._expect(self.reference.exchanged((), rows), lambda: self.model.learn(rows))

    def learn_known_labels(self, random: Random) -> None:
        rows = self.source.rows(random, random.randint(1, 4), self.reference.labels)
        self._expect(self.reference.exchanged((), rows), lambda: self.model.learn(rows))

    def learn_again(self, random: Random) -> None:
        rows = self._held(random, 3)
        self._expect(self.reference.exchanged((), rows), lambda: self.model.learn(rows))

    def forget(self, random: Random) -> None:
        self._forget(self._held(random, 4))

    def forget_a_label(self, random: Random) -> None:
        label = random.choice(self.reference.labels)
        self._forget([row for row in self.reference.rows if row["label"] == label])

    def _forget(self, rows: list[Row]) -> None:
        receipts = []
        self._expect(self.reference.exchanged(rows, ()), lambda: receipts.append(self.model.forget(rows)))
        for receipt in receipts:
            require(str(receipt) == self.model.checksum(), "the receipt has another checksum")
            require(receipt.forgotten == len(rows), "the receipt has another number of rows")
            require(receipt.proven == bool(self.settings["ledger"]), "the receipt is wrong about the proof")

    def relabel(self, random: Random) -> None:
        old = self._held(random, 3)
        label = random.choice([*self.reference.labels, self.source.new_label(random)])
        self.source.own.add(label)
        new = [{**row, "label": label} for row in old]
        self._expect(self.reference.exchanged(old, new), lambda: self.model.relabel(old, new))

    def change_a_copy(self, random: Random) -> None:
        old, new = self._held(random, 2), self.source.rows(random, 2)
        after, before = self.reference.exchanged(old, new), self.model.checksum()
        if after is None:
            return self._refused(lambda: self.model.changed(old, new))
        changed = self.model.changed(old, new)
        require(self.model.checksum() == before, "changed() changed the original")
        if random.random() < 0.5:
            self.model, self.reference = changed, after
        return None

    def fit(self, random: Random) -> None:
        self.model, self.reference = self._fitted(self._some_rows(random))

    def fit_again(self, random: Random) -> None:
        """Fit the same object, if it is one that was made with the settings."""
        rows = self._some_rows(random)
        fresh, reference = self._fitted(rows)
        if self.model.settings != fresh.settings:
            return
        quietly(lambda: self.model.fit(rows))
        self.reference = reference
        require(self.model.checksum() == fresh.checksum(), "two fits of the same rows differ")

    # ----------------------------------------------------------------------------------------------- deciding

    def decide_by_threshold(self, random: Random) -> None:
        positive = random.choice(self.reference.labels)
        self._decide(Rule(threshold=random.choice([0.0, 0.2, 0.7, 1.0]), positive=positive))

    def decide_by_costs(self, random: Random) -> None:
        labels = self.reference.labels
        costs = {
            (true, given): float(random.randint(1, 9)) if true != given else 0.0 for true in labels for given in labels
        }
        self._decide(Rule(costs=costs, unsure=random.choice([None, 0.1, 1.5])))

    def decide_by_shares(self, random: Random) -> None:
        parts = {label: random.randint(1, 9) for label in self.reference.labels}
        shares = {label: part / sum(parts.values()) for label, part in parts.items()}
        decision = Decision.argmax(unsure=random.choice([None, 0.3])).with_priors(self.model.info()["priors"], shares)
        weights = dict(zip(decision.labels, decision.weights or (), strict=True))
        self._decide(Rule(weights=weights, unsure=decision.unsure), decision)

    def decide_or_be_unsure(self, random: Random) -> None:
        self._decide(Rule(unsure=random.choice([0.1, 0.4])))

    def _decide(self, rule: Rule, decision: Decision | None = None) -> None:
        after = None if rule.refusal(self.reference.labels) else replace(self.reference, rule=rule)
        self._expect(after, lambda: self.model.decide_by(decision or rule.decision()))

    def clear(self, random: Random) -> None:
        self.model.decide_by(None)
        self.reference.rule = None

    # -------------------------------------------------------------------------------------------- files and copies

    def save_and_load(self, random: Random) -> None:
        self.model = self._check_file(self.model, random)

    def pickled(self, random: Random) -> None:
        self.model = pickle.loads(pickle.dumps(self.model))

    def slim(self, random: Random) -> None:
        path, rows = self.folder / "slim.discern", self._questions(random)
        self.model.save(path, slim=True)
        small, content = load(path), path.read_bytes()
        path.unlink()
        require(np.array_equal(small.predict_proba(rows), self.model.predict_proba(rows)), "slim: other probabilities")
        require(small.predict(rows).tolist() == self.model.predict(rows).tolist(), "slim: other decisions")
        self._check_privacy(content, "the slim file")
        least = self.model.resolved.min_df
        texts = [own_strings([{"words": row.get("words")}]) for row in self.reference.rows]
        rare = [
            word
            for word in self.source.own.intersection(*[set[str]().union(*texts)])
            if sum(word in text for text in texts) < least and word not in self.reference.kept()
        ]
        require(not any(word.encode() in content for word in rare), "a rare word is in the slim file")
        self._rename_slim(small, random)
        held = self.reference.rows[:1]
        for action in (lambda: small.learn(held), lambda: small.forget(held), lambda: small.merge(self.model)):
            refuses(action)

    def _rename_slim(self, small: Classifier, random: Random) -> None:
        path, labels, rows = self.folder / "slim.discern", self._new_names(random), self._questions(random)
        old, probabilities = {*small.labels} - {*labels, UNSURE}, small.predict_proba(rows)
        small.rename_labels(labels)
        small.save(path, slim=True)
        again, content = load(path), path.read_bytes()
        path.unlink()
        require(again.labels == tuple(labels), "slim: the labels have no new names")
        require(np.array_equal(again.predict_proba(rows), probabilities), "slim: other probabilities by another name")
        require(not any(label.encode() in content for label in old), "slim: an old name of a label is in the file")

    def _new_names(self, random: Random) -> Labels:
        free = [*LABELS, EXPECTED, *(f"k{random.randrange(1000):03d}v" for _ in self.reference.labels)]
        names = sorted(random.sample(sorted({*free}), len({*self.reference.labels})))
        self.source.own.update(names)
        return names

    def rename_labels(self, random: Random) -> None:
        labels = self._new_names(random)
        new = dict(zip(self.reference.labels, labels, strict=True))
        if UNSURE in new:
            return
        after = None if self.settings["ledger"] else self.reference.renamed(new)
        self._expect(after, lambda: self.model.rename_labels(labels))

    # ------------------------------------------------------------------------------------------------- merging

    def merge(self, random: Random) -> None:
        other, theirs = self._other(random)
        third, _ = self._other(random)
        merged, back = attempt(lambda: self.model.merge(other)), attempt(lambda: other.merge(self.model))
        require((merged is None) == (back is None), "merging depends on the order")
        self._check_groups(other, third)
        if merged is None or back is None:
            mine, yours = self.model.info(), other.info()
            same = all(
                mine[name] == yours[name] for name in ("naive_bayes", "decision", "features", "text_settings", "chosen")
            )
            require(not same, "models of the same settings cannot be merged")
            return
        require(merged.checksum() == back.checksum(), "merging depends on the order")
        require((self.reference.rule and self.reference.rule.decision()) == merged.decision, "merged: another decision")
        keeper = self._chosen_on_more(theirs, merged)
        self.reference = replace(keeper, rows=[*self.reference.rows, *theirs.rows])
        self.model = merged

    def _chosen_on_more(self, theirs: Reference, merged: Classifier) -> Reference:
        """Return the reference whose choices a merged model keeps: those that were made on more rows."""
        rows = [0 if one.chosen.model is None else one.chosen.model.resolved.rows for one in (self.reference, theirs)]
        if rows[0] != rows[1]:
            return self.reference if rows[0] > rows[1] else theirs
        of_mine = self.reference.fresh().info()
        is_mine = all(of_mine[name] == merged.info()[name] for name in ("naive_bayes", "chosen", "calibration"))
        return self.reference if is_mine else theirs

    def _check_groups(self, other: Classifier, third: Classifier) -> None:
        one = attempt(lambda: self.model.merge(other).merge(third))
        two = attempt(lambda: self.model.merge(other.merge(third)))
        require((one is None) == (two is None), "merging depends on the grouping")
        if one is not None and two is not None:
            require(one.checksum() == two.checksum(), "merging depends on the grouping")

    def _other(self, random: Random) -> tuple[Classifier, Reference]:
        """Return a model of other rows: with settings of its own choosing, or those of this one."""
        if self.reference.rule is None and self.model.resolved.chosen and random.random() < 0.6:
            return self._fitted(self.source.rows(random, random.randint(ENOUGH, ENOUGH + 20)))
        rows = self.source.rows(
            random, random.randint(1, 12), [*self.reference.labels] * 3 + [self.source.new_label(random)]
        )
        rows += [self.source.row(random, label) for label in self.reference.labels if random.random() < 0.8]
        after = self.reference.exchanged(self.reference.rows, rows)
        if after is None:
            rows += [self.source.row(random, label) for label in self.reference.labels]
            after = self.reference.exchanged(self.reference.rows, rows)
        if after is None:
            return self.model, self.reference
        return self.model.changed(self.reference.rows, rows), after

    # ------------------------------------------------------------------------------------------- time and threads

    def window(self, random: Random) -> None:
        size = random.randint(3, 8)
        window = Window(Classifier(**self.settings), rows=size)
        batches = [self.source.rows(random, random.randint(1, 3)) for _ in range(random.randint(2, 6))]
        quietly(lambda: window.learn(batches[0]))
        reference = Reference.of(self.settings, batches[0], window.model)
        for batch in batches[1:]:
            if random.random() < 0.3:
                reference.rule = Rule(threshold=0.5, positive=random.choice(reference.labels))
                window.model.decide_by(reference.rule.decision())
            reference = self._slid(window, reference, batch, size)
        self.model, self.reference = window.model, reference

    def _slid(self, window: Window, before: Reference, batch: list[Row], size: int) -> Reference:
        rows = [*before.rows, *batch]
        surplus = rows[: max(len(rows) - size, 0)]
        grown = before.exchanged((), batch)
        after = grown and grown.exchanged(surplus, ())
        if after is not None:
            window.learn(batch)
            return after
        checksum = window.model.checksum()
        refuses(lambda: window.learn(batch))
        require(window.model.checksum() == checksum, "a window refused rows, but its model changed")
        return before

    def threads_on_a_fresh_one(self, random: Random) -> None:
        if self.reference.in_space:  # laid out by the part that comes first
            return
        settings = {**self.settings, "smoothing": 1.0, "calibrate": False, "numbers": "gaussian", "priors": "data"}
        model, parts = Classifier(**settings), [self.source.rows(random, 2) for _ in range(THREADS)]
        together([lambda part=part: model.learn(part) for part in parts])  # type: ignore[misc]
        rows = [row for part in parts for row in part]
        expected = Classifier(**settings).fit(rows)
        require(model.rows == len(rows), f"{len(rows) - model.rows} of {len(rows)} rows are lost")
        require(model.checksum() == expected.checksum(), "threads made another model")

    def threads(self, random: Random) -> None:
        model, reference, labels = self.model, self.reference, self.reference.labels
        old = [row for row in self._held(random, 3) if [one["label"] for one in reference.rows].count(row["label"]) > 3]
        new = [self.source.rows(random, 2, labels) for _ in range(3)]
        questions, path = self._questions(random), self.folder / "model.discern"
        decision = reference.rule and reference.rule.decision()
        covered = decision is None or not decision.defaults(labels)
        calls: list[Callable[[], Any]] = [lambda part=part: model.learn(part) for part in new]  # type: ignore[misc]
        calls += [lambda row=row: model.forget([row]) for row in old]  # type: ignore[misc]
        calls += [lambda: model.predict(questions), lambda: model.save(path), model.info]
        calls += [lambda: model.decide_by(decision)] if covered else []
        random.shuffle(calls)
        together(calls)
        after = reference.exchanged(old, [row for part in new for row in part])
        require(after is not None, "the machine asked for too much")
        self.reference = after or reference

    # ------------------------------------------------------------------------------------ what must be refused

    def forget_strangers(self, random: Random) -> None:
        if {"words", "kind"}.isdisjoint(self.source.columns):
            return
        if (
            self.reference.in_space and not self.settings["ledger"]
        ):  # a word without an axis leaves no trace in the sums
            return
        strange = self.source.stranger(random, random.choice(self.reference.labels))
        rows = random.choice([[strange], [*self._held(random, 1), strange]])
        self._refused(lambda: self.model.forget(rows))
        self._refused(lambda: self.model.relabel(rows, self._held(random, 1)))

    def forget_a_mixture(self, random: Random) -> None:
        """Forget a row that the counts allow and that was never learned: only a ledger can tell."""
        label = random.choice(self.reference.labels)
        held = [row for row in self.reference.rows if row["label"] == label]
        mixture = {name: random.choice(held)[name] for name in held[0]}
        if "words" in mixture:
            words = [word for row in held for word in (row["words"] or "").split()]
            mixture["words"] = " ".join(random.sample(words, min(len(words), random.randint(0, 3))))
        if self.settings["ledger"] and key(mixture) not in [key(row) for row in held]:
            self._refused(lambda: self.model.forget([mixture]))

    def forget_everything(self, random: Random) -> None:
        self._refused(lambda: self.model.forget(self.reference.rows))

    def forget_too_often(self, random: Random) -> None:
        label = random.choice(self.reference.labels)
        rows = [row for row in self.reference.rows if row["label"] == label]
        self._refused(lambda: self.model.forget([*rows, rows[0]]))

    def learn_unsure(self, random: Random) -> None:
        rows = [self.source.row(random, UNSURE)]
        if self.reference.rule is None or self.reference.rule.unsure is None:
            return
        self._refused(lambda: self.model.learn(rows))
        self._refused(lambda: self.model.relabel(self.reference.rows[:1], rows))

    def learn_nonsense(self, random: Random) -> None:
        row = self.source.row(random, random.choice(self.reference.labels))
        nameless = {name: value for name, value in row.items() if name != "label"}
        self._refused(lambda: self.model.learn([{**nameless, "other": "x1"}]))
        self._refused(lambda: self.model.learn([{**row, "label": None}]))
        if "size" in row:
            self._refused(lambda: self.model.learn([row, {**row, "size": "many"}]))

    def decide_nonsense(self, random: Random) -> None:
        labels = self.reference.labels
        for decision in (
            Decision.at(0.5, "k999v"),
            Decision.of_costs([[0, 1], [1, 0]], [labels[0], "k999v"]),
            Decision(labels=("k999v",), weights=(1.0,)),
        ):
            self._refused(lambda decision=decision: self.model.decide_by(decision))  # type: ignore[misc]

    def merge_others(self, random: Random) -> None:
        """Merge with models of other settings."""
        rows, settings = self.source.rows(random, 5), self.settings
        ledger = random.choice([False if settings["ledger"] else SALT, SALT[::-1]])
        for changed in (
            {"min_df": 4},
            {"ngrams": (1, 3)},
            {"ledger": ledger},
            {"model": "bernoulli", "smoothing": 0.125},
        ):
            other = quietly(lambda changed=changed: Classifier(**{**settings, **changed}).fit(rows))
            self._refused(lambda other=other: self.model.merge(other))  # type: ignore[misc]
            self._refused(lambda other=other: other.merge(self.model))  # type: ignore[misc]

    # --------------------------------------------------------------------------------------------------- helpers

    def _fitted(self, rows: list[Row]) -> tuple[Classifier, Reference]:
        model = quietly(lambda: Classifier(**self.settings).fit(rows))
        return model, Reference.of(self.settings, rows, model)

    def _some_rows(self, random: Random) -> list[Row]:
        many = random.random() < 0.15
        return self.source.rows(random, random.randint(ENOUGH, ENOUGH + 30) if many else random.randint(1, 25))

    def _held(self, random: Random, most: int) -> list[Row]:
        return random.sample(self.reference.rows, min(random.randint(1, most), len(self.reference.rows)))

    def _questions(self, random: Random) -> list[Row]:
        names = self.source.columns
        unknown = {"words": "never seen before", "kind": "nowhere", "paid": "perhaps", "size": -3.5}
        missing = [dict.fromkeys(names, None), {name: unknown[name] for name in names}]
        held = [{name: row[name] for name in names} for row in self._held(random, 3)]
        return [*missing, *held]

    def _priors(self, priors: Any) -> Labels:
        return () if isinstance(priors, str) else tuple(priors)

    def _expect(self, after: Reference | None, action: Callable[[], Any]) -> None:
        if after is None:
            self._refused(action)
            return
        action()
        self.reference = after

    def _refused(self, action: Callable[[], Any]) -> None:
        before = self.model.checksum()
        refuses(action)
        require(self.model.checksum() == before, "a refused operation changed the model")
