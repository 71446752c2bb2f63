"""The models that a :class:`discern.Classifier` can be: one row each.

The choices and help texts of the command line, what runs on Spark, what the search tries and the table in the
documentation all come from these rows. A model in a vector space is its own module, whose ``learn`` function turns a
:class:`discern.models.vector_space.deciders.Table` into a decider, and a row here.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from discern.data.registry import Registry, imported


@dataclass(frozen=True)
class Work:
    """How long a model takes to learn: nanoseconds for each of some counts, rounded up.

    A search plans by them, so that its result does not depend on how busy a machine is
    (:mod:`discern.models.validation.work`).
    """

    value: float = 200.0
    """For each value of a row: a cell of a table, or a term of a text."""
    pair: float = 0.0
    """For each value of a row and each other row."""
    product: float = 0.0
    """For each row and two axes, where rows are dense."""
    choosing: float = 0.0
    """Seconds for choosing what is left open, on up to 2,000 rows."""
    by_class: bool = False
    """Whether more labels take longer."""


@dataclass(frozen=True)
class ModelKind:
    """A model: its name, what it is, and how it is learned."""

    name: str
    summary: str
    """One line for help texts and documentation."""
    phrase: str = ""
    """The model in a sentence that begins with it, for error messages."""
    event: str = ""
    """For naive Bayes: the event model of texts, or where validation starts."""
    learn: str = ""
    """In a vector space, ``module:function``: from a table and a regularization to a decider."""
    statistic: str = ""
    """In a vector space, the name of a sum over rows in :mod:`discern.statistics.products`, if that is all it needs."""
    choose: str = ""
    """``module:function`` that chooses by held-out rows what validation shall choose: from a sample, its columns, a
    pipeline and settings, if they were given, to a pipeline."""
    solve: str = ""
    """With a statistic, ``module:function``: from its sums, the log priors and the shrinkage to a decider."""
    decider: str = "discern.models.vector_space.deciders:Linear"
    """The class of what is learned, as ``module:name``."""
    for_labels: str = ""
    """In a vector space, where rows may have several labels: the function of :mod:`discern.models.several.learners` or
    of :mod:`discern.models.several.additive` that does the same for all labels."""
    cost: float = 1.0
    """The default cost of an error."""
    is_tuned: bool = False
    """Whether the search tunes the cost. Such models are linear, so the search can also add them up."""
    max_terms: int | None = None
    """How many selected terms are used by default."""
    presence: bool = False
    """Whether a term is either there or not, instead of weighted by tf–idf; numbers then need bins."""
    is_unit: bool = False
    """Whether rows of ``presence`` are scaled to unit length."""
    basis: str = "standard"
    """How numbers become axes by default."""
    bases: tuple[str, ...] = ("standard",)
    """The bases that the search tries where there are neither texts nor vectors."""
    has_priors: bool = False
    has_smoothing: bool = False
    on_spark: bool = False
    on_text: int = 0
    """The position among the models that the search tries where there is text; 0 for those it does not try."""
    on_tables: int = 0
    """The same where there is no text."""
    on_vectors: int = 0
    """The same where there are vectors, with or without text."""
    work: Work = Work()

    @property
    def is_sum(self) -> bool:
        """Whether the model is a sum over rows: it can then learn more, forget and merge."""
        return bool(self.event or self.statistic)

    @property
    def is_spatial(self) -> bool:
        """Whether it is learned in a vector space."""
        return bool(self.learn or self.statistic)

    @property
    def statistic_class(self) -> Any:
        """The sum over rows in a vector space."""
        return imported(f"discern.statistics.products:{self.statistic}")

    @property
    def has_cost(self) -> bool:
        """Whether the cost of an error can be given."""
        return self.is_tuned or bool(self.choose) or self.statistic in ("Products", "ClassProducts")

    @property
    def is_linear(self) -> bool:
        """Whether its scores are a linear function of the axes."""
        return self.decider == ModelKind.decider

    @property
    def decider_class(self) -> Any:
        """The class of what is learned."""
        return imported(self.decider)

    @property
    def labels_decider(self) -> Any:
        """The class of what is learned where rows may have several labels."""
        return imported(_of_labels("deciders:LabelLinear" if self.is_linear else "deciders:LabelVotes"))

    @property
    def labels_learner(self) -> Any:
        """The function that learns where rows may have several labels; raises ValueError for models that cannot."""
        if not self.for_labels:
            raise ValueError(f"{self.name!r} learns one label a row; for several, use 'lda' or 'naive-bayes'")
        return imported(_of_labels(self.for_labels))


def _deciders(name: str) -> str:
    return f"discern.models.vector_space.deciders:{name}"


def _of_labels(name: str) -> str:
    return f"discern.models.several.{name}"


def _additive(name: str) -> str:
    return f"discern.models.vector_space.additive:{name}"


def _kernels(name: str) -> str:
    return f"discern.models.vector_space.kernels:{name}"


MASS_OF_100 = 0.01
"""The cost of an error where the prior weighs as much as a hundred rows."""


MODELS: Registry[ModelKind] = Registry(
    "model",
    [
        ModelKind(
            "naive-bayes",
            "Naive Bayes; validation chooses the event model, n-grams and smoothing",
            event="multinomial",
            has_priors=True,
            has_smoothing=True,
            on_spark=True,
            on_text=3,
            on_tables=1,
            on_vectors=4,
            work=Work(40.0, choosing=0.3),
        ),
        *(
            ModelKind(name, summary, event=name, has_priors=True, has_smoothing=True, on_spark=True)
            for name, summary in (
                ("multinomial", "Naive Bayes that counts every occurrence of a word"),
                ("binary", "Naive Bayes that counts a word once a document"),
                ("bernoulli", "Naive Bayes that also uses the absent words"),
                ("complement", "Naive Bayes that compares each label with all the others"),
            )
        ),
        ModelKind(
            "logistic",
            "Logistic regression",
            "a logistic regression",
            learn=_deciders("learn_logistic"),
            for_labels="learners:logistic",
            cost=30.0,  # tf–idf of unit length is small: a cost of one would hold the weights back
            is_tuned=True,
            on_spark=True,
            on_text=5,
            on_tables=2,
            on_vectors=1,
            bases=("standard", "quadratic", "bumps", "bins", "normal"),
            work=Work(120.0, by_class=True),
        ),
        ModelKind(
            "linear-svm",
            "Linear support vector machine",
            "a linear SVM",
            learn=_deciders("learn_margins"),
            for_labels="learners:margins",
            is_tuned=True,
            on_spark=True,
            on_text=1,
            on_tables=3,
            on_vectors=2,
            work=Work(50.0, by_class=True),
        ),
        ModelKind(
            "nbsvm",
            "Linear support vector machine on log count ratios of naive Bayes",
            "an NB-SVM",
            learn=_deciders("learn_nbsvm"),
            for_labels="learners:nbsvm",
            is_tuned=True,
            presence=True,
            has_smoothing=True,
            on_text=2,
            work=Work(100.0, by_class=True),
        ),
        ModelKind(
            "ridge",
            "Ridge regression on the labels",
            "ridge regression",
            statistic="Products",
            solve=_additive("solve_ridge"),
            for_labels="additive:ridge",
            cost=MASS_OF_100,
            is_tuned=True,
            max_terms=2000,
            on_spark=True,
            on_text=4,
            on_vectors=5,
            work=Work(80.0, product=0.05),
        ),
        ModelKind(
            "lda",
            "Linear discriminant analysis",
            "a linear discriminant",
            statistic="Products",
            solve=_additive("solve_linear_discriminant"),
            for_labels="additive:linear_discriminant",
            cost=MASS_OF_100,
            is_tuned=True,
            max_terms=1000,
            has_priors=True,
            on_spark=True,
            on_tables=4,
            on_vectors=3,
            work=Work(80.0, product=0.05),
        ),
        ModelKind(
            "qda",
            "Quadratic discriminant analysis",
            "a quadratic discriminant",
            statistic="ClassProducts",
            solve=_additive("solve_quadratic_discriminant"),
            cost=MASS_OF_100,
            decider=_deciders("Quadratic"),
            max_terms=100,
            has_priors=True,
            on_spark=True,
            on_tables=5,
            work=Work(80.0, product=0.05, by_class=True),
        ),
        ModelKind(
            "centroids",
            "Nearest centroid: the label with the nearest mean",
            "a nearest centroid",
            statistic="Means",
            solve=_additive("solve_centroids"),
            for_labels="additive:centroids",
            max_terms=10_000,
            on_spark=True,
        ),
        ModelKind(
            "knn",
            "Votes of the nearest neighbors",
            "a vote of weighted neighbors",
            learn=_deciders("learn_neighbors"),
            for_labels="learners:neighbors",
            decider=_deciders("Nearest"),
            on_tables=6,
            on_vectors=6,
            bases=("standard", "common"),
            work=Work(80.0, pair=0.4),
        ),
        ModelKind(
            "svm",
            "Support vector machine with a Gaussian, polynomial or linear kernel",
            "a support vector machine",
            learn=_kernels("learn_svm"),
            choose="discern.models.vector_space.kernel_choice:choose",
            decider=_kernels("Kernels"),
            cost=3.0,
            basis="normal",
            bases=("normal", "common"),
            on_tables=7,
            work=Work(80.0, pair=0.3, choosing=3.5, by_class=True),
        ),
        ModelKind(
            "unit-bayes",
            "Naive Bayes of rows of unit length, as a linear model",
            "a naive Bayes of rows of unit length",
            learn=_deciders("learn_unit_bayes"),
            for_labels="learners:unit_bayes",
            cost=10.0,  # counts are smoothed with a tenth
            is_tuned=True,
            presence=True,
            is_unit=True,
            has_smoothing=True,
            on_text=6,
            work=Work(60.0, by_class=True),
        ),
        ModelKind("best", "The best of the others for these rows, by cross-validation", has_priors=False),
    ],
)


def public_models() -> tuple[str, ...]:
    """Return the names of the models that can be asked for."""
    return tuple(kind.name for kind in MODELS)


def searched(has_text: bool, has_vectors: bool = False) -> list[ModelKind]:
    """Return the models that the search compares, the most likely winners first."""
    position = attrgetter("on_text" if has_text else "on_vectors" if has_vectors else "on_tables")
    return sorted(filter(position, MODELS), key=position)
