//! Any bytes as CSV: no panic, whole columns, and the same rows whether it comes in one block or in two.
#![no_main]

use discern_core::csv::Dialect;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&first, block)) = data.split_first() else { return };
    let dialect = Dialect { delimiter: b',', quote: (first & 1 == 0).then_some(b'"') };
    let wanted = vec![true; usize::from(first >> 1) % 4 + 1];
    for follows in [false, true] {
        let parsed = dialect.parse(block, &wanted, follows);
        assert!(parsed.consumed <= block.len());
        assert!(follows || parsed.consumed == block.len());
        for column in &parsed.columns {
            assert_eq!(column.offsets.len(), parsed.rows + 1);
            assert_eq!(column.offsets.last().copied(), Some(column.bytes.len() as i64));
            let _ = column.first_invalid();
        }
    }
});
