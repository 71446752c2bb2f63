//! The counting core against plain code that does the same slowly: tokens, numbers, sums, rows and weights.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use discern_core::counting::drain::{Drained, drain};
use discern_core::counting::matrix::in_order;
use discern_core::counting::merge::merge_terms;
use discern_core::counting::shard::{Shard, kept_rows};
use discern_core::text::bag::Bag;
use discern_core::text::characters::PythonTables;
use discern_core::text::lexicon::{Lexicon, Run, UNKNOWN, WeightTable};
use discern_core::text::reader::{Fixed, Growing, Reader, Sorted};
use discern_core::text::tokenizer::{Analyzer, Scratch, Script, Text};
use discern_core::text::tokens::Tokens;
use regex::bytes::Regex;
use waken_snowball::Algorithm;

// ------------------------------------------------------------------------------------------- documents

/// Numbers that look random and are always the same (xorshift).
struct Source(u64);

impl Source {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

const LETTERS: [&str; 12] = ["a", "b", "C", "d", "E", "7", "_", "é", "É", "ß", "ñ", "z"];
const GAPS: [&str; 9] = [" ", " ", "  ", ", ", "-", "\n", "…", "\t ", "'"];

/// Few letters, so that words come again; some longer than a slot of the table.
fn word(source: &mut Source) -> String {
    let length = [1, 1, 2, 2, 3, 4, 7, 8, 9, 14, 15, 16, 17, 31, 40][source.below(15)];
    let first = source.below(LETTERS.len());
    let varied = 1 + source.below(2);
    (0..length)
        .map(|place| {
            if place < varied {
                LETTERS[(first + place) % 12]
            } else {
                LETTERS[place % 3]
            }
        })
        .collect()
}

fn document(source: &mut Source) -> String {
    let mut text = String::new();
    for _ in 0..source.below(30) {
        text += source.pick(&GAPS);
        text += &word(source);
    }
    text
}

fn documents(count: usize, seed: u64) -> Vec<String> {
    let mut source = Source(seed);
    (0..count).map(|_| document(&mut source)).collect()
}

// ------------------------------------------------------------------------------------------- plain code

fn words(text: &str, lowercase: bool, shortest: usize) -> Vec<String> {
    let text = if lowercase {
        text.to_lowercase()
    } else {
        text.to_owned()
    };
    text.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| word.chars().count() >= shortest.max(1))
        .map(str::to_owned)
        .collect()
}

fn joined(words: &[String], grams: (usize, usize)) -> Vec<String> {
    let lengths = grams.0..=grams.1;
    lengths
        .flat_map(|length| words.windows(length).map(|window| window.join(" ")).collect::<Vec<_>>())
        .collect()
}

fn expected(text: &Text, document: &str) -> Vec<String> {
    let Analyzer::Words { shortest } = text.analyzer else {
        panic!("only words")
    };
    let mut words = words(document, text.lowercase, shortest);
    words.retain(|word| !text.stop_words.contains(word.as_bytes()));
    joined(&words, (text.shortest_gram, text.longest_gram))
}

fn text(analyzer: Analyzer, lowercase: bool, grams: (usize, usize), stops: &[&str]) -> Arc<Text> {
    Arc::new(Text {
        analyzer,
        script: Script::World,
        lowercase,
        shortest_gram: grams.0,
        longest_gram: grams.1,
        stop_words: stops.iter().map(|word| word.as_bytes().to_vec()).collect(),
        stemmer: None,
        symbols: false,
    })
}

fn settings() -> Vec<Arc<Text>> {
    let words = |shortest| Analyzer::Words { shortest };
    vec![
        text(words(1), true, (1, 1), &[]),
        text(words(2), false, (1, 1), &[]),
        text(words(2), true, (1, 2), &[]),
        text(words(3), true, (2, 3), &[]),
        text(words(1), false, (3, 3), &[]),
        text(words(1), true, (1, 1), &["a", "aab"]),
        text(words(2), true, (1, 3), &["é", "ab", "bb"]),
    ]
}

fn sorted(mut list: Vec<String>) -> Vec<String> {
    list.sort();
    list
}

fn name(lexicon: &Lexicon, number: u32) -> String {
    let mut name = Vec::new();
    lexicon.write_name(number, &mut name);
    String::from_utf8_lossy(&name).into_owned()
}

// ------------------------------------------------------------------------------------------- reading

/// The terms of a document as one reader finds them, growing its lexicon.
fn read(reader: &mut Reader, lexicon: &mut Lexicon, document: &[u8]) -> Vec<u32> {
    let mut found = Vec::new();
    reader.read(document, &mut Growing(lexicon), &mut |numbers, limit| {
        assert!(numbers.iter().all(|&number| (number as usize) < limit));
        found.extend_from_slice(numbers);
    });
    found
}

