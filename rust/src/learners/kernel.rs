//! Kernels of rows: one row against many at once, and the decision values of machines built on them.
//!
//! The many rows are laid out for it: dense rows sixteen side by side, column by column; sparse rows as lists of rows
//! by column, so that rows without a common column cost nothing.

use crate::system::vector::{Kernel as Loops, dispatch};
use crate::tables::posterior::exp_below_zero;
use crate::tables::vectors::{Vector, Vectors};

/// Dense rows multiplied side by side.
const ABREAST: usize = 16;
/// Dense rows for which the points are read once; see [`Points::against_batch`].
pub const BATCH: usize = 4;
/// Kernel values are padded to a multiple of this, so that loops over them have no remainder.
pub const LANES: usize = 8;

/// κ(x, z).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kernel {
    /// x·z
    Linear,
    /// (γ x·z + c)^d
    Polynomial { gamma: f64, offset: f64, degree: i32 },
    /// exp(−γ‖x−z‖²)
    Gaussian { gamma: f64 },
    /// tanh(γ x·z + c)
    Sigmoid { gamma: f64, offset: f64 },
    /// The rows hold the values themselves: x\[z\].
    Given,
}

/// Converts x·z to κ(x, z), for the row with squared norm `own` and those with `norms`.
struct Apply<'a> {
    kernel: Kernel,
    products: &'a mut [f64],
    own: f64,
    norms: &'a [f64],
}

impl Loops for Apply<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (own, products) = (self.own, self.products);
        match self.kernel {
            Kernel::Linear | Kernel::Given => {}
            Kernel::Polynomial { gamma, offset, degree } => products
                .iter_mut()
                .for_each(|value| *value = (gamma * *value + offset).powi(degree)),
            Kernel::Gaussian { gamma } => {
                for (value, norm) in products.iter_mut().zip(self.norms) {
                    let distance = own + norm - 2.0 * *value;
                    *value = exp_below_zero(-gamma * if distance > 0.0 { distance } else { 0.0 });
                }
            }
            Kernel::Sigmoid { gamma, offset } => products
                .iter_mut()
                .for_each(|value| *value = (gamma * *value + offset).tanh()),
        }
    }
}

/// Rows of a table laid out to be multiplied with one row at a time.
pub struct Points {
    layout: Layout,
    norms: Vec<f64>,
    count: usize,
    n_columns: usize,
}

enum Layout {
    /// Blocks of rows; in a block the numbers of one column are contiguous.
    Dense(Vec<f64>),
    /// For each column, the rows that have it and their numbers.
    Sparse {
        starts: Vec<usize>,
        rows: Vec<u32>,
        values: Vec<f64>,
    },
    /// Columns of given kernel values.
    Given(Vec<u32>),
}

