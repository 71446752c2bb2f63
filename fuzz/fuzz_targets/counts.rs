//! Documents of several classes: counted in one shard or in three, by dense or sparse tallies, the sums are the same.
#![no_main]

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use discern_core::counts::{Drained, Shard, drain, merge_terms};
use discern_core::text::{Analyzer, Script, Text};
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
    })
});

fn counted(documents: &[&[u8]], shards: usize, classes: usize) -> Drained {
    let mut all: Vec<Shard> = (0..shards).map(|_| Shard::new(&TEXT, classes, 0)).collect();
    for (index, document) in documents.iter().enumerate() {
        let class = document.first().map_or(0, |&byte| u32::from(byte % 3));
        all[index % shards].count(&[document], class);
    }
    drain(all)
}

fuzz_target!(|data: &[u8]| {
    let documents: Vec<&[u8]> = data.split(|&byte| byte == b'\n').collect();
    let one = counted(&documents, 1, 3);
    for other in [counted(&documents, 3, 3), counted(&documents, 2, 1000)] {
        assert_eq!(one.bytes, other.bytes);
        assert_eq!(one.offsets, other.offsets);
        assert_eq!(one.entry_classes, other.entry_classes);
        assert_eq!(one.occurrences, other.occurrences);
        assert_eq!(one.documents, other.documents);
    }
    let spans = one.offsets.windows(2);
    let terms: Vec<&[u8]> = spans.map(|span| &one.bytes[span[0] as usize..span[1] as usize]).collect();
    assert!(terms.is_sorted_by(|left, right| left < right));
    let (bytes, offsets, _) = merge_terms(&[terms.clone(), terms]);
    assert_eq!((bytes, offsets), (one.bytes, one.offsets));
});