fn find(reader: &mut Reader, lexicon: &Lexicon, document: &[u8]) -> Vec<u32> {
    let mut found = Vec::new();
    reader.read(document, &mut Fixed(lexicon), &mut |numbers, limit| {
        assert_eq!(limit, lexicon.len());
        found.extend_from_slice(numbers);
    });
    found
}

#[test]
fn terms_are_those_of_plain_code() {
    for (number, text) in settings().into_iter().enumerate() {
        let mut lexicon = Lexicon::default();
        let mut reader = Reader::new(text.clone(), lexicon.seeds());
        assert_eq!(reader.is_plain(), text.longest_gram == 1 && text.stop_words.is_empty());
        assert_eq!(text.replaces(), !text.stop_words.is_empty());
        assert_eq!(reader.terms_a_byte(), text.longest_gram - text.shortest_gram + 1);
        for document in documents(150, 7 + number as u64) {
            let numbers = read(&mut reader, &mut lexicon, document.as_bytes());
            let names = numbers.iter().map(|&number| name(&lexicon, number)).collect();
            assert_eq!(sorted(names), sorted(expected(&text, &document)), "{document:?}");
            assert_eq!(find(&mut reader, &lexicon, document.as_bytes()), numbers);
        }
        let names = lexicon.names();
        assert_eq!(
            (names.len(), names.is_empty(), lexicon.is_empty()),
            (lexicon.len(), false, false)
        );
        let all: Vec<String> = (0..names.len()).map(|term| name(&lexicon, term as u32)).collect();
        assert!((0..all.len()).all(|term| names.get(term) == all[term].as_bytes()));
        assert_eq!(names.size(), all.iter().map(String::len).sum::<usize>());
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "each once");
    }
}

#[test]
fn letters_beyond_ascii_are_seen_in_both_halves_of_a_key() {
    for text in settings() {
        let mut lexicon = Lexicon::default();
        let mut reader = Reader::new(text.clone(), lexicon.seeds());
        for before in 0..5 {
            // In the first eight bytes, in the second, and at the same places of both.
            let [start, end] = [before, 4 - before].map(|letters| "X".repeat(letters));
            for word in [
                format!("{start}ÉABCDEF{end}"),
                format!("{start}ABCDEFGHÉ{end}"),
                format!("{start}ÉABCDEFÉ{end}"),
            ] {
                let document = format!("plain {word} {word} words");
                let numbers = read(&mut reader, &mut lexicon, document.as_bytes());
                let names = numbers.iter().map(|&number| name(&lexicon, number)).collect();
                assert_eq!(sorted(names), sorted(expected(&text, &document)), "{document:?}");
            }
        }
    }
}

#[test]
fn words_that_are_no_text_are_told_of_once() {
    let lexicon = &mut Lexicon::default();
    let mut reader = Reader::new(
        text(Analyzer::Words { shortest: 1 }, true, (1, 1), &[]),
        lexicon.seeds(),
    );
    for letters in [1, 100, 40_000] {
        let word = "é".repeat(letters);
        read(&mut reader, lexicon, word.as_bytes());
        assert!(!reader.take_invalid());
        let broken = [word.as_bytes(), &[0xFF], word.as_bytes()].concat();
        read(&mut reader, lexicon, &broken);
        assert!(reader.take_invalid(), "{letters}");
        assert!(!reader.take_invalid());
    }
}

#[test]
fn a_given_vocabulary_numbers_its_terms_and_no_others() {
    for (number, text) in settings().into_iter().enumerate() {
        let documents = documents(60, 70 + number as u64);
        let all: BTreeSet<String> = documents
            .iter()
            .flat_map(|document| expected(&text, document))
            .collect();
        // Every second term; those left out are parts of others now and then.
        let kept: Vec<&[u8]> = all.iter().step_by(2).map(String::as_bytes).collect();
        let lexicon = Lexicon::from_terms(kept.iter().copied(), text.joins_words()).unwrap();
        let (mut bytes, mut offsets) = (Vec::new(), vec![0i64]);
        for term in &kept {
            bytes.extend_from_slice(term);
            offsets.push(bytes.len() as i64);
        }
        let mut list = Sorted::new(&offsets, &bytes);
        let mut reader = Reader::new(text.clone(), lexicon.seeds());
        for document in documents.iter().map(String::as_bytes) {
            let numbered = |numbers: Vec<u32>| {
                let known = numbers.iter().filter(|&&number| (number as usize) < kept.len());
                sorted(
                    known
                        .map(|&number| String::from_utf8_lossy(kept[number as usize]).into_owned())
                        .collect(),
                )
            };
            let terms = expected(&text, std::str::from_utf8(document).unwrap());
            let wanted = sorted(
                terms
                    .into_iter()
                    .filter(|term| kept.binary_search(&term.as_bytes()).is_ok())
                    .collect(),
            );
            assert_eq!(numbered(find(&mut reader, &lexicon, document)), wanted);
            let mut searched = Vec::new();
            let mut other = Reader::new(text.clone(), lexicon.seeds());
            other.read(document, &mut list, &mut |numbers, limit| {
                assert_eq!(limit, kept.len());
                searched.extend_from_slice(numbers);
            });
            assert_eq!(numbered(searched), wanted);
        }
        let twice = kept.iter().chain(&kept[kept.len() / 2..]).copied().collect::<Vec<_>>();
        assert!(Lexicon::from_terms(twice.into_iter(), text.joins_words()).is_none());
    }
}

