"""The public names, from which the sweep takes what it measures."""

import inspect

import discern
from discern.estimators import reexports

NOT_MEASURED = {
    "__version__": "a string",
    "BayesClassifier": "scikit-learn has no classifier of known densities",
    "BayesRate": "a result",
    "CrossValidation": "a result",
    "DataError": "an error",
    "Decision": "a rule; DecisionClassifier applies it",
    "Density": "scikit-learn has no densities that are given",
    "Dirichlet": "a setting",
    "Drift": "a result",
    "Embedder": "calls a function of the user",
    "Evidence": "a result",
    "Guard": "no peer detects edited texts",
    "JelinekMercer": "a setting",
    "Laplace": "a setting",
    "LeastCost": "a rule; DecisionClassifier applies it",
    "ModelFileError": "an error",
    "MostF1": "a rule; choose_thresholds applies it",
    "MostPrecision": "a rule; choose_thresholds applies it",
    "MostRecall": "a rule; DecisionClassifier applies it",
    "NotSeparableError": "an error",
    "Receipt": "a result",
    "Separation": "a result",
    "SeparationWarning": "a warning",
    "Similar": "a result",
    "SingularCovarianceWarning": "a warning",
    "StaticEmbedding": "needs a folder of vectors; scikit-learn has none",
    "TextSettings": "settings",
    "Thresholds": "compares numbers; choose_thresholds, which is measured, chooses them",
    "Weighting": "settings; TfidfTransformer weighs",
    "Window": "no peer forgets rows",
    "choose_decision": "cross-validates, which is measured, and chooses one number",
    "code_path": "a string",
    "compare": "cross-validates, which is measured",
    "corrected_resampled_t": "a formula of a few numbers",
    "doubtful": "no peer looks for wrong labels",
    "drift": "no peer compares two models",
    "find_separation": "scikit-learn does not look for separation",
    "load": "pickles, which scikit-learn writes, hold code",
    "mcnemar": "a formula of a few numbers",
    "mixture": "scikit-learn has no densities that are given",
    "reweight": "scikit-learn does not change priors",
    "wilson": "a formula of a few numbers",
    "with_vectors": "joins two arguments",
    **dict.fromkeys(reexports.__all__, "scikit-learn's own"),
}
"""The public names without cells, each with the reason."""


def is_estimator(name: str) -> bool:
    """Return whether a public name is a class that fits, and predicts or transforms."""
    found = getattr(discern, name)
    return (
        inspect.isclass(found) and hasattr(found, "fit") and (hasattr(found, "predict") or hasattr(found, "transform"))
    )


def estimators() -> tuple[str, ...]:
    """Return the names of the public estimators."""
    return tuple(name for name in discern.__all__ if name not in NOT_MEASURED and is_estimator(name))
