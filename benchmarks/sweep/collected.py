"""All cases of the sweep."""

from functools import cache

from benchmarks.sweep import analysis_cases, classifier_cases, estimator_cases, text_cases
from benchmarks.sweep.cells import Case


@cache
def collected() -> tuple[Case, ...]:
    """Return the cases, those of a family beside each other, in the order in which families first come."""
    modules = (text_cases, classifier_cases, estimator_cases, analysis_cases)
    found = [case for module in modules for case in module.cases() if case.operations]
    order = list(dict.fromkeys(case.family for case in found))
    return tuple(sorted(found, key=lambda case: order.index(case.family)))