#[test]
fn words_are_joined_across_stop_words_but_not_across_unknown_words() {
    let text = text(Analyzer::Words { shortest: 1 }, true, (1, 2), &["the"]);
    let lexicon = Lexicon::from_terms([&b"a b"[..], b"b"].into_iter(), true).unwrap();
    let mut reader = Reader::new(text, lexicon.seeds());
    let mut known = |document: &str| {
        let numbers = find(&mut reader, &lexicon, document.as_bytes());
        let known = numbers.iter().filter(|&&number| number < 2).count();
        (known, numbers.contains(&0))
    };
    assert_eq!(known("a b"), (2, true));
    assert_eq!(known("a the b"), (2, true));
    assert_eq!(known("a unknown b"), (1, false));
    assert_eq!(known("the unknown"), (0, false));
    assert_eq!(known("the"), (0, false));
}

#[test]
fn offsets_that_do_not_fit_find_nothing() {
    let text = text(Analyzer::Words { shortest: 1 }, true, (1, 1), &[]);
    for offsets in [vec![], vec![0], vec![0, 9], vec![5, 3]] {
        let mut list = Sorted::new(&offsets, b"abc");
        let mut found = Vec::new();
        let mut reader = Reader::new(text.clone(), Lexicon::default().seeds());
        reader.read(b"abc b", &mut list, &mut |numbers, _| found.extend_from_slice(numbers));
        assert_eq!(found, [UNKNOWN; 2]);
    }
}

#[test]
fn pairs_of_numbers() {
    let mut lexicon = Lexicon::default();
    assert!(lexicon.is_empty() && lexicon.names().is_empty());
    assert_eq!(lexicon.find_pair(0, 0), UNKNOWN);
    let mut tokens = Tokens::new(lexicon.seeds());
    assert!(tokens.is_empty());
    ["a", "b", "c"].iter().for_each(|word| tokens.push(word.as_bytes()));
    assert_eq!((tokens.len(), tokens.is_empty()), (3, false));
    let mut numbers = Vec::new();
    lexicon.intern_all(&tokens, &mut numbers);
    assert_eq!(numbers, [0, 1, 2]);
    let mut pairs = BTreeMap::new();
    let mut source = Source(3);
    for _ in 0..5000 {
        let (prefix, word) = (source.below(lexicon.len()) as u32, source.below(3) as u32);
        let known = pairs.get(&(prefix, word)).copied();
        assert_eq!(lexicon.find_pair(prefix, word), known.unwrap_or(UNKNOWN));
        let number = lexicon.intern_pair(prefix, word);
        assert_eq!(number, known.unwrap_or(3 + pairs.len() as u32));
        pairs.insert((prefix, word), number);
    }
    assert_eq!(lexicon.find_pair(UNKNOWN, 0), UNKNOWN);
    assert_eq!(lexicon.find_pair(0, UNKNOWN), UNKNOWN);
    assert_eq!(lexicon.len(), 3 + pairs.len());
}

#[test]
fn a_hundred_thousand_words_are_told_apart() {
    // If they were not spread over the table, this would not end.
    let mut lexicon = Lexicon::with_capacity(0);
    for round in 0..2 {
        for portion in 0..1000 {
            let mut tokens = Tokens::new(lexicon.seeds());
            for number in portion * 100..(portion + 1) * 100 {
                tokens.push(number.to_string().as_bytes());
                tokens.push(format!("a word that is longer {number}").as_bytes());
            }
            let mut numbers = Vec::new();
            if round == 0 {
                lexicon.intern_all(&tokens, &mut numbers);
            } else {
                lexicon.find_all(&tokens, &mut numbers);
            }
            assert_eq!(numbers, (portion * 200..(portion + 1) * 200).collect::<Vec<u32>>());
        }
    }
    (0..100_000).for_each(|word| assert_eq!(lexicon.intern_pair(word, word / 2), 200_000 + word));
    assert_eq!(name(&lexicon, 200_004), "2 1");
    assert_eq!(name(&lexicon, 199_999), "a word that is longer 99999");
}

// ------------------------------------------------------------------------------------------- counting

type Tally = BTreeMap<String, BTreeMap<i32, (i64, i64)>>;

fn tally(text: &Text, documents: &[Vec<String>], classes: usize) -> Tally {
    let mut tally = Tally::new();
    for (index, pieces) in documents.iter().enumerate() {
        let terms: Vec<String> = pieces.iter().flat_map(|piece| expected(text, piece)).collect();
        let class = class_of(index, classes) as i32;
        for term in &terms {
            tally.entry(term.clone()).or_default().entry(class).or_default().0 += 1;
        }
        for term in terms.into_iter().collect::<BTreeSet<_>>() {
            tally.entry(term).or_default().entry(class).or_default().1 += 1;
        }
    }
    tally
}

