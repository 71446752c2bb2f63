//! Any bytes as a document, by every analyser: no panic; what is read is found again; a sample is counted and compared.
#![no_main]

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use discern_core::counting::shard::Shard;
use discern_core::counting::drain::drain;
use discern_core::text::lexicon::Lexicon;
use discern_core::text::reader::{Fixed, Growing, Reader};
use discern_core::text::tokenizer::{Analyzer, Script, Text};
use discern_core::text::characters::PythonTables;
use libfuzzer_sys::fuzz_target;
use waken_snowball::Algorithm;

/// A lexicon serves many inputs: it is begun anew before it gets slow.
const MOST_TERMS: usize = 4096;
/// One input in so many is also counted.
const COUNTED: u32 = 32;

struct Setting {
    text: Arc<Text>,
    lexicon: Lexicon,
    reader: Reader,
}

impl Setting {
    fn new(text: Arc<Text>) -> Self {
        let lexicon = Lexicon::default();
        let reader = Reader::new(text.clone(), lexicon.seeds());
        Setting { text, lexicon, reader }
    }

    /// The numbers of a document's terms, in the order in which they are read.
    fn read(&mut self, document: &[u8]) -> Vec<u32> {
        let mut found = Vec::new();
        self.reader.read(document, &mut Growing(&mut self.lexicon), &mut |numbers, limit| {
            assert!(numbers.iter().all(|&number| (number as usize) < limit));
            found.extend_from_slice(numbers);
        });
        found
    }

    fn find(&mut self, document: &[u8]) -> Vec<u32> {
        let mut found = Vec::new();
        self.reader.read(document, &mut Fixed(&self.lexicon), &mut |numbers, _| found.extend_from_slice(numbers));
        found
    }

    /// How often each term was read.
    fn tally(&self, numbers: &[u32]) -> BTreeMap<Vec<u8>, i64> {
        let mut tally = BTreeMap::new();
        for &number in numbers {
            let mut name = Vec::new();
            self.lexicon.write_name(number, &mut name);
            *tally.entry(name).or_default() += 1;
        }
        tally
    }
}

fn texts() -> Vec<Arc<Text>> {
    let words = |shortest| Analyzer::Words { shortest };
    // Latin and Greek letters, so that the end of a word is looked for behind a capital sigma.
    let letters = [(0x30, 0x3a), (0x41, 0x5b), (0x61, 0x7b), (0xc0, 0x100), (0x370, 0x400)];
    let lower = [(0xc0, 0xe0), (0xc9, 0xe9), (0x391, 0x3b1), (0x3a3, 0x3c3)];
    let python = || Script::Python(PythonTables::new(&letters, &lower, &letters[1..], &[(0x27, 0x28)]));
    let pattern = Analyzer::Pattern(regex::bytes::Regex::new(r"\w+ ?\w").unwrap());
    let plain = |analyzer, script, lowercase, (shortest_gram, longest_gram), stops: bool, stemmer| {
        let stop_words = if stops { HashSet::from([b"the".to_vec(), b"a".to_vec()]) } else { HashSet::new() };
        Arc::new(Text { analyzer, script, lowercase, shortest_gram, longest_gram, stop_words, stemmer, symbols: false })
    };
    vec![
        plain(words(1), Script::World, true, (1, 1), false, None),
        plain(words(2), Script::World, false, (1, 1), true, None),
        plain(words(2), Script::World, true, (1, 3), false, None),
        plain(words(1), Script::World, true, (2, 2), true, Some(Algorithm::English)),
        plain(words(2), python(), true, (1, 1), false, None),
        plain(words(1), python(), true, (1, 2), true, None),
        plain(Analyzer::Characters, Script::World, true, (1, 3), false, None),
        plain(Analyzer::Characters, Script::World, false, (2, 5), false, None),
        plain(Analyzer::CharactersInWords, Script::World, true, (2, 4), false, None),
        plain(Analyzer::CharactersInWords, python(), false, (1, 1), false, None),
        plain(pattern, Script::World, true, (1, 2), true, None),
    ]
}

thread_local! {
    static SETTINGS: RefCell<Vec<Setting>> = RefCell::new(texts().into_iter().map(Setting::new).collect());
}

fn is_drawn(data: &[u8]) -> bool {
    data.iter().fold(0u32, |sum, &byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % COUNTED == 0
}

/// The counts of a shard are those of the terms that were read.
fn count(setting: &Setting, document: &[u8], numbers: &[u32]) {
    let mut shard = Shard::new(&setting.text, 1, 0);
    shard.count(&[document], 0);
    let (drained, _) = drain::<i64>(vec![shard]);
    let spans = drained.offsets.windows(2);
    let terms = spans.map(|span| drained.bytes[span[0] as usize..span[1] as usize].to_vec());
    let counted: BTreeMap<Vec<u8>, i64> = terms.zip(drained.occurrences.iter().copied()).collect();
    assert_eq!(counted, setting.tally(numbers));
    assert!(drained.offsets.is_sorted() && drained.documents.iter().all(|&documents| documents == 1));
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, document)) = data.split_first() else { return };
    SETTINGS.with_borrow_mut(|settings| {
        let place = first as usize % settings.len();
        let setting = &mut settings[place];
        if setting.lexicon.len() > MOST_TERMS {
            *setting = Setting::new(setting.text.clone());
        }
        let numbers = setting.read(document);
        assert_eq!(setting.find(document), numbers);
        if is_drawn(data) {
            count(setting, document, &numbers);
        }
    });
});
