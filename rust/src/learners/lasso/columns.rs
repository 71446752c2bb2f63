//! The columns of a table, dense or sparse, and one of ones.

/// The columns of a table; that after the last holds the number 1 in each row.
#[derive(Clone, Copy)]
pub enum Columns<'a> {
    Dense {
        values: &'a [f64],
        rows: usize,
        count: usize,
    },
    Sparse {
        starts: &'a [i64],
        places: &'a [i32],
        values: &'a [f64],
        rows: usize,
    },
}

impl<'a> Columns<'a> {
    /// Take columns that follow each other; `None` if their size is not rows × count.
    pub fn dense(values: &'a [f64], rows: usize, count: usize) -> Option<Self> {
        (rows.checked_mul(count) == Some(values.len())).then_some(Columns::Dense { values, rows, count })
    }

    /// Take compressed sparse columns; `None` if they do not fit together.
    pub fn sparse(starts: &'a [i64], places: &'a [i32], values: &'a [f64], rows: usize) -> Option<Self> {
        let (first, last) = (*starts.first()?, *starts.last()?);
        let ordered = first == 0 && last == places.len() as i64 && places.len() == values.len() && starts.is_sorted();
        let largest = places.iter().fold(0, |most, &place| most.max(place as u32));
        let within = places.is_empty() || (largest as usize) < rows.min(1 << 31);
        (ordered && within).then_some(Columns::Sparse {
            starts,
            places,
            values,
            rows,
        })
    }

    pub fn rows(&self) -> usize {
        match self {
            Columns::Dense { rows, .. } | Columns::Sparse { rows, .. } => *rows,
        }
    }

    pub fn count(&self) -> usize {
        match self {
            Columns::Dense { count, .. } => *count,
            Columns::Sparse { starts, .. } => starts.len() - 1,
        }
    }

    /// How many numbers a column holds.
    pub(super) fn size(&self, column: usize) -> usize {
        match self {
            Columns::Sparse { starts, .. } if column < self.count() => (starts[column + 1] - starts[column]) as usize,
            _ => self.rows(),
        }
    }

    /// Call with the row and the number of each number of a column.
    #[inline(always)]
    pub(super) fn each(&self, column: usize, mut visit: impl FnMut(usize, f64)) {
        match *self {
            _ if column == self.count() => (0..self.rows()).for_each(|row| visit(row, 1.0)),
            Columns::Dense { values, rows, .. } => {
                let own = &values[column * rows..][..rows];
                own.iter().enumerate().for_each(|(row, &x)| visit(row, x));
            }
            Columns::Sparse {
                starts, places, values, ..
            } => {
                let range = starts[column] as usize..starts[column + 1] as usize;
                let pairs = places[range.clone()].iter().zip(&values[range]);
                pairs.for_each(|(&row, &x)| visit(row as usize, x));
            }
        }
    }

    /// Σ xᵢ aᵢ of a column.
    #[inline(always)]
    pub(super) fn product(&self, column: usize, a: &[f64]) -> f64 {
        match *self {
            Columns::Dense { values, rows, .. } if column < self.count() => {
                let own = &values[column * rows..][..rows];
                summed(own.iter().zip(a).map(|(x, a)| x * a))
            }
            Columns::Sparse {
                starts, places, values, ..
            } if column < self.count() => {
                let range = starts[column] as usize..starts[column + 1] as usize;
                let pairs = places[range.clone()].iter().zip(&values[range]);
                summed(pairs.map(|(&row, x)| x * a[row as usize]))
            }
            _ => summed(a.iter().copied()),
        }
    }

    /// The rows that a column has numbers of; `None` if it is dense.
    pub(super) fn places(&self, column: usize) -> Option<&'a [i32]> {
        match *self {
            Columns::Sparse { starts, places, .. } if column < self.count() => {
                Some(&places[starts[column] as usize..starts[column + 1] as usize])
            }
            _ => None,
        }
    }

    /// Σ xᵢ aᵢ and Σ xᵢ² bᵢ of a column.
    #[inline(always)]
    pub(super) fn moments(&self, column: usize, a: &[f64], b: &[f64]) -> (f64, f64) {
        if let Columns::Dense { values, rows, .. } = *self
            && column < self.count()
        {
            let own = &values[column * rows..][..rows];
            let square = summed(own.iter().zip(b).map(|(x, b)| x * x * b));
            return (summed(own.iter().zip(a).map(|(x, a)| x * a)), square);
        }
        let (mut sum, mut square) = (0.0, 0.0);
        self.each(column, |row, x| {
            sum += x * a[row];
            square += x * x * b[row];
        });
        (sum, square)
    }

    /// Write factor · xᵢ aᵢ of a column.
    #[inline(always)]
    pub(super) fn scale_into(&self, column: usize, factor: f64, a: &[f64], out: &mut [f32]) {
        let mut out = out.iter_mut();
        self.each(column, |row, x| {
            if let Some(out) = out.next() {
                *out = (factor * x * a[row]) as f32;
            }
        });
    }

    /// Add factor · xᵢ aᵢ bᵢ of a column to numbers of the rows; without b, factor · xᵢ aᵢ.
    #[inline(always)]
    pub(super) fn add_to(&self, column: usize, factor: f64, a: &[f64], b: Option<&[f64]>, sums: &mut [f64]) {
        match (*self, b) {
            (Columns::Dense { values, rows, .. }, Some(b)) if column < self.count() => {
                let numbers = values[column * rows..][..rows].iter().zip(a).zip(b);
                let pairs = sums.iter_mut().zip(numbers);
                pairs.for_each(|(sum, ((x, a), b))| *sum += factor * x * a * b);
            }
            (Columns::Dense { values, rows, .. }, None) if column < self.count() => {
                let numbers = values[column * rows..][..rows].iter().zip(a);
                sums.iter_mut()
                    .zip(numbers)
                    .for_each(|(sum, (x, a))| *sum += factor * x * a);
            }
            _ => self.each(column, |row, x| {
                sums[row] += factor * x * a[row] * b.map_or(1.0, |b| b[row]);
            }),
        }
    }
}

/// Sum numbers in four lanes: a single sum would wait for each addition.
#[inline(always)]
fn summed(mut numbers: impl ExactSizeIterator<Item = f64>) -> f64 {
    let mut sums = [0.0; 4];
    for _ in 0..numbers.len() / 4 {
        for sum in &mut sums {
            *sum += numbers.next().unwrap_or_default();
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + numbers.sum::<f64>()
}