fn class_of(index: usize, classes: usize) -> u32 {
    (index / 3 * 7 % classes) as u32
}

fn terms_of(drained: &Drained) -> Vec<String> {
    let spans = drained.offsets.windows(2);
    spans
        .map(|span| String::from_utf8_lossy(&drained.bytes[span[0] as usize..span[1] as usize]).into_owned())
        .collect()
}

fn tallied(drained: &Drained) -> Tally {
    let terms = terms_of(drained);
    assert!(terms.is_sorted_by(|left, right| left < right));
    let mut tally: Tally = terms.iter().map(|term| (term.clone(), BTreeMap::new())).collect();
    let mut last = (-1, 0);
    for (entry, (&term, &class)) in drained.entry_terms.iter().zip(&drained.entry_classes).enumerate() {
        assert!(last < (term, class));
        last = (term, class);
        let sums = (drained.occurrences[entry], drained.documents[entry]);
        tally.get_mut(&terms[term as usize]).unwrap().insert(class, sums);
    }
    tally
}

fn pieced(count: usize, seed: u64) -> Vec<Vec<String>> {
    let mut source = Source(seed);
    (0..count)
        .map(|_| (0..1 + source.below(3)).map(|_| document(&mut source)).collect())
        .collect()
}

#[test]
fn sums_are_those_of_plain_code() {
    for (number, text) in settings().into_iter().enumerate() {
        let documents = pieced(80, 100 + number as u64);
        for (shards, classes, known) in [(1, 3, 3), (3, 64, 2), (2, 65, 64), (2, 300, 300), (1, 1, 0)] {
            let mut all: Vec<Shard> = (0..shards).map(|_| Shard::new(&text, known, 1 << 24)).collect();
            for (index, pieces) in documents.iter().enumerate() {
                let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
                let class = class_of(index, classes);
                let shard = &mut all[index / 2 % shards];
                shard.widen(class as usize + 1);
                shard.count(&pieces, class);
            }
            let (drained, rows) = drain::<i64>(all);
            assert_eq!(
                tallied(&drained),
                tally(&text, &documents, classes),
                "{number} {shards} {classes}"
            );
            assert_eq!(rows.starts, [0]);
        }
    }
}

#[test]
fn nothing_counted_has_no_terms() {
    let text = text(Analyzer::Words { shortest: 1 }, true, (1, 2), &[]);
    for shards in 0..3 {
        let mut all: Vec<Shard> = (0..shards).map(|_| Shard::new(&text, 2, 0)).collect();
        all.iter_mut().for_each(|shard| shard.count(&[b" ", b""], 1));
        let (drained, _) = drain::<i64>(all);
        assert_eq!((drained.offsets, drained.bytes.len()), (vec![0], 0));
        assert_eq!((drained.entry_terms.len(), drained.occurrences.len()), (0, 0));
    }
}

#[test]
fn rows_are_those_of_plain_code() {
    for (number, text) in settings().into_iter().enumerate() {
        let documents = pieced(60, 200 + number as u64);
        for shards in 1..4 {
            let mut all: Vec<Shard> = (0..shards).map(|_| Shard::new(&text, 1, 0)).collect();
            for (place, portion) in documents.chunks(7).enumerate() {
                let shard = &mut all[place * 2 % shards];
                shard.keep_rows(place);
                for pieces in portion {
                    shard.keep(&pieces.iter().map(|piece| piece.as_bytes()).collect::<Vec<_>>());
                }
            }
            let (drained, rows) = drain::<i64>(all);
            let terms = terms_of(&drained);
            assert_eq!(terms, tally(&text, &documents, 1).into_keys().collect::<Vec<_>>());
            assert_eq!(rows.starts.len(), documents.len() + 1);
            for (pieces, span) in documents.iter().zip(rows.starts.windows(2)) {
                let span = span[0] as usize..span[1] as usize;
                let counted = span
                    .clone()
                    .map(|entry| (terms[rows.terms[entry] as usize].clone(), rows.counts[entry]));
                let mut wanted: BTreeMap<String, i64> = BTreeMap::new();
                let found = pieces.iter().flat_map(|piece| expected(&text, piece));
                found.for_each(|term| *wanted.entry(term).or_default() += 1);
                assert_eq!(span.len(), wanted.len());
                assert_eq!(counted.collect::<BTreeMap<_, _>>(), wanted);
            }
        }
    }
}

