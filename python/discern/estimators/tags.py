"""The tags by which scikit-learn knows what :class:`discern.Classifier` takes."""

from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags


def tags_of_classifier() -> Tags:
    """Return the tags of a classifier of texts and tables.

    Examples
    --------
    >>> tags_of_classifier().estimator_type
    'classifier'
    """
    return Tags(
        estimator_type="classifier",
        target_tags=TargetTags(required=True),
        classifier_tags=ClassifierTags(poor_score=True),
        input_tags=InputTags(two_d_array=True, categorical=True, string=True),
        non_deterministic=False,
    )
