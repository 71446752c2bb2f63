//! Documents of several classes: in order and whole; of a sample, the sums are the same whether counted in one shard or in
//! three, by dense or sparse tallies.
#![no_main]

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use discern_core::counting::drain::{Drained, drain};
use discern_core::counting::merge::merge_terms;
use discern_core::counting::shard::Shard;
use discern_core::text::tokenizer::{Analyzer, Script, Text};
use libfuzzer_sys::fuzz_target;

static TEXT: LazyLock<Arc<Text>> = LazyLock::new(|| {
    Arc::new(Text {
        analyzer: Analyzer::Words { shortest: 1 },
        script: Script::World,
        lowercase: true,
        shortest_gram: 1,
        longest_gram: 2,
        stop_words: HashSet::new(),
        stemmer: None,
        symbols: false,
    })
});

/// One input in so many is counted in every way.
const COMPARED: u32 = 8;

fn is_drawn(data: &[u8]) -> bool {
    data.iter().fold(0u32, |sum, &byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % COMPARED == 0
}

fn counted(documents: &[&[u8]], shards: usize, classes: usize) -> Drained {
    let mut all: Vec<Shard> = (0..shards).map(|_| Shard::new(&TEXT, classes, 0)).collect();
    for (index, document) in documents.iter().enumerate() {
        let class = document.first().map_or(0, |&byte| u32::from(byte % 3));
        all[index % shards].count(&[document], class);
    }
    drain::<i64>(all).0
}

/// Other ways of counting, and merging the terms with themselves, give the same.
fn compare(documents: &[&[u8]], one: &Drained, terms: &[&[u8]]) {
    for other in [counted(documents, 3, 3), counted(documents, 2, 1000)] {
        assert_eq!(one.bytes, other.bytes);
        assert_eq!(one.offsets, other.offsets);
        assert_eq!(one.entry_classes, other.entry_classes);
        assert_eq!(one.occurrences, other.occurrences);
        assert_eq!(one.documents, other.documents);
    }
    let (bytes, offsets, _) = merge_terms(&[terms.to_vec(), terms.to_vec()]);
    assert_eq!((bytes, offsets), (one.bytes.clone(), one.offsets.clone()));
}

fuzz_target!(|data: &[u8]| {
    let documents: Vec<&[u8]> = data.split(|&byte| byte == b'\n').collect();
    let one = counted(&documents, 1, 3);
    let spans = one.offsets.windows(2);
    let terms: Vec<&[u8]> = spans.map(|span| &one.bytes[span[0] as usize..span[1] as usize]).collect();
    assert!(terms.is_sorted_by(|left, right| left < right));
    assert_eq!(one.entry_terms.len(), one.occurrences.len());
    assert!(one.documents.iter().zip(&one.occurrences).all(|(few, many)| 0 < *few && few <= many));
    assert!(one.documents.iter().all(|&some| some as usize <= documents.len()));
    if is_drawn(data) {
        compare(&documents, &one, &terms);
    }
});
