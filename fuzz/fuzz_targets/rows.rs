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
    let counts: Vec<i64> = values.iter().map(|&value| value as i64).collect();
    if let Some(rows) = folds::Rows::new(&starts, &columns, &counts, width) {
        let order: Vec<usize> = (0..rows.len()).collect();
        let _ = folds::Entries::of(&rows, &vec![0; rows.len()], width, &order);
    }
});