impl Points {
    /// Lay out the `chosen` rows. With given kernel values, `chosen` are columns of the rows that come later.
    pub fn new(rows: &Vectors<'_>, chosen: &[u32], kernel: Kernel) -> Points {
        let layout = match rows {
            _ if kernel == Kernel::Given => Layout::Given(chosen.to_vec()),
            Vectors::Dense { n_columns, .. } => Layout::Dense(abreast(rows, chosen, *n_columns)),
            Vectors::Sparse { n_columns, .. } => by_column(rows, chosen, *n_columns),
        };
        let norms = match kernel {
            Kernel::Gaussian { .. } => chosen
                .iter()
                .map(|&row| rows.row(row as usize).squared_norm())
                .collect(),
            _ => Vec::new(),
        };
        Points {
            layout,
            norms,
            count: chosen.len(),
            n_columns: rows.n_columns(),
        }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// Return the size of the layout in bytes.
    pub fn bytes(&self) -> usize {
        let layout = match &self.layout {
            Layout::Dense(values) => size_of_val(&values[..]),
            Layout::Sparse { starts, rows, values } => {
                size_of_val(&starts[..]) + size_of_val(&rows[..]) + size_of_val(&values[..])
            }
            Layout::Given(columns) => size_of_val(&columns[..]),
        };
        layout + size_of_val(&self.norms[..])
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Write κ(row, point) for every point to `values`, padded with zeros to a multiple of [`LANES`].
    ///
    /// The row must be as wide as the points, and of their kind: dense or sparse.
    pub fn against(&self, row: Vector<'_>, kernel: Kernel, values: &mut Vec<f64>) {
        values.clear();
        values.resize(self.count.next_multiple_of(ABREAST), 0.0);
        let own = match kernel {
            Kernel::Gaussian { .. } => row.squared_norm(),
            _ => 0.0,
        };
        match (&self.layout, row) {
            (Layout::Dense(blocks), Vector::Dense(row)) => dispatch(Multiply {
                blocks,
                row,
                products: values,
            }),
            (
                Layout::Sparse {
                    starts,
                    rows,
                    values: numbers,
                },
                row,
            ) => row.each(|column, value| {
                let range = starts[column]..starts[column + 1];
                for (&place, number) in rows[range.clone()].iter().zip(&numbers[range]) {
                    values[place as usize] += value * number;
                }
            }),
            (Layout::Given(columns), Vector::Dense(row)) => {
                for (value, &column) in values.iter_mut().zip(columns) {
                    *value = row[column as usize];
                }
            }
            // The caller passes only rows of one kind.
            (_, Vector::Sparse(..)) => {}
        }
        dispatch(Apply {
            kernel,
            products: &mut values[..self.count],
            own,
            norms: &self.norms,
        });
        values.truncate(self.count.next_multiple_of(LANES));
    }

    /// Return whether several rows at a time are faster than one after the other: where the points are many numbers, to
    /// read them takes longer than to multiply them.
    pub fn gains_by_batches(&self) -> bool {
        const MANY_COLUMNS: usize = 48;
        matches!(self.layout, Layout::Dense(_)) && self.n_columns >= MANY_COLUMNS && self.count >= 8 * BATCH
    }

    /// Do what [`Points::against`] does for several dense rows, with the same results, reading the points only once.
    pub fn against_batch(&self, rows: [Vector<'_>; BATCH], kernel: Kernel, values: &mut [Vec<f64>; BATCH]) {
        let (Layout::Dense(blocks), [Vector::Dense(a), Vector::Dense(b), Vector::Dense(c), Vector::Dense(d)]) =
            (&self.layout, rows)
        else {
            let singles = rows.into_iter().zip(values);
            singles.for_each(|(row, values)| self.against(row, kernel, values));
            return;
        };
        for values in values.iter_mut() {
            values.clear();
            values.resize(self.count.next_multiple_of(ABREAST), 0.0);
        }
        dispatch(MultiplyBatch {
            blocks,
            rows: [a, b, c, d],
            products: values,
        });
        for (row, values) in rows.into_iter().zip(values) {
            let own = match kernel {
                Kernel::Gaussian { .. } => row.squared_norm(),
                _ => 0.0,
            };
            dispatch(Apply {
                kernel,
                products: &mut values[..self.count],
                own,
                norms: &self.norms,
            });
            values.truncate(self.count.next_multiple_of(LANES));
        }
    }

    pub fn n_columns(&self) -> usize {
        self.n_columns
    }
}

fn abreast(rows: &Vectors<'_>, chosen: &[u32], n_columns: usize) -> Vec<f64> {
    let mut blocks = vec![0.0; chosen.len().div_ceil(ABREAST) * n_columns * ABREAST];
    for (place, &row) in chosen.iter().enumerate() {
        let (block, lane) = (place / ABREAST * n_columns * ABREAST, place % ABREAST);
        rows.row(row as usize)
            .each(|column, value| blocks[block + column * ABREAST + lane] = value);
    }
    blocks
}

fn by_column(rows: &Vectors<'_>, chosen: &[u32], n_columns: usize) -> Layout {
    let mut starts = vec![0usize; n_columns + 2];
    for &row in chosen {
        rows.row(row as usize).each(|column, _| starts[column + 2] += 1);
    }
    (2..starts.len()).for_each(|column| starts[column] += starts[column - 1]);
    let entries = starts[n_columns + 1];
    let (mut places, mut values) = (vec![0u32; entries], vec![0.0; entries]);
    for (place, &row) in chosen.iter().enumerate() {
        rows.row(row as usize).each(|column, value| {
            let next = &mut starts[column + 1];
            places[*next] = place as u32;
            values[*next] = value;
            *next += 1;
        });
    }
    starts.pop();
    Layout::Sparse {
        starts,
        rows: places,
        values,
    }
}

/// Computes the products of one row with every row of the blocks, each summed in the order of the columns.
struct Multiply<'a> {
    blocks: &'a [f64],
    row: &'a [f64],
    products: &'a mut [f64],
}

impl Loops for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        if self.row.is_empty() {
            return;
        }
        let (blocks, _) = self.blocks.as_chunks::<ABREAST>();
        let (products, _) = self.products.as_chunks_mut::<ABREAST>();
        for (block, products) in blocks.chunks_exact(self.row.len()).zip(products) {
            let mut sums = [0.0; ABREAST];
            for (column, &value) in block.iter().zip(self.row) {
                for lane in 0..ABREAST {
                    sums[lane] += value * column[lane];
                }
            }
            *products = sums;
        }
    }
}

