//! Any three arrays as a sparse matrix: refused, or every row can be read and every neighbor found.
#![no_main]

use std::collections::BTreeMap;

use discern_core::counting::folds;
use discern_core::learners::neighbors::{Inverted, Sparse};
use discern_core::tables::vectors::Vectors;
use libfuzzer_sys::fuzz_target;

/// Occurrences and documents by term and class.
type Sums = BTreeMap<(usize, u32), (u64, u64)>;

fn sums(entries: &folds::Entries, n_columns: usize) -> Sums {
    let of_term = |term: usize| (entries.starts[term]..entries.starts[term + 1]).map(move |place| (term, place));
    let cell = |place: usize| (u64::from(entries.occurrences[place]), u64::from(entries.documents[place]));
    let listed = (0..n_columns).flat_map(of_term);
    listed.map(|(term, place)| ((term, entries.classes[place]), cell(place))).collect()
}

/// The same, count by count.
fn plain_sums(starts: &[i64], columns: &[i32], counts: &[i64], classes: &[u32]) -> Sums {
    let mut sums = Sums::new();
    for (row, &class) in classes.iter().enumerate() {
        for place in starts[row] as usize..starts[row + 1] as usize {
            let cell = sums.entry((columns[place] as usize, class)).or_default();
            *cell = (cell.0 + counts[place] as u64, cell.1 + 1);
        }
    }
    sums
}

fuzz_target!(|input: (Vec<i8>, Vec<i8>, Vec<f64>, u8, bool)| {
    let (starts, columns, values, n_columns, mends) = input;
    let n_columns = usize::from(n_columns);
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
    if let Some(table) = Vectors::sparse(&starts, &columns, &values, n_columns) {
        let weights = vec![1.0; table.n_columns()];
        for row in 0..table.rows() {
            let _ = table.row(row).dot(&weights) + table.row(row).squared_norm();
        }
    }
    if let Some(rows) = Sparse::new(&starts, &columns, &values, n_columns) {
        let _ = Inverted::new(rows, n_columns);
    }
    // Counts of one to eight, so that most are taken; as they are, so that some are refused.
    let few = values.iter().map(|&value| 1 + (value.to_bits() % 8) as i64).collect();
    let any = values.iter().map(|&value| value as i64).collect();
    for counts in [few, any] as [Vec<i64>; 2] {
        let Some(rows) = folds::Rows::new(&starts, &columns, &counts, n_columns) else { continue };
        let classes: Vec<u32> = (0..rows.len()).map(|row| row as u32 % 3).collect();
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&row| classes[row]);
        let entries = folds::Entries::of(&rows, &classes, n_columns, &order);
        assert_eq!(sums(&entries, n_columns), plain_sums(&starts, &columns, &counts, &classes));
    }
});
