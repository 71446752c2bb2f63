"""What a classifier should be: the rows that it should hold and the settings that it should have, and nothing else."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discern.classifier import Classifier
from discern.data.readers import batches
from discern.evaluation.decisions import Decision
from discern.models.fitted import Fitted
from discern.models.settings import Settings
from discern.models.summing import sum_rows
from tests.machines.rows import UNSURE, Row, key

Priors = str | dict[str, float]


@dataclass(frozen=True)
class Rule:
    """A decision, as plain tables: costs by pair of labels, weights by label, a threshold, the cost of "unsure"."""

    costs: Mapping[tuple[str, str], float] | None = None
    weights: Mapping[str, float] | None = None
    threshold: float | None = None
    positive: str | None = None
    unsure: float | None = None

    def refusal(self, labels: Iterable[str]) -> bool:
        """Return whether the rule makes no sense for these labels."""
        names = {*labels}
        gone = self.threshold is not None and self.positive not in names
        return gone or (self.unsure is not None and UNSURE in names)

    def without(self, gone: Iterable[str]) -> Rule | None:
        """Return what is left of the rule when labels are gone."""
        out, left = {*gone}, self
        if self.costs is not None:
            costs = {pair: cost for pair, cost in self.costs.items() if out.isdisjoint(pair)}
            left = replace(left, costs=costs or None)
        if self.weights is not None:
            weights = {label: weight for label, weight in self.weights.items() if label not in out}
            left = replace(left, weights=weights or None)
        return None if left != self and left == Rule() else left

    def renamed(self, new: Mapping[str, str]) -> Rule:
        """Return the rule for labels with other names."""
        costs = self.costs and {(new[true], new[given]): cost for (true, given), cost in self.costs.items()}
        weights = self.weights and {new[label]: weight for label, weight in self.weights.items()}
        return replace(self, costs=costs, weights=weights, positive=self.positive and new[self.positive])

    def named(self) -> list[str]:
        """Return the labels that have costs or weights."""
        return list(dict.fromkeys([true for true, _ in self.costs or ()])) or list(self.weights or ())

    def decision(self) -> Decision:
        """Return the decision that is saved with a model."""
        labels = tuple(self.named())
        costs = self.costs and tuple(tuple(self.costs[true, given] for given in labels) for true in labels)
        weights = self.weights and tuple(self.weights[label] for label in labels)
        return Decision(labels, costs, self.threshold, self.positive, self.unsure, weights=weights)

    def answers(self, shares: Mapping[str, float]) -> set[str]:
        """Return the labels that may be given for these probabilities: several where they are equally good."""
        weighted = {label: share * (self.weights or {}).get(label, 1.0) for label, share in shares.items()}
        total = sum(weighted.values())
        posterior = {label: weight / total for label, weight in weighted.items()} if total > 0 else dict(shares)
        if self.threshold is not None:
            others = {label: share for label, share in posterior.items() if label != self.positive}
            if not others or posterior[str(self.positive)] >= self.threshold + 1e-9:
                return {str(self.positive)}
            near = posterior[str(self.positive)] >= self.threshold - 1e-9
            return _lowest({label: -share for label, share in others.items()}) | (
                {str(self.positive)} if near else set()
            )

        def cost(true: str, given: str) -> float:
            return (self.costs or {}).get((true, given), float(true != given))

        expected = {given: sum(posterior[true] * cost(true, given) for true in posterior) for given in posterior}
        return _lowest(expected if self.unsure is None else {**expected, UNSURE: self.unsure})


def _lowest(costs: Mapping[str, float]) -> set[str]:
    least = min(costs.values())
    return {label for label, cost in costs.items() if cost <= least + 1e-9 * max(abs(least), 1)}


@dataclass(frozen=True)
class Chosen:
    """What validation chose when a model was fitted, or None where there was nothing to choose."""

    settings: dict[str, Any]
    model: Classifier | None = None
    """A model that was fitted with the same choices."""

    def fresh(self) -> Classifier:
        """Return an unfitted classifier that has nothing left to choose."""
        if self.model is None:
            return Classifier(**self.settings)
        settings, resolved = self.model.settings, self.model.resolved
        return Classifier.of(
            Settings(
                label=settings.label,
                columns=resolved.features,
                model=settings.model,
                naive_bayes=resolved.naive_bayes,
                text=resolved.text,
                auto_smoothing=False,
                numbers="gaussian",
                calibrate=False,
                min_df=resolved.min_df,
                min_word_length=resolved.text.min_word_length,
                ledger=self.settings["ledger"],
            ),
            threads=1,
        )


@dataclass
class Reference:
    """The rows that a model should hold and the settings that it should have."""

    settings: dict[str, Any]
    chosen: Chosen
    rows: list[Row]
    priors: Priors
    rule: Rule | None = None

    @classmethod
    def of(cls, settings: dict[str, Any], rows: Sequence[Row], fitted: Classifier) -> Reference:
        """Return the reference of a classifier that was just fitted on rows."""
        features = [feature.is_binned for feature in fitted.features]
        is_chosen = fitted.resolved.chosen is not None or fitted.resolved.calibration is not None or any(features)
        is_chosen = is_chosen or fitted.resolved.space is not None
        given = (
            settings["smoothing"] != "auto" and settings["calibrate"] is not True and settings["numbers"] == "gaussian"
        )
        chosen = Chosen(settings, None if given and not is_chosen else fitted.changed(iter(()), iter(())))
        return cls(settings, chosen, list(rows), _given_priors(settings, fitted))

    @property
    def labels(self) -> list[str]:
        """The labels that the model should have."""
        return sorted({row["label"] for row in self.rows})

    def exchanged(self, old: Sequence[Row], new: Sequence[Row]) -> Reference | None:
        """Return the reference after rows were forgotten and learned; None if that must be refused."""
        rows = [*self.rows, *new]
        for row in old:
            place = next((place for place, held in enumerate(rows) if key(held) == key(row)), None)
            if place is None:
                return None
            del rows[place]
        return self.holding(rows) if rows else None

    def holding(self, rows: list[Row]) -> Reference | None:
        """Return the reference for other rows: what was set for labels that are gone is gone, too."""
        after = sorted({row["label"] for row in rows})
        gone = {*self.labels} - {*after}
        if self.rule is not None and self.rule.refusal(after):
            return None
        priors = self.priors
        if not isinstance(priors, str):
            priors = {label: prior for label, prior in priors.items() if label not in gone} or "data"
        rule = None if self.rule is None else self.rule.without(gone)
        return replace(self, rows=rows, priors=priors, rule=rule)

    def renamed(self, new: Mapping[str, str]) -> Reference:
        """Return the reference with other names of labels."""
        rows = [{**row, "label": new[row["label"]]} for row in self.rows]
        priors = self.priors
        if not isinstance(priors, str):
            absent = {label: prior for label, prior in priors.items() if label not in new}
            priors = {**absent, **{new[label]: prior for label, prior in priors.items() if label in new}}
        return replace(self, rows=rows, priors=priors, rule=self.rule and self.rule.renamed(new))

    def fresh(self) -> Classifier:
        """Return the model that was fitted on the rows at once and then given the priors and the decision."""
        fitted = self._in_space() or quietly(lambda: self.chosen.fresh().fit(self.rows)).fitted
        like = fitted if self.chosen.model is None else self.chosen.model.fitted
        settings, resolved = like.settings, like.resolved
        priors = self.priors if isinstance(self.priors, str) else tuple(sorted(self.priors.items()))
        if not isinstance(settings.naive_bayes.priors, str):
            settings = replace(settings, naive_bayes=replace(settings.naive_bayes, priors=priors))
        pipeline = resolved.pipeline and resolved.pipeline.with_priors(priors)
        resolved = replace(resolved, naive_bayes=replace(resolved.naive_bayes, priors=priors), pipeline=pipeline)
        decision = None if self.rule is None else self.rule.decision()
        return Classifier.of(settings, replace(fitted, settings=settings, resolved=resolved, decision=decision))

    @property
    def in_space(self) -> bool:
        """Whether the model is a sum over rows in a vector space."""
        return self.chosen.model is not None and self.chosen.model.resolved.space is not None

    def kept(self) -> set[str]:
        """Return the words and levels that have an axis, which a model in a vector space keeps."""
        space = None if self.chosen.model is None else self.chosen.model.resolved.space
        axes = [] if space is None else [part for part in space.axes if part.feature.role in ("text", "category")]
        return {word for part in axes for place in range(len(part)) for word in _words_of(part, place)}

    def _in_space(self) -> Fitted | None:
        """Return what a model in a vector space learns of the rows at once, in the space that was chosen."""
        like = None if self.chosen.model is None else self.chosen.model.fitted
        if like is None or like.resolved.space is None:
            return None
        salt = None if like.ledger is None else like.ledger.salt
        sums, ledger = sum_rows(batches(self.rows), like.resolved, "label", 1, salt)
        return replace(like, sums=sums, ledger=ledger)

    def prior(self) -> dict[str, float]:
        """Return the probability that each label should have before a row is looked at."""
        labels = [row["label"] for row in self.rows]
        shares = {label: labels.count(label) / len(labels) for label in self.labels}
        if self.priors == "uniform":
            return dict.fromkeys(shares, 1 / len(shares))
        given = {} if isinstance(self.priors, str) else self.priors
        named = {label: given[label] for label in shares if label in given}
        rest = 1 - sum(share for label, share in shares.items() if label not in named)
        return {
            label: named[label] / sum(named.values()) * rest if label in named else shares[label] for label in shares
        }


def _words_of(axes: Any, place: int) -> list[str]:
    return str(axes.levels[place] if axes.feature.role == "category" else axes.name(place)).split()


def _given_priors(settings: dict[str, Any], fitted: Classifier) -> Priors:
    priors = settings["priors"]
    return str(fitted.resolved.naive_bayes.priors) if priors == "auto" else priors


def quietly(call: Callable[[], Any]) -> Any:
    """Call without the warning that a label has no given prior."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no prior was given for the label")
        return call()
