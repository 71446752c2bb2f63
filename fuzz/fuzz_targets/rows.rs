//! Any three arrays as a sparse matrix: refused, or every row can be read and every neighbour found.
#![no_main]

use discern_core::folds;
use discern_core::neighbours::{Inverted, Sparse};
use discern_core::vectors::Vectors;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<i8>, Vec<i8>, Vec<f64>, u8, bool)| {
    let (starts, columns, values, width, mends) = input;
    let width = usize::from(width);
    let mut starts: Vec<i64> = starts.iter().map(|&start| i64::from(start)).collect();
    let mut columns: Vec<i32> = columns.iter().map(|&column| i32::from(column)).collect();
    columns.resize(values.len(), 0);
    if mends {
        // Nearly right: so that what lies behind the checks is reached.
        starts.iter_mut().for_each(|start| *start = (*start).clamp(0, values.len() as i64));
        starts.sort_unstable();
        starts.insert(0, 0);
        starts.push(values.len() as i64);
    }
    if let Some(table) = Vectors::sparse(&starts, &columns, &values, width) {
        let weights = vec![1.0; table.width()];
        for row in 0..table.rows() {
            let _ = table.row(row).dot(&weights) + table.row(row).squared_norm();
        }
    }
    if let Some(rows) = Sparse::new(&starts, &columns, &values, width) {
        let _ = Inverted::new(rows, width);
    }
    // Counts of one to eight, so that most are taken; as they are, so that some are refused.
    let few = values.iter().map(|&value| 1 + (value.to_bits() % 8) as i64).collect();
    let any = values.iter().map(|&value| value as i64).collect();
    for counts in [few, any] as [Vec<i64>; 2] {
        let Some(rows) = folds::Rows::new(&starts, &columns, &counts, width) else { continue };
        let classes: Vec<u32> = (0..rows.len()).map(|row| row as u32 % 3).collect();
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&row| classes[row]);
        // By the table or, as if there were very many classes, by the rows: the same sums.
        let narrow = folds::Entries::of(&rows, &classes, 3, &order);
        let wide = folds::Entries::of(&rows, &classes, usize::MAX, &order);
        assert_eq!(narrow.starts, wide.starts);
        assert_eq!(narrow.classes, wide.classes);
        assert_eq!(narrow.occurrences, wide.occurrences);
        assert_eq!(narrow.documents, wide.documents);
        let total: u64 = narrow.occurrences.iter().map(|&count| u64::from(count)).sum();
        assert_eq!(total, counts.iter().sum::<i64>() as u64);
    }
});
