//! Products of the columns of a table by two, and their squares.

use crate::system::cancel::checkpoints;
use crate::system::vector::vectorized;

/// The number of columns made of `n_columns`: themselves, their products and their squares.
pub fn quadratic_columns(n_columns: usize, products: bool, squares: bool) -> Option<usize> {
    let pairs = n_columns.checked_mul(n_columns.saturating_sub(1))? / 2;
    let more = if squares { n_columns } else { 0 };
    n_columns
        .checked_add(if products { pairs } else { 0 })?
        .checked_add(more)
}

/// Write for each row its numbers, their products x_i·x_j with i < j in order, and their squares to `target`.
pub fn expand(rows: &[f64], n_columns: usize, products: bool, squares: bool, target: &mut [f64]) {
    let Some(made) = quadratic_columns(n_columns, products, squares).filter(|&made| made > 0) else {
        return;
    };
    vectorized(
        #[inline(always)]
        || {
            for (row, target) in rows.chunks_exact(n_columns).zip(target.chunks_exact_mut(made)) {
                checkpoints(1 + made / 64);
                let (own, mut rest) = target.split_at_mut(n_columns);
                own.copy_from_slice(row);
                for first in 0..if products { n_columns } else { 0 } {
                    let (part, behind) = rest.split_at_mut(n_columns - 1 - first);
                    multiply(row[first], &row[first + 1..], part);
                    rest = behind;
                }
                for (square, number) in rest.iter_mut().zip(row) {
                    *square = number * number;
                }
            }
        },
    );
}

#[inline(always)]
fn multiply(factor: f64, numbers: &[f64], target: &mut [f64]) {
    for (product, number) in target.iter_mut().zip(numbers) {
        *product = factor * number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_before_products_and_squares() {
        let rows = [2.0, 3.0, 5.0, -1.0, 0.5, 4.0];
        let mut found = [0.0; 18];
        expand(&rows, 3, true, true, &mut found);
        assert_eq!(found[..9], [2.0, 3.0, 5.0, 6.0, 10.0, 15.0, 4.0, 9.0, 25.0]);
        assert_eq!(found[9..], [-1.0, 0.5, 4.0, -0.5, -4.0, 2.0, 1.0, 0.25, 16.0]);
        let mut found = [0.0; 6];
        expand(&rows[..3], 3, false, true, &mut found);
        assert_eq!(found, [2.0, 3.0, 5.0, 4.0, 9.0, 25.0]);
        let mut found = [0.0; 6];
        expand(&rows[..3], 3, true, false, &mut found);
        assert_eq!(found, [2.0, 3.0, 5.0, 6.0, 10.0, 15.0]);
        let mut found = [0.0; 2];
        expand(&[3.0], 1, true, true, &mut found);
        assert_eq!(found, [3.0, 9.0]);
    }
}
