"""
Which language is it?
=====================

Find the language of a sentence by its character n-grams::

    python examples/language_identification.py                    # a few sentences in ten languages, below
    python examples/language_identification.py sentences.csv      # columns "label" and "text"; also .bz2, .gz, .zst

A naive Bayes model of the n-grams of one to four characters within words is enough: it needs no word list and no
alphabet. From a file, the script trains on seven tenths of the sentences and predicts the others.
"""

import sys
from collections.abc import Sequence

import numpy as np

import discern
from discern.data.readers import batches

SENTENCES = {
    "Danish": ["Hunden løber hurtigt gennem skoven", "Jeg vil gerne have en kop kaffe", "Hvor ligger den gamle kirke"],
    "Dutch": [
        "De hond loopt snel door het bos",
        "Ik wil graag een kopje koffie",
        "Waar staat de oude kerk van de stad",
    ],
    "English": ["The dog runs quickly through the woods", "I would like a cup of coffee", "Where is the old church"],
    "Finnish": ["Koira juoksee nopeasti metsän läpi", "Haluaisin kupin kahvia", "Missä on kaupungin vanha kirkko"],
    "French": ["Le chien court vite dans la forêt", "Je voudrais une tasse de café", "Où se trouve la vieille église"],
    "German": ["Der Hund läuft schnell durch den Wald", "Ich hätte gern eine Tasse Kaffee", "Wo steht die alte Kirche"],
    "Greek": ["Ο σκύλος τρέχει γρήγορα στο δάσος", "Θα ήθελα ένα φλιτζάνι καφέ", "Πού είναι η παλιά εκκλησία"],
    "Hindi": ["कुत्ता जंगल में तेज दौड़ता है", "मुझे एक कप कॉफी चाहिए", "पुराना गिरजाघर कहाँ है"],
    "Italian": ["Il cane corre veloce nel bosco", "Vorrei una tazza di caffè", "Dove si trova la vecchia chiesa"],
    "Turkish": ["Köpek ormanda hızla koşuyor", "Bir fincan kahve istiyorum", "Eski kilise nerede bulunuyor"],
}
ASKED = [
    "The old dog would like coffee",
    "La vieille forêt",
    "Ich stehe im Wald",
    "गिरजाघर में कुत्ता",
    "Eski orman nerede",
]


def classifier() -> discern.Classifier:
    """Return the model: n-grams of characters, smoothed little because there are so many."""
    return discern.Classifier(analyzer="char_wb", ngrams=(1, 4), smoothing=0.01)


def read(path: str) -> tuple[list[str], list[str]]:
    """Read labels and texts from a file."""
    labels: list[str] = []
    texts: list[str] = []
    for batch in batches(path):
        numbers, names = batch.labels("label")
        labels += [names[number] for number in numbers]
        texts += batch.column("text").to_list()
    return labels, texts


def split(rows: int) -> tuple[Sequence[int], Sequence[int]]:
    """Return the places of the rows to learn and of those to decide, at random but always the same."""
    order = np.random.default_rng(0).permutation(rows).tolist()
    return order[: int(rows * 0.7)], order[int(rows * 0.7) :]


def small() -> None:
    """Learn the sentences above and decide some more."""
    rows = [(language, sentence) for language, sentences in SENTENCES.items() for sentence in sentences]
    model = classifier().fit({"label": [row[0] for row in rows], "text": [row[1] for row in rows]})
    for sentence, language, shares in zip(ASKED, model.predict(ASKED), model.predict_proba(ASKED), strict=True):
        print(f"{language:<8} {shares.max():.3f}  {sentence}")


def large(path: str) -> None:
    """Learn most of a file, decide the rest, and show what is mistaken for what."""
    labels, texts = read(path)
    learned, asked = split(len(labels))
    model = classifier().fit({"label": [labels[row] for row in learned], "text": [texts[row] for row in learned]})
    predicted, truth = model.predict([texts[row] for row in asked]), np.array([labels[row] for row in asked])
    print(f"{np.mean(predicted == truth):.4f} of {len(asked):,} sentences in {len(set(labels))} languages are right")
    pairs, counts = np.unique(np.stack([truth, predicted])[:, predicted != truth], axis=1, return_counts=True)
    for place in np.argsort(-counts)[:5]:
        print(f"{counts[place]:>5} times {pairs[0, place]} was taken for {pairs[1, place]}")


if __name__ == "__main__":
    large(sys.argv[1]) if len(sys.argv) > 1 else small()