#[test]
fn plain_rows_have_their_terms_in_the_order_of_appearance() {
    let text = text(Analyzer::Words { shortest: 1 }, true, (1, 1), &[]);
    let mut shards = vec![Shard::new(&text, 1, 0), Shard::new(&text, 1, 0)];
    for (place, document) in ["d c d", "b a", "c c c d a"].iter().enumerate() {
        shards[place % 2].keep_rows(place);
        shards[place % 2].keep(&[document.as_bytes()]);
    }
    assert_eq!(shards[0].each_term(name), ["d", "c", "a"]);
    let kept = kept_rows(shards);
    let stretches = in_order(&kept);
    assert_eq!(
        stretches.iter().map(|stretch| stretch.owner).collect::<Vec<_>>(),
        [0, 1, 0]
    );
    let (rows, last) = (&kept[0], &stretches[2]);
    assert_eq!(rows.terms()[last.terms.clone()], [1, 0, 2]);
    assert_eq!(rows.counts()[last.terms.clone()], [3, 1, 1]);
    assert_eq!(last.rows, 1..2);
}

#[test]
fn words_that_share_their_beginning_or_end_in_zeros() {
    let text = text(Analyzer::Given, true, (1, 1), &[]);
    let long = "l".repeat(70_000);
    let (longer, other) = (format!("{long}a"), format!("{long}b"));
    let terms = [
        "",
        "\0",
        "\0\0",
        "a",
        "a\0",
        "abcdefg",
        "abcdefg\0",
        "abcdefgh",
        "abcdefgh\0",
        "abcdefghi",
        "abcdefgi",
        &long,
        &longer,
        &other,
    ];
    for shards in 1..3 {
        let mut all: Vec<Shard> = (0..shards).map(|_| Shard::new(&text, 2, 0)).collect();
        for (index, term) in terms.iter().rev().chain(&terms).enumerate() {
            all[index % shards].count(&[term.as_bytes(), b"a"], (index % 2) as u32);
        }
        let (drained, _) = drain::<i64>(all);
        assert_eq!(terms_of(&drained), terms);
        assert_eq!(drained.occurrences.iter().sum::<i64>(), 4 * terms.len() as i64);
        let a = drained.entry_terms.iter().position(|&term| term == 3).unwrap();
        assert_eq!(&drained.occurrences[a..a + 2], [15, 15]);
        assert_eq!(&drained.documents[a..a + 2], [14, 14]);
    }
}

#[test]
fn lists_of_terms_are_merged() {
    let lists: [Vec<&[u8]>; 4] = [vec![b"a", b"c", b"d"], vec![], vec![b"b", b"c"], vec![b"", b"d", b"e"]];
    let (bytes, offsets, numbers) = merge_terms(&lists);
    assert_eq!((&bytes[..], &offsets[..]), (&b"abcde"[..], &[0, 0, 1, 2, 3, 4, 5][..]));
    assert_eq!(numbers, [vec![1, 3, 4], vec![], vec![2, 3], vec![0, 4, 5]]);
}

#[test]
fn running_sums_and_bags_of_a_lexicon() {
    let mut lexicon = Lexicon::with_capacity(0);
    let (mut run, mut bag) = (Run::default(), Bag::default());
    let mut source = Source(11);
    for _ in 0..4 {
        let mut wanted: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        for document in 1..=40 {
            let mut tokens = Tokens::new(lexicon.seeds());
            (0..source.below(90)).for_each(|_| tokens.push(word(&mut source).as_bytes()));
            assert_eq!(run.next_document(), document);
            lexicon.count(&tokens, &mut run);
            let mut numbers = Vec::new();
            lexicon.find_all(&tokens, &mut numbers);
            for &number in &numbers {
                wanted.entry(number).or_default().0 += 1;
            }
            let distinct: BTreeSet<u32> = numbers.iter().copied().collect();
            distinct
                .iter()
                .for_each(|number| wanted.entry(*number).or_default().1 += 1);
        }
        let mut found = BTreeMap::new();
        lexicon.flush(&mut run, |number, occurrences, documents| {
            assert!(found.insert(number, (occurrences, documents)).is_none());
        });
        assert_eq!(found, wanted);
    }
    for _ in 0..40 {
        let mut tokens = Tokens::new(lexicon.seeds());
        (0..source.below(90)).for_each(|_| tokens.push(word(&mut source).as_bytes()));
        tokens.push(format!("new{}", lexicon.len()).as_bytes());
        bag.clear();
        lexicon.fill_bag(&tokens, &mut bag, |_| ());
        let mut numbers = Vec::new();
        lexicon.find_all(&tokens, &mut numbers);
        let mut wanted = BTreeMap::new();
        numbers
            .iter()
            .for_each(|&number| *wanted.entry(number).or_insert(0) += 1);
        let found: BTreeMap<u32, u32> = bag.terms().iter().copied().zip(bag.counts().iter().copied()).collect();
        assert_eq!((found, bag.terms().len()), (wanted.clone(), wanted.len()));
    }
}

