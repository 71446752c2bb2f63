"""How many small changes of the Rust core its tests notice: a sample of those that cargo-mutants makes.

    python tests/mutation/rust.py [--count 45] [--seed 1]

Draws changes at random, always the same ones for a seed, has cargo-mutants try each with the Rust tests, and prints those
that were not noticed. Ends with an error if more than 15% were not. A change that alters no result, but at most the time
it takes, is listed in `SAME` with the reason, and not counted.
"""

import argparse
import json
import random
import re
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FILES = (
    *("counting/drain", "counting/merge", "counting/shard", "counting/tally"),
    *("text/characters", "text/key", "text/lexicon/*", "text/reader", "text/tokenizer", "text/tokens"),
)
SAME = {
    ("done += same.len();", "+="): "only what is fetched ahead depends on it",
    ("slots: Table::new((words * 5 / 4).max(FEWEST_SLOTS)),", "/"): "room that is got beforehand, or later",
    (
        "let factor = if self.slots.size() < 1 << 16 { 4 } else { 2 };",
        "<",
    ): "the table grows in more steps, or in fewer",
    ("if self.room.len() < self.count + more {", "<"): "room that is got a little sooner",
    ("let mut state = self.0[2] ^ bytes.len() as u64;", "^"): "the hash of long words begins with another number",
    ("self.make_room(runs.len());", "push_short -> usize with 0"): "the slow way to the same tokens",
    ("self.make_room(runs.len());", "push_plain -> usize with 0"): "the slow way to the same tokens",
    (
        "while slots[position].key != Key::NONE {",
        "probe_on -> Option<usize> with None",
    ): "the slow way to the same slot",
    (
        "if let (Some(&prefix), Some(&word)) = (grams.get(index + 8), words.get(index + 7 + length)) {",
        "+",
    ): "only what is fetched ahead depends on it",
    ("if self.sums.len() < limit {", "<"): "room that is got a little sooner",
    (
        "ByTerm::Dense { cells, .. } => cells.iter().filter(|cell| cell[1] != 0).count(),",
        "!=",
    ): "room that is got beforehand, or later",
    ("let low = if length < 8 {", "<"): "all of eight bytes are kept either way",
    ("self.pairs", "prefetch_pair with ()"): "only what is fetched ahead depends on it",
    (
        "let larger = Table::new((self.pairs.size() * 2).max(1 << 10));",
        "<<",
    ): "the table grows in more steps",
    (
        "matches!(self.analyzer, Analyzer::Words { .. })",
        "sees_invalid -> bool with false",
    ): "documents are looked through beforehand instead",
    (
        "while position < text.len() && space_length(&text[position..]) > 0 {",
        "< with <=",
    ): "nothing is no space",
    (
        "Some(place) if place < sums.len() => *sums.select_nth_unstable_by(place, f64::total_cmp).1,",
        "< with <=",
    ): "the heaviest none are never asked for",
    ("let larger = Table::new(self.slots.size() * factor);", "* with +"): "the table grows in more steps",
    ("if self.grams * 5 >= self.pairs.size() * 3 {", "48: replace * with +"): "the table grows sooner",
    ('&& memchr::memmem::find(document, "Σ".as_bytes()).is_some()', "&& with ||"): "the slow way to the same text",
    ("let kept = words.len().min(text.longest_gram - 1);", "-"): "one word more is carried over than is needed",
}
"""The line of a change and a part of what is told of it (column: what is done), and why no test can notice it."""
LEAST = 0.85


def cargo_mutants(*options: str, check: bool = True) -> str:
    """Run cargo-mutants on the files, and give what it prints."""
    files = [f"--file=rust/src/{name}.rs" for name in FILES]
    command = ["cargo", "mutants", "--no-default-features", *files, *options]
    return subprocess.run(command, cwd=ROOT, check=check, stdout=subprocess.PIPE, text=True).stdout


def drawn(count: int, seed: int) -> tuple[list[dict[str, Any]], int]:
    """Return so many changes, and how many there are in all."""
    every = json.loads(cargo_mutants("--list", "--json"))
    names = [change["name"] for change in every]
    random.Random(seed).shuffle(names)
    wanted = set(names[:count])
    return [change for change in every if change["name"] in wanted], len(every)


def reason(change: dict[str, Any]) -> str | None:
    """Explain why no test can notice a change; None if one could."""
    lines = (ROOT / change["file"]).read_text(encoding="utf-8").splitlines()
    line = lines[change["span"]["start"]["line"] - 1].strip()
    told = change["name"].split(":", 2)[2]  # the column and what is done
    found = (why for (text, part), why in SAME.items() if text == line and part in told)
    return next(found, None)


def tried(changes: list[dict[str, Any]]) -> dict[str, str]:
    """Try changes; give what became of each: CaughtMutant, MissedMutant, Timeout or Unviable."""
    chosen = [f"--re=^{re.escape(change['name'])}$" for change in changes]
    cargo_mutants(*chosen, "--output=build", "--timeout=90", "--", "--lib", "--test=counting", check=False)
    told = json.loads((ROOT / "build" / "mutants.out" / "outcomes.json").read_text(encoding="utf-8"))
    scenarios = (outcome for outcome in told["outcomes"] if isinstance(outcome["scenario"], dict))
    return {outcome["scenario"]["Mutant"]["name"]: outcome["summary"] for outcome in scenarios}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--count", type=int, default=45)
    asked.add_argument("--seed", type=int, default=1)
    given = asked.parse_args()
    changes, every = drawn(given.count, given.seed)
    counted = [change for change in changes if reason(change) is None]
    outcomes = tried(counted)
    missed = [name for name, outcome in outcomes.items() if outcome == "MissedMutant"]
    real = sum(outcome != "Unviable" for outcome in outcomes.values())
    for name in missed:
        print(f"  not noticed: {name}")
    same = len(changes) - len(counted)
    print(f"the counting core: {real - len(missed)} of {real} noticed, {same} the same, of {every}")
    if real - len(missed) < LEAST * real:
        raise SystemExit(f"fewer than {LEAST:.0%} of the changes were noticed")


if __name__ == "__main__":
    main()
