"""All cases of the sweep."""

from functools import cache

from benchmarks.sweep.cases import analysis, classifier, estimators, text
from benchmarks.sweep.cells import Case


@cache
def collected() -> tuple[Case, ...]:
    """Return the cases, those of a family beside each other, in the order in which families first come."""
    modules = (text, classifier, estimators, analysis)
    found = [case for module in modules for case in module.cases() if case.operations]
    order = list(dict.fromkeys(case.family for case in found))
    return tuple(sorted(found, key=lambda case: order.index(case.family)))
