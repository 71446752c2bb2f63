//! Logistic regression on sparse rows: coordinate descent in the dual.

/// Rows of a sparse matrix; indices are below `n_columns` and ends within the entries (checked by [`Sparse::new`]).
pub struct Sparse<'a> {
    starts: &'a [i32],
    columns: &'a [i32],
    values: &'a [f64],
    n_columns: usize,
}

impl<'a> Sparse<'a> {
    pub fn new(starts: &'a [i32], columns: &'a [i32], values: &'a [f64], n_columns: usize) -> Option<Self> {
        let sound = starts.first() == Some(&0)
            && starts.is_sorted()
            && starts.last().is_some_and(|&end| end as usize == columns.len())
            && columns.len() == values.len()
            && columns
                .iter()
                .all(|&column| column >= 0 && (column as usize) < n_columns);
        sound.then_some(Sparse {
            starts,
            columns,
            values,
            n_columns,
        })
    }

    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline(always)]
    fn row(&self, row: usize) -> (&[i32], &[f64]) {
        let range = self.starts[row] as usize..self.starts[row + 1] as usize;
        (&self.columns[range.clone()], &self.values[range])
    }

    #[inline(always)]
    fn dot(&self, row: usize, vector: &[f64]) -> f64 {
        let (columns, values) = self.row(row);
        let (mut sums, heads, tails) = ([0.0; 4], columns.chunks_exact(4), values.chunks_exact(4));
        let rest: f64 = heads
            .remainder()
            .iter()
            .zip(tails.remainder())
            .map(|(&column, value)| vector[column as usize] * value)
            .sum();
        for (columns, values) in heads.zip(tails) {
            for lane in 0..4 {
                sums[lane] += vector[columns[lane] as usize] * values[lane];
            }
        }
        (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
    }

    #[inline(always)]
    fn add_to(&self, row: usize, factor: f64, vector: &mut [f64]) {
        let (columns, values) = self.row(row);
        for (&column, value) in columns.iter().zip(values) {
            vector[column as usize] += factor * value;
        }
    }
}

/// Dual coordinate descent for logistic regression with a ridge, in linear time (Yu, Huang and Lin 2011, "Dual
/// coordinate descent methods for logistic regression and maximum entropy models").
///
/// Minimizes ½‖w‖² + Σ cost·ln(1 + e^{-y(w·x + b)}). Each row has an α in (0, cost) with w = Σ α y x; at the optimum α
/// = cost·σ(-y(w·x + b)). The change of one α is found by Newton's method in u = ln(α / (cost - α)), where the equation
/// is nearly linear. The intercept b is free: rows are centered about their mean, in which terms b hardly depends on w,
/// and b follows after each epoch by a Newton step towards Σ α y = 0. Centring costs nothing: w·(x - μ) needs only x·v,
/// where v = Σ α y x, and three numbers.
pub struct DualDescent<'a> {
    rows: &'a Sparse<'a>,
    classes: &'a [i32],
    costs: &'a [f64],
    mean: &'a [f64],
    /// x·μ and ‖x - μ‖² of each row.
    along_mean: Vec<f64>,
    squares: Vec<f64>,
    mean_square: f64,
    alphas: Vec<f64>,
    order: Vec<u32>,
    random: u64,
    /// v = Σ α y x, v·μ and Σ α y.
    vector: Vec<f64>,
    vector_mean: f64,
    balance: f64,
    intercept: f64,
    free_intercept: bool,
    violation: f64,
    /// The norm of the distance of α from its optimum, over the last epoch.
    pub lacking: f64,
}

impl<'a> DualDescent<'a> {
    pub fn new(
        rows: &'a Sparse<'a>,
        classes: &'a [i32],
        costs: &'a [f64],
        mean: &'a [f64],
        free_intercept: bool,
        seed: u64,
    ) -> Self {
        let mean_square = mean.iter().map(|value| value * value).sum::<f64>();
        let along_mean: Vec<f64> = (0..rows.rows()).map(|row| rows.dot(row, mean)).collect();
        let squares = along_mean
            .iter()
            .enumerate()
            .map(|(row, along)| {
                let own: f64 = rows.row(row).1.iter().map(|value| value * value).sum();
                (own - 2.0 * along + mean_square).max(0.0)
            })
            .collect();
        DualDescent {
            rows,
            classes,
            costs,
            mean,
            along_mean,
            squares,
            mean_square,
            alphas: vec![0.0; rows.rows()],
            order: (0..rows.rows() as u32).collect(),
            random: seed,
            vector: vec![0.0; rows.n_columns],
            vector_mean: 0.0,
            balance: 0.0,
            intercept: 0.0,
            free_intercept,
            violation: 0.0,
            lacking: f64::INFINITY,
        }
    }

