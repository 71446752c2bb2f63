"""
Spam from start to finish
=========================

Everything at once: mails as they lie on disk, columns with roles, a model chosen by validation, honest probabilities,
a threshold for what a lost mail costs, evidence, and a mistake that is taken back.

``MAIL_FOLDER=folder`` names real mails, in sub-folders ``ham`` and ``spam``. Without it the package's own 766 short
messages are written out as mails: enough to show every step, too easy to be proud of the figures.
"""

import os
import random
import tempfile
from email.message import EmailMessage
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from discern import Classifier, MostRecall, choose_threshold, load
from discern.analysis.plots.bars import EvidenceDisplay
from discern.analysis.plots.predictions import RocDisplay
from discern.cli.demo import sample
from discern.data.message import columns_of, with_headers
from discern.data.readers import batches
from discern.data.source import Reading

# %%
# **Mails.** A folder whose sub-folders are the labels is read as it is; every mail becomes columns: subject, from,
# to, body, html, attachments, received and links.

here = Path(tempfile.mkdtemp())
folder = Path(os.environ.get("MAIL_FOLDER", here / "mail"))
if "MAIL_FOLDER" not in os.environ:
    for number, row in enumerate(sample()):
        message = EmailMessage()
        first, *_ = row["text"].split(".")
        message["Subject"], message["From"], message["To"] = first[:40], "someone@example.org", "you@example.org"
        message.set_content(row["text"])
        place = folder / row["label"] / f"{number}.eml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(bytes(message))
reading = Reading(format="eml")
rows = []
for batch in batches(folder, reading):
    columns = {name: batch.column(name).to_list() for name in batch.columns}
    rows += [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
print(len(rows), "mails with", sorted(rows[0]))

# %%
# **Learning.** A third is held out. Smoothing, event model and n-grams are chosen by leave-one-out, from one counting
# pass, and probabilities are calibrated on them.

random.Random(1).shuffle(rows)
cut = len(rows) // 3
held_out, learned = rows[:cut], rows[cut:]
model = Classifier().fit(learned)
evaluation = model.evaluate(held_out)
interval = evaluation.intervals()["accuracy"]
print(f"accuracy {evaluation.accuracy:.3f}, interval {interval}, log loss {evaluation.log_loss:.3f}")
assert evaluation.accuracy > 0.9

# %%
# **Deciding.** A lost mail is worse than a spam in the inbox: at most one ham of a hundred may be called spam. The
# threshold is chosen on rows that the model has not learned, and has an interval.

truth = [row["label"] for row in held_out]
chosen = choose_threshold(
    truth, model.predict_proba(held_out), model.labels, "spam", MostRecall(false_positive_rate=0.01)
)
print(f"threshold {chosen.threshold:.3f} {chosen.interval}: {chosen.recall:.1%} of spam is caught")
assert chosen.false_positive_rate <= 0.01
RocDisplay.from_evaluation(evaluation, positive="spam", chosen=chosen.threshold)
plt.show()

# %%
# **Explaining.** Why this label? Each word of each column contributes.

example = next(row for row in held_out if row["label"] == "spam" and len(row["body"]) > 60)
example = {name: value for name, value in example.items() if name != "label"}
print("\n".join(str(model.explain(example)).splitlines()[:12]))
EvidenceDisplay.from_estimator(model, example)
plt.show()

# %%
# **Filtering.** What ``discern filter`` does with a mail on its way: two headers more, and not a byte of the body
# changed.

raw = next(path for path in sorted((folder / "spam").rglob("*")) if path.is_file()).read_bytes()
share = model.predict_proba([columns_of(raw)])[0, model.labels.index("spam")]
marked = with_headers(raw, {"X-Discern": "spam" if share >= chosen.threshold else "ham"}, "X-Discern")
print(next(line for line in marked.decode("utf-8", "replace").splitlines() if line.startswith("X-Discern")))
assert marked.endswith(raw.partition(b"\n\n")[2])

# %%
# **Taking back.** Someone reported a newsletter as spam and thinks better of it. Forgetting is exact: the model file
# is, byte for byte, the one of a model that never saw the mail.

model.save(here / "before.discern")
newsletter = [{**held_out[0], "label": "spam"}]
model.learn(newsletter)
receipt = model.forget(newsletter)
model.save(here / "after.discern")
assert (here / "before.discern").read_bytes() == (here / "after.discern").read_bytes()
print(f"the receipt: {receipt[:16]}…")
assert np.array_equal(load(here / "after.discern").predict(held_out), model.predict(held_out))
