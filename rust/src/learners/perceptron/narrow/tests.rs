use super::*;
use crate::learners::margin::Random;

const ROWS: usize = 600;

/// Starts, columns and numbers of sparse rows with more columns than fit 16 bits.
fn rows(width: usize) -> (Vec<i64>, Vec<i32>, Vec<f64>) {
    let (mut random, mut starts) = (Random(7), vec![0]);
    let (mut columns, mut values) = (vec![], vec![]);
    for row in 0..ROWS {
        for place in 0..row {
            columns.push((random.below(width / ROWS) * ROWS + place) as i32);
            values.push(random.below(2001) as f64 / 1000.0 - 1.0);
        }
        starts.push(columns.len() as i64);
    }
    (starts, columns, values)
}

fn copied(table: &Vectors<'_>, rows: &[u32], presence: bool) -> Narrow {
    let mut sample = Sample::new(table);
    (0..table.rows()).for_each(|row| sample.see(row, table.row(row)));
    Narrow::new(table, rows, presence, sample).unwrap()
}

#[test]
fn repeated_columns_and_zeros_are_found_in_any_row() {
    for count in [1, 7, 65_534, 65_535, 65_536, 70_000] {
        let starts: Vec<i64> = (0..=count).map(|row| row * 2).chain([count * 2 + 3]).collect();
        let shown: Vec<u32> = (0..=count as u32).collect();
        for (last, value) in [([0, 2, 1], 0.0), ([0, 1, 0], 1.0)] {
            let columns: Vec<i32> = (0..count).flat_map(|_| [1, 0]).chain(last).collect();
            let mut values = vec![1.0; columns.len()];
            *values.last_mut().unwrap() = value;
            let table = Vectors::unsorted(&starts, &columns, &values, 3).unwrap();
            let copy = copied(&table, &shown, false);
            assert_eq!(
                (copy.repeats, copy.has_zeros),
                (last[0] == last[2], value == 0.0),
                "{count}"
            );
        }
    }
}

#[test]
fn columns_and_weights_come_back() {
    let (starts, columns, values) = rows(200_000);
    let table = Vectors::unsorted(&starts, &columns, &values, 200_000).unwrap();
    let shown: Vec<u32> = (0..ROWS as u32).rev().collect();
    let copy = copied(&table, &shown, true);
    assert!(!copy.rares.is_empty());
    let every: Vec<f64> = (0..200_000).map(f64::from).collect();
    let picked = copy.picked(&every);
    for (place, &row) in shown.iter().enumerate() {
        let (mut found, mut given) = (vec![], vec![]);
        copy.each(place, |column, units| found.push((picked[column], units != 0)));
        table
            .row(row as usize)
            .each(|column, value| given.push((column as f64, value != 0.0)));
        assert_eq!(found, given);
    }
    let mut back = vec![-1.0; 200_000];
    copy.put_back(&picked, &mut back);
    assert!(columns.iter().all(|&column| back[column as usize] == f64::from(column)));
}

#[test]
fn what_is_sure_is_so() {
    let (starts, columns, values) = rows(200_000);
    for scale in [1e-200, 1e-30, 1.0, 1e20, 1e200] {
        let values: Vec<f64> = values.iter().map(|value| value * scale).collect();
        let table = Vectors::unsorted(&starts, &columns, &values, 200_000).unwrap();
        let shown: Vec<u32> = (0..ROWS as u32).collect();
        let copy = copied(&table, &shown, false);
        let mut random = Random(3);
        let weights: Vec<f64> = copy
            .names
            .iter()
            .map(|_| random.below(2001) as f64 / 1e3 - 1.0)
            .collect();
        let length = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
        let light = Light::new(&copy, &weights, length);
        let mut sure = 0;
        for row in 0..ROWS {
            let Vector::Sparse(_, values) = table.row(row) else {
                continue;
            };
            let (mut product, mut place) = (0.0, 0);
            copy.each(row, |column, _| {
                product += weights[column] * values[place];
                place += 1;
            });
            for sign in [-1.0, 1.0] {
                // Whatever share of the product the bias leaves.
                for share in [0.0, -0.5, -0.99, -0.999_999, -1.0, -1.000_001, -1.1] {
                    let is_right = sign * (product + share * product) > 0.0;
                    let surely = copy.surely(row, sign, &light, &weights, share * product);
                    assert!(surely.is_none_or(|surely| surely == is_right));
                    sure += usize::from(surely == Some(true));
                }
            }
        }
        assert_eq!(sure > 500, (1e-10..1e30).contains(&scale), "{scale}");
    }
}
