//! Any bytes as CSV: no panic, whole columns, and the same rows whether it comes in one block or in two.
#![no_main]

use discern_core::text::csv::Dialect;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&first, block)) = data.split_first() else { return };
    let dialect = Dialect { delimiter: b',', quote: (first & 1 == 0).then_some(b'"') };
    let wanted = vec![true; usize::from(first >> 1) % 4 + 1];
    for follows in [false, true] {
        let mut changed = block.to_vec();
        let parsed = dialect.parse(&mut changed, &wanted, follows);
        assert!(parsed.consumed <= block.len());
        assert!(follows || parsed.consumed == block.len());
        assert_eq!(changed[parsed.consumed..], block[parsed.consumed..]);
        for column in &parsed.columns {
            assert_eq!((column.starts.len(), column.ends.len()), (parsed.rows, parsed.rows));
            assert!(column.starts.iter().zip(&column.ends).all(|(start, end)| start <= end));
            assert!(column.ends.iter().all(|&end| end as usize <= parsed.consumed));
            let _ = column.first_invalid(&changed);
        }
    }
});