#[test]
fn weights_in_slots_are_those_of_the_list() {
    let mut source = Source(17);
    let mut lexicon = Lexicon::with_capacity(0);
    let mut known = Tokens::new(lexicon.seeds());
    (0..400).for_each(|_| known.push(word(&mut source).as_bytes()));
    lexicon.intern_all(&known, &mut Vec::new());
    let weights: Vec<[f64; 2]> = (0..lexicon.len() - 5)
        .map(|term| [term as f64 + 0.5, -(term as f64)])
        .collect();
    let table = WeightTable::new(&lexicon, &weights);
    for size in 0..120 {
        let mut tokens = Tokens::new(lexicon.seeds());
        (0..size).for_each(|_| tokens.push(word(&mut source).as_bytes()));
        tokens.push(b"neverseen");
        tokens.push(b"never seen and longer than a slot");
        let (mut numbers, mut wanted) = (Vec::new(), [1.0, 2.0]);
        lexicon.find_all(&tokens, &mut numbers);
        for pair in numbers.iter().filter_map(|&number| weights.get(number as usize)) {
            wanted = [wanted[0] + pair[0], wanted[1] + pair[1]];
        }
        let mut sums = [1.0, 2.0];
        let count = table.add(&tokens, &lexicon, &weights, &mut sums);
        assert_eq!(sums, wanted);
        let weightless = numbers
            .iter()
            .filter(|&&number| number != UNKNOWN && number as usize >= weights.len());
        let seen = numbers.iter().filter(|&&number| number != UNKNOWN).count();
        assert!(count <= seen && count + weightless.count() >= seen);
    }
}

// ------------------------------------------------------------------------------------------- texts

fn tokens_of(text: &Text, document: &[u8]) -> Vec<Vec<u8>> {
    let mut tokens = Tokens::new(Lexicon::default().seeds());
    let (mut found, mut bytes) = (Vec::new(), Vec::new());
    text.tokenize(document, &mut Scratch::default(), &mut tokens, &mut |tokens| {
        assert!(!tokens.is_empty());
        for &token in tokens.list() {
            tokens.text(token, &mut bytes);
            found.push(bytes.clone());
        }
    });
    found
}

fn said(text: &Text, document: &str) -> Vec<String> {
    let tokens = tokens_of(text, document.as_bytes()).into_iter();
    tokens.map(|token| String::from_utf8(token).unwrap()).collect()
}

fn windows(characters: &[char], grams: (usize, usize)) -> Vec<String> {
    let lengths = grams.0..=grams.1;
    lengths
        .flat_map(|length| characters.windows(length).map(String::from_iter).collect::<Vec<_>>())
        .collect()
}

/// Two or more white-space characters become one space.
fn squeezed(text: &str) -> Vec<char> {
    let characters: Vec<char> = text.chars().collect();
    let mut result = Vec::new();
    for run in characters.chunk_by(|left, right| left.is_whitespace() && right.is_whitespace()) {
        result.extend_from_slice(if run.len() > 1 { &[' '] } else { run });
    }
    result
}

#[test]
fn runs_of_characters_are_those_of_plain_code() {
    let spaced = [
        "a\u{85}b",
        "a\u{a0}\u{1680}b",
        "\u{2000}\u{200a}x\u{2028}y\u{2029}\u{202f}",
        "\u{205f}\u{3000}né \u{3000}",
    ];
    let mut all = documents(80, 31);
    all.extend(spaced.iter().map(|text| text.to_string()));
    all.extend([
        "\t\nx\u{b}\u{c}\ry ".to_string(),
        "😀é 😀😀".to_string(),
        String::new(),
        " ".to_string(),
    ]);
    for grams in [(1, 1), (1, 3), (2, 2), (3, 6)] {
        for lowercase in [true, false] {
            let any = text(Analyzer::Characters, lowercase, grams, &[]);
            let inside = text(Analyzer::CharactersInWords, lowercase, grams, &[]);
            for document in &all {
                let lowered = if lowercase {
                    document.to_lowercase()
                } else {
                    document.clone()
                };
                assert_eq!(
                    said(&any, document),
                    windows(&squeezed(&lowered), grams),
                    "{document:?}"
                );
                let mut wanted = Vec::new();
                for word in lowered.split_whitespace() {
                    let padded: Vec<char> = format!(" {word} ").chars().collect();
                    let most = grams.1.min(padded.len().max(grams.0));
                    if padded.len() < grams.0 {
                        wanted.push(String::from_iter(&padded));
                    }
                    wanted.extend(windows(&padded, (grams.0, most)));
                }
                assert_eq!(said(&inside, document), wanted, "{document:?} {grams:?}");
            }
        }
    }
}