/// Computes the products of several rows with every row of the blocks, each summed in the order of the columns.
struct MultiplyBatch<'a> {
    blocks: &'a [f64],
    rows: [&'a [f64]; BATCH],
    products: &'a mut [Vec<f64>; BATCH],
}

impl Loops for MultiplyBatch<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let [a, b, c, d] = self.rows;
        if a.is_empty() {
            return;
        }
        let (blocks, _) = self.blocks.as_chunks::<ABREAST>();
        for (number, block) in blocks.chunks_exact(a.len()).enumerate() {
            let mut sums = [[0.0; ABREAST]; BATCH];
            for ((((column, a), b), c), d) in block.iter().zip(a).zip(b).zip(c).zip(d) {
                for (sums, value) in sums.iter_mut().zip([a, b, c, d]) {
                    for lane in 0..ABREAST {
                        sums[lane] += value * column[lane];
                    }
                }
            }
            for (products, sums) in self.products.iter_mut().zip(&sums) {
                products[number * ABREAST..][..ABREAST].copy_from_slice(sums);
            }
        }
    }
}

/// Machines for pairs of classes on common support vectors, which are ordered by class.
///
/// For the pair (i, j), i < j, the value is Σ κ(x, s) coefficient + intercept over the support vectors s of both
/// classes: those of class i have theirs in row j−1 of `coefficients`, those of class j in row i.
pub struct Machines<'a> {
    pub support: Points,
    pub kernel: Kernel,
    pub class_starts: Vec<usize>,
    pub coefficients: &'a [f64],
    pub intercepts: &'a [f64],
}

impl Machines<'_> {
    /// Write the value of each pair for one row.
    pub fn decide(&self, row: Vector<'_>, scratch: &mut Vec<f64>, decisions: &mut [f64]) {
        self.support.against(row, self.kernel, scratch);
        let classes = self.class_starts.len() - 1;
        let mut pair = 0;
        for first in 0..classes {
            for second in first + 1..classes {
                decisions[pair] =
                    self.part(first, second - 1, scratch) + self.part(second, first, scratch) + self.intercepts[pair];
                pair += 1;
            }
        }
    }

    fn part(&self, class: usize, line: usize, values: &[f64]) -> f64 {
        let range = self.class_starts[class]..self.class_starts[class + 1];
        let count = self.support.len();
        let coefficients = &self.coefficients[line * count..(line + 1) * count];
        Vector::Dense(&values[range.clone()]).dot(&coefficients[range])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_and_sparse_points_give_the_same() {
        let table: Vec<f64> = (0..37 * 5).map(|place| ((place * 7919) % 11) as f64 - 5.0).collect();
        let (mut starts, mut columns, mut values) = (vec![0i64], vec![], vec![]);
        for row in table.chunks(5) {
            for (column, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                columns.push(column as i32);
                values.push(value);
            }
            starts.push(columns.len() as i64);
        }
        let dense = Vectors::dense(&table, 37, 5).unwrap();
        let sparse = Vectors::sparse(&starts, &columns, &values, 5).unwrap();
        let chosen: Vec<u32> = (0..37).filter(|row| row % 3 != 1).collect();
        for kernel in [
            Kernel::Linear,
            Kernel::Polynomial {
                gamma: 0.5,
                offset: 1.0,
                degree: 3,
            },
            Kernel::Gaussian { gamma: 0.1 },
            Kernel::Sigmoid {
                gamma: 0.1,
                offset: -0.2,
            },
        ] {
            let (mut ours, mut theirs) = (vec![], vec![]);
            for vectors in [&dense, &sparse] {
                let points = Points::new(vectors, &chosen, kernel);
                let mut batch = std::array::from_fn(|_| vec![]);
                points.against_batch(std::array::from_fn(|row| vectors.row(3 * row)), kernel, &mut batch);
                for (row, values) in batch.iter().enumerate() {
                    points.against(vectors.row(3 * row), kernel, &mut ours);
                    assert_eq!(&ours, values);
                }
            }
            Points::new(&dense, &chosen, kernel).against(dense.row(4), kernel, &mut ours);
            Points::new(&sparse, &chosen, kernel).against(sparse.row(4), kernel, &mut theirs);
            assert_eq!(ours, theirs);
            let expected: f64 = (0..5).map(|column| table[20 + column] * table[15 + column]).sum();
            let products = Kernel::Linear;
            Points::new(&dense, &[3], products).against(dense.row(4), products, &mut ours);
            assert_eq!(ours, [expected, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        }
    }
}
