"""Topics of made-up news by naive Bayes: bags of words, tf–idf, three event models."""

import sys
from time import process_time

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline

TOPICS = ["economy", "science", "sport"]
random = np.random.default_rng(0)
syllables = [f"{first}{second}{third}" for first in "bdfgkl" for second in "aeiou" for third in "mnrstz"]
vocabulary = np.array([f"{one}{two}" for one in syllables for two in syllables[::9]])
common = random.dirichlet(np.full(len(vocabulary), 0.05))
shares = [0.985 * common + 0.015 * random.dirichlet(np.full(len(vocabulary), 0.05)) for _ in TOPICS]
target = random.integers(0, len(TOPICS), 3000)
drawn = [random.choice(vocabulary, (3000, 200), p=share) for share in shares]
texts = [" ".join(drawn[topic][number]).capitalize() + "." for number, topic in enumerate(target)]
train, test = texts[:2250], texts[2250:]
y_train, y_test = target[:2250], target[2250:]

pipelines = {
    "multinomial": make_pipeline(CountVectorizer(ngram_range=(1, 2), min_df=2), MultinomialNB(alpha=0.1)),
    "complement": Pipeline([("vect", CountVectorizer()), ("tfidf", TfidfTransformer()), ("clf", ComplementNB())]),
    "bernoulli": make_pipeline(CountVectorizer(binary=True), SelectKBest(chi2, k=500), BernoulliNB()),
    "tf-idf": make_pipeline(TfidfVectorizer(sublinear_tf=True, max_df=0.9), MultinomialNB()),
}
start = process_time()
for name, pipeline in pipelines.items():
    pipeline.fit(train, y_train)
    predicted = pipeline.predict(test)
    print(name, f"{accuracy_score(y_test, predicted):.4f}", confusion_matrix(y_test, predicted).tolist())
    print(np.round(pipeline.predict_proba(test[:3]), 8).tolist())
print(f"{process_time() - start:.3f} seconds", file=sys.stderr)
vectorizer = pipelines["multinomial"][0]
print(len(vectorizer.vocabulary_), vectorizer.get_feature_names_out()[:5].tolist())