#[test]
fn the_separators_of_ascii_are_white_space_too() {
    let inside = text(Analyzer::CharactersInWords, true, (9, 9), &[]);
    assert_eq!(
        said(&inside, "a\u{1c}b\u{1d}c\u{1e}d\u{1f}e"),
        [" a ", " b ", " c ", " d ", " e "]
    );
    let inside = text(Analyzer::CharactersInWords, true, (10, 11), &[]);
    assert_eq!(
        said(&inside, "a\u{1b}b\u{8}c\u{e}d\u{200b}"),
        [" a\u{1b}b\u{8}c\u{e}d\u{200b} "]
    );
    let any = text(Analyzer::Characters, true, (1, 1), &[]);
    assert_eq!(
        said(&any, "a\u{1c}\u{1d}b\u{1b}\u{1b}"),
        ["a", " ", "b", "\u{1b}", "\u{1b}"]
    );
}

#[test]
fn bytes_that_are_no_characters_count_as_one_each() {
    let any = text(Analyzer::Characters, true, (1, 1), &[]);
    let cases: [(&[u8], &[&[u8]]); 7] = [
        (b"\xc3\xa9\xc3a", &[b"\xc3\xa9", b"\xc3", b"a"]),
        (b"\xe2\x82\xac\xe2\x82", &[b"\xe2\x82\xac", b"\xe2", b"\x82"]),
        (b"\xe2A\x80", &[b"\xe2", b"a", b"\x80"]),
        (
            b"\xf0\x9f\x98\x80\xf0\x9f\x98",
            &[b"\xf0\x9f\x98\x80", b"\xf0", b"\x9f", b"\x98"],
        ),
        (
            b"\xc1\x80\xf5\x80\x80\x80",
            &[b"\xc1", b"\x80", b"\xf5", b"\x80", b"\x80", b"\x80"],
        ),
        (b"\xff\xfe", &[b"\xff", b"\xfe"]),
        (b"\xdf\xbf\xef\xbf\xbdQ", &[b"\xdf\xbf", b"\xef\xbf\xbd", b"q"]),
    ];
    for (document, wanted) in cases {
        assert_eq!(tokens_of(&any, document), wanted);
    }
    let words = text(Analyzer::Words { shortest: 1 }, true, (1, 1), &[]);
    assert_eq!(
        tokens_of(&words, b"caf\xc3\xa9\xffBAR \xe2\x82x"),
        [&b"caf\xc3\xa9"[..], b"bar", b"x"]
    );
}

#[test]
fn long_documents_are_read_whole() {
    let unit = "Alpha née b2 verylongwordbeyondtheslot ";
    let ascii = unit.replace("é", "e");
    for (unit, count) in [(unit, 8000), (ascii.as_str(), 8000), ("Σ alpha ", 20_000)] {
        let document = unit.repeat(count);
        for grams in [(1, 1), (1, 2), (1, 3)] {
            let text = text(Analyzer::Words { shortest: 2 }, true, grams, &[]);
            let mut lexicon = Lexicon::default();
            let numbers = read(
                &mut Reader::new(text.clone(), lexicon.seeds()),
                &mut lexicon,
                document.as_bytes(),
            );
            let mut found: BTreeMap<String, usize> = BTreeMap::new();
            numbers
                .iter()
                .for_each(|&number| *found.entry(name(&lexicon, number)).or_default() += 1);
            let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
            expected(&text, &document)
                .into_iter()
                .for_each(|term| *wanted.entry(term).or_default() += 1);
            assert_eq!(found, wanted);
        }
    }
    let characters = text(Analyzer::Characters, true, (1, 2), &[]);
    let document = "ab é".repeat(10_000);
    let wanted = windows(&document.chars().collect::<Vec<_>>(), (1, 2));
    assert!(said(&characters, &document) == wanted);
}

#[test]
fn patterns_and_what_they_join() {
    let regex = |pattern: &str| Analyzer::Pattern(Regex::new(pattern).unwrap());
    assert_eq!(
        said(&text(regex(r"[a-z]\d*"), true, (1, 1), &[]), "A1 b 22C3"),
        ["a1", "b", "c3"]
    );
    assert_eq!(
        said(&text(regex(r"[A-Z](\d*)"), false, (1, 1), &[]), "A1 B 22C3"),
        ["1", "", "3"]
    );
    let many = "x1 ".repeat(40_000);
    assert_eq!(said(&text(regex(r"\w+"), true, (1, 1), &[]), &many).len(), 40_000);
    assert_eq!(said(&text(regex(r"(x)\d"), true, (1, 1), &[]), &many).len(), 40_000);
    let joined = text(regex(r"\w+ ?\d"), true, (1, 3), &["c 3"]);
    assert!(!Reader::new(joined.clone(), Lexicon::default().seeds()).is_plain());
    let mut lexicon = Lexicon::default();
    let numbers = read(
        &mut Reader::new(joined, lexicon.seeds()),
        &mut lexicon,
        b"a 1,b2,C 3,d 4,e5",
    );
    let names: Vec<String> = numbers.iter().map(|&number| name(&lexicon, number)).collect();
    let wanted = [
        "a 1",
        "b2",
        "a 1 b2",
        "d 4",
        "b2 d 4",
        "a 1 b2 d 4",
        "e5",
        "d 4 e5",
        "b2 d 4 e5",
    ];
    assert_eq!(names, wanted);
}

