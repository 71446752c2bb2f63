"""What people write without discern: FastAPI around a scikit-learn pipeline; and an endpoint with a constant."""

import os

import pyarrow.csv
from fastapi import FastAPI
from pydantic import BaseModel
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

table = pyarrow.csv.read_csv(
    os.environ["SERVICE_TEXTS"], parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True)
)
pipeline = make_pipeline(CountVectorizer(), MultinomialNB())
pipeline.fit(table["text"].to_pylist(), table["label"].to_pylist())
labels = pipeline.classes_.tolist()
app = FastAPI()


class Item(BaseModel):
    """A row."""

    text: str


@app.post("/predict")
def predict(item: Item) -> dict[str, object]:
    """Predict one text."""
    shares = pipeline.predict_proba([item.text])[0].tolist()
    best = max(range(len(shares)), key=shares.__getitem__)
    probabilities = dict(zip(labels, shares, strict=True))
    return {"label": labels[best], "probability": shares[best], "probabilities": probabilities}


@app.post("/constant")
async def constant() -> dict[str, object]:
    """Answer without looking."""
    return {"label": "ham", "probability": 0.5}
