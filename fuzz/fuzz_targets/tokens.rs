//! Any bytes as a document, by every analyser: no panic, and the terms that are found can be looked up again.
#![no_main]

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use discern_core::counts::{Shard, drain};
use discern_core::text::{Analyzer, Script, Text};
use libfuzzer_sys::fuzz_target;

static TEXTS: LazyLock<Vec<Arc<Text>>> = LazyLock::new(|| {
    let words = |shortest| Analyzer::Words { shortest };
    [(words(1), 1, 1), (words(2), 1, 3), (Analyzer::Characters, 1, 3), (Analyzer::CharactersInWords, 2, 4)]
        .into_iter()
        .flat_map(|(analyzer, shortest_gram, longest_gram)| {
            [true, false].map(|lowercase| {
                let analyzer = match analyzer {
                    Analyzer::Words { shortest } => Analyzer::Words { shortest },
                    Analyzer::Characters => Analyzer::Characters,
                    _ => Analyzer::CharactersInWords,
                };
                Arc::new(Text {
                    analyzer,
                    script: Script::World,
                    lowercase,
                    shortest_gram,
                    longest_gram,
                    stop_words: HashSet::from([b"the".to_vec()]),
                    stemmer: None,
                })
            })
        })
        .collect()
});

fuzz_target!(|data: &[u8]| {
    let Some((&first, document)) = data.split_first() else { return };
    let text = &TEXTS[first as usize % TEXTS.len()];
    let mut shard = Shard::new(text, 1, 0);
    shard.count(&[document], 0);
    let drained = drain(vec![shard]);
    assert!(drained.offsets.is_sorted());
    assert_eq!(drained.entry_terms.len(), drained.occurrences.len());
});
