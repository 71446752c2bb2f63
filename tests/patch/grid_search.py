"""A grid search over a text pipeline, with cross-validation."""

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline

random = np.random.default_rng(1)
stems = [f"w{number}" for number in range(300)]
target = random.integers(0, 2, 400)
texts = [" ".join(random.choice(stems[:200] if label else stems[100:], random.integers(5, 40))) for label in target]

pipeline = Pipeline([("vect", CountVectorizer()), ("tfidf", TfidfTransformer()), ("clf", MultinomialNB())])
grid = {
    "vect__ngram_range": [(1, 1), (1, 2)],
    "tfidf__use_idf": [True, False],
    "clf__alpha": [1.0, 0.1],
}
search = GridSearchCV(pipeline, grid, cv=3).fit(texts, target)
print(f"{search.best_score_:.10f}")
print(sorted(search.best_params_.items()))
print(np.round(search.cv_results_["mean_test_score"], 10).tolist())
print(np.round(cross_val_score(clone(pipeline), texts, target, cv=5), 10).tolist())
print(search.best_estimator_.named_steps["clf"].alpha, search.best_estimator_.predict(texts[:10]).tolist())