    /// Begin an epoch: a new order of the rows.
    pub fn shuffle(&mut self) {
        self.violation = 0.0;
        for place in (1..self.order.len()).rev() {
            // xorshift64* is random enough for an order.
            self.random ^= self.random >> 12;
            self.random ^= self.random << 25;
            self.random ^= self.random >> 27;
            let drawn = self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
            self.order.swap(place, ((drawn * (place as u64 + 1)) >> 32) as usize);
        }
    }

    /// Visit the rows at some places of the order.
    pub fn visit(&mut self, places: std::ops::Range<usize>) {
        for place in places {
            let row = self.order[place] as usize;
            if self.costs[row] > 0.0 {
                self.visit_row(row);
            }
        }
    }

    #[inline(always)]
    fn visit_row(&mut self, row: usize) {
        let (cost, alpha) = (self.costs[row], self.alphas[row]);
        let sign = if self.classes[row] == 1 { 1.0 } else { -1.0 };
        let along = self.along_mean[row];
        let score = self.rows.dot(row, &self.vector) - self.balance * along - self.vector_mean
            + self.balance * self.mean_square;
        let margin = sign * (score + self.intercept);
        let wanted = cost / (1.0 + margin.exp());
        self.violation += (alpha - wanted) * (alpha - wanted);
        let change = best_alpha(alpha, cost, margin, self.squares[row]) - alpha;
        self.alphas[row] = alpha + change;
        let step = sign * change;
        self.rows.add_to(row, step, &mut self.vector);
        self.vector_mean += step * along;
        self.balance += step;
    }

    /// End an epoch: the intercept moves towards Σ α y = 0.
    pub fn end_epoch(&mut self) {
        self.lacking = self.violation.sqrt();
        if !self.free_intercept {
            return;
        }
        let curvature: f64 = self
            .alphas
            .iter()
            .zip(self.costs)
            .filter(|(_, cost)| **cost > 0.0)
            .map(|(alpha, cost)| alpha * (cost - alpha) / cost)
            .sum();
        if curvature > 0.0 {
            self.intercept += self.balance / curvature;
        }
    }

    /// The coefficients, the intercept last.
    pub fn coefficients(&self) -> Vec<f64> {
        let mut weights: Vec<f64> = self
            .vector
            .iter()
            .zip(self.mean)
            .map(|(value, mean)| value - self.balance * mean)
            .collect();
        let shift: f64 = weights.iter().zip(self.mean).map(|(weight, mean)| weight * mean).sum();
        weights.push(self.intercept - shift);
        weights
    }
}

/// The z in (0, cost) with square·(z - alpha) + margin + ln(z / (cost - z)) = 0.
#[inline(always)]
fn best_alpha(alpha: f64, cost: f64, margin: f64, square: f64) -> f64 {
    // In u = ln(z / (cost - z)) the left side rises with a slope from 1 to 1 + square·cost/4.
    let (mut low, mut high) = (-margin - square * (cost - alpha), -margin + square * alpha);
    let mut u = if alpha > 0.0 && alpha < cost {
        (alpha / (cost - alpha)).ln().clamp(low, high)
    } else {
        0.5 * (low + high)
    };
    let mut z = cost / (1.0 + (-u).exp());
    for _ in 0..20 {
        let value = square * (z - alpha) + margin + u;
        if value > 0.0 {
            high = u;
        } else {
            low = u;
        }
        let slope = 1.0 + square * z * (cost - z) / cost;
        let step = value / slope;
        let next = u - step;
        u = if next >= low && next <= high {
            next
        } else {
            0.5 * (low + high)
        };
        z = cost / (1.0 + (-u).exp());
        if step.abs() < 1e-3 {
            break; // the next step would be a millionth
        }
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_coordinate_is_solved() {
        for (alpha, cost, margin, square) in [(0.0, 1.0, 0.0, 1.0), (0.5, 1.0, 30.0, 1.0), (3.0, 1e3, -2.0, 50.0)] {
            let z = best_alpha(alpha, cost, margin, square);
            let left = square * (z - alpha) + margin + (z / (cost - z)).ln();
            assert!(left.abs() < 1e-4, "{left}");
        }
    }

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        assert!(Sparse::new(&[0, 1], &[2], &[1.0], 2).is_none());
        assert!(Sparse::new(&[0, 2], &[1], &[1.0], 2).is_none());
        assert!(Sparse::new(&[0, 1], &[-1], &[1.0], 2).is_none());
        assert!(Sparse::new(&[0, 1], &[1], &[1.0], 2).is_some());
    }
}
