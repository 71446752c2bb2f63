"""Names of scikit-learn that already serve: they are its own, so that a script needs only one import.

A sum a class is all that ``NearestCentroid`` and ``f_classif`` compute; :class:`discern.BasicLinearClassifier` is the
nearest centroid that can also learn more rows, forget some and be merged.
"""

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.feature_selection import SelectFdr, SelectFpr, SelectFwe, SelectPercentile, f_classif
from sklearn.neighbors import NearestCentroid

__all__ = [
    "ENGLISH_STOP_WORDS",
    "NearestCentroid",
    "SelectFdr",
    "SelectFpr",
    "SelectFwe",
    "SelectPercentile",
    "f_classif",
]