#[test]
fn stems_and_words_too_long_for_them() {
    let mut settings =
        Arc::into_inner(text(Analyzer::Words { shortest: 1 }, true, (1, 2), &["the", "running"])).unwrap();
    settings.stemmer = Some(Algorithm::English);
    assert!(settings.replaces());
    let (long, short) = ("a".repeat(125) + "ings", "a".repeat(125) + "ing");
    let mut stem = long.clone().into_bytes();
    settings.stem(&mut stem);
    assert_eq!(stem, long.as_bytes());
    stem = short.clone().into_bytes();
    settings.stem(&mut stem);
    assert_eq!(stem, &short.as_bytes()[..125]);
    let mut lexicon = Lexicon::default();
    let mut reader = Reader::new(Arc::new(settings), lexicon.seeds());
    let document = b"the runs walking running runs";
    let numbers = read(&mut reader, &mut lexicon, document);
    let names: Vec<String> = numbers.iter().map(|&number| name(&lexicon, number)).collect();
    assert_eq!(names, ["run", "walk", "run", "run walk", "walk run"]);
    assert_eq!(read(&mut reader, &mut lexicon, document), numbers);
}

#[test]
fn a_reader_that_has_replaced_very_many_words_begins_anew() {
    let text = text(Analyzer::Words { shortest: 1 }, true, (1, 1), &["stop"]);
    let mut lexicon = Lexicon::default();
    let mut reader = Reader::new(text, lexicon.seeds());
    for block in 0..3 {
        let words: Vec<String> = (0..360_000)
            .map(|number| format!("{}", block * 360_000 + number))
            .collect();
        let numbers = read(&mut reader, &mut lexicon, words.join(" ").as_bytes());
        assert_eq!((numbers.len(), numbers[0] as usize), (360_000, block * 360_000));
    }
    for _ in 0..2 {
        assert_eq!(
            read(&mut reader, &mut lexicon, b"5 stop 1000000 stop new"),
            [5, 1_000_000, 1_080_000]
        );
    }
}

#[test]
fn words_in_the_manner_of_python() {
    let letters = [(0x41, 0x5b), (0x61, 0x7b), (0xc0, 0x100), (0x370, 0x400)];
    let lower = [(0x3a3, 0x3c3), (0xc9, 0xe9), (0x391, 0x3b1)];
    let word = [(0xc0, 0x100), (0x307, 0x308), (0x370, 0x400)];
    let tables = PythonTables::new(&word, &lower, &letters, &[(0x27, 0x28)]);
    let mut settings = Text {
        analyzer: Analyzer::Words { shortest: 2 },
        script: Script::Python(tables),
        lowercase: true,
        shortest_gram: 1,
        longest_gram: 1,
        stop_words: HashSet::new(),
        stemmer: None,
        symbols: false,
    };
    assert_eq!(said(&settings, "ÉaΣ ΑΣ' É É_ ΣΑ"), ["éaς", "ας", "é_", "σα"]);
    let wanted = ["ασ", "xς", "i\u{307}", "é2", "ab"]; // the apostrophe is looked past
    assert_eq!(said(&settings, "ΑΣ'Α xΣ İ é2—日本ab"), wanted);
    settings.analyzer = Analyzer::Characters;
    assert_eq!(said(&settings, "ΣÉİΑΣ"), ["σ", "é", "i", "\u{307}", "α", "ς"]);
    settings.lowercase = false;
    assert_eq!(said(&settings, "ΣÉ"), ["Σ", "É"]);
    settings.analyzer = Analyzer::Words { shortest: 3 };
    assert_eq!(said(&settings, "ΣÉA İΑ aÉb Ab"), ["ΣÉA", "aÉb"]);
}

#[test]
fn words_of_the_world() {
    let words = text(Analyzer::Words { shortest: 2 }, true, (1, 1), &[]);
    assert_eq!(
        said(&words, "a\u{200d} b\u{200c}c \u{301}x\u{301}\u{200d}y"),
        ["b\u{200c}c", "x\u{301}\u{200d}y"]
    );
    assert_eq!(said(&words, "ΟΔΟΣ'Α ΣΑ. ΑΣ"), ["οδοσ", "σα", "ας"]);
    assert_eq!(said(&words, "x我y ａｂ ½ Ⅷ２"), ["我", "ａｂ", "ⅷ２"]);
    assert_eq!(said(&words, "我 한 ａ a한글b"), ["我", "a한글b"]); // one letter is a word where there are no spaces
    assert_eq!(
        said(&words, "ひらがな ລາວ ខ្មែរ မြန်မာ カタカナ").len(),
        5 + said(&words, "ひらがな").len() - 1
    );
    let all = text(Analyzer::Words { shortest: 0 }, false, (1, 1), &[]);
    assert_eq!(said(&all, "É é\u{301} - e\u{301}X"), ["É", "é\u{301}", "éX"]);
}
