//! Dual coordinate descent of many functions over the same rows at once, with the squared hinge.
//!
//! The functions differ only in which rows they take as positive. A row is read once for all of them: the weights of
//! a column lie side by side, so that their products with its number are those of a vector. With dozens of functions
//! this is several times faster than one function after the other, although no row is ever left out. Weights have 32
//! bits, which is enough for a gap of 1e-5. A function that does not reach its gap in [`MOST_PASSES`] is left to the
//! solver of one function.

use super::rows::Rows;
use super::value::Value;
use super::{Certificate, Intercept, Limits, Random, Solution};
use crate::system::cancel::Countdown;
use crate::system::vector::vectorized;

/// Functions that are solved together.
pub const LANES: usize = 16;
/// The smallest gap that weights of 32 bits reach.
pub const LEAST_TOLERANCE: f64 = 1e-5;
/// Functions that have not converged by then are solved one by one.
const MOST_PASSES: usize = 40;
/// How far a step goes, relative to the best value of one α.
const RELAXATION: f32 = 1.3;
/// How many rows ahead of its use a row is fetched.
const AHEAD: usize = 4;

type Lanes = [f32; LANES];
type Sums = [f64; LANES];

/// Some functions over the same rows: bit number k of `positive` is 1 where a row is positive for the k-th.
pub struct Together<'a, V> {
    rows: &'a Rows<V>,
    positive: &'a [u32],
    /// The cost of an error in each row, the same for all functions.
    costs: &'a [f64],
    lift: f64,
    weights: Vec<Lanes>,
    alphas: Vec<Lanes>,
    balance: Lanes,
    /// The value of the dual problem.
    value: Sums,
    countdown: Countdown,
}

/// The values of both problems, and the largest violation of the conditions of optimality.
struct Evaluation {
    primal: Sums,
    dual: Sums,
    violation: Lanes,
}

impl<'a, V: Value> Together<'a, V> {
    /// Set up the problems; the intercept must not be free, and costs be above 0 and finite.
    pub fn new(rows: &'a Rows<V>, positive: &'a [u32], costs: &'a [f64], intercept: Intercept) -> Self {
        let lift = match intercept {
            Intercept::Penalized(scale) => scale * scale,
            _ => 0.0,
        };
        Together {
            rows,
            positive,
            costs,
            lift,
            weights: vec![[0.0; LANES]; rows.n_columns],
            alphas: vec![[0.0; LANES]; rows.len()],
            balance: [0.0; LANES],
            value: [0.0; LANES],
            countdown: Countdown::default(),
        }
    }

    /// Return the solution of each of the first `count` functions; None for those that have not converged.
    pub fn solve(mut self, limits: Limits, seed: u64, count: usize) -> Vec<Option<Solution>> {
        let mut random = Random(seed);
        let mut visits: Vec<u32> = (0..self.rows.len() as u32).collect();
        let most = limits.passes.min(MOST_PASSES);
        let mut before = [f64::INFINITY; LANES];
        for passes in 1..=most {
            random.shuffle(&mut visits); // in runs, many functions would take three times as many passes
            let gaps = self.pass(&visits);
            let likely = |lane: usize| gaps[lane] * (gaps[lane] / before[lane]).min(1.0);
            let is_near = |lane: usize| likely(lane) <= limits.tolerance * (self.value[lane] + gaps[lane]).max(0.0);
            if passes == most || (passes > 1 && (0..count).all(is_near)) {
                let found = self.evaluate();
                let reached =
                    |lane: usize| found.primal[lane] - found.dual[lane] <= limits.tolerance * found.primal[lane];
                if passes == most || (0..count).all(reached) {
                    return (0..count)
                        .map(|lane| reached(lane).then(|| self.solution(lane, &found, passes)))
                        .collect();
                }
            }
            before = gaps;
        }
        (0..count).map(|_| None).collect()
    }

    /// Go once over all rows; return the gaps as seen on the way, each row's part when it was visited.
    fn pass(&mut self, visits: &[u32]) -> Sums {
        let mut gaps = [0.0; LANES];
        vectorized(
            #[inline(always)]
            || {
                for (place, &row) in visits.iter().enumerate() {
                    if let Some(&later) = visits.get(place + 3 * AHEAD) {
                        self.rows.prefetch_start(later as usize);
                    }
                    if let Some(&soon) = visits.get(place + AHEAD) {
                        self.rows.prefetch(soon as usize);
                    }
                    self.countdown.spend(4 * self.rows.size(row as usize));
                    self.improve(row as usize, &mut gaps);
                }
            },
        );
        gaps
    }

    /// Move the αᵢ of one row to their best values and a little beyond.
    #[inline(always)]
    fn improve(&mut self, row: usize, gaps: &mut Sums) {
        let found = self.rows.row(row);
        let (cost, signs) = (self.costs[row] as f32, signs(self.positive[row]));
        let (diagonal, lift) = (0.5 / cost, self.lift as f32);
        let inverse = self.rows.squares[row] as f32 + lift + diagonal;
        let step = RELAXATION / inverse;
        let (outputs, balance, mut alphas) = (found.dots(&self.weights), self.balance, self.alphas[row]);
        let (mut changes, mut parts, mut gains) = ([0.0f32; LANES], [0.0f32; LANES], [0.0f32; LANES]);
        for lane in 0..LANES {
            let alpha = alphas[lane];
            let slack = 1.0 - signs[lane] * (outputs[lane] + lift * balance[lane]);
            let (above, gradient) = (slack.max(0.0), diagonal * alpha - slack);
            let better = (alpha - gradient * step).max(0.0);
            let change = better - alpha;
            parts[lane] = cost * above * above + 0.5 * diagonal * alpha * alpha - alpha * slack;
            gains[lane] = change * (gradient + 0.5 * change * inverse);
            alphas[lane] = better;
            changes[lane] = change * signs[lane];
        }
        for lane in 0..LANES {
            gaps[lane] += f64::from(parts[lane]);
            self.value[lane] -= f64::from(gains[lane]);
            self.balance[lane] += changes[lane];
        }
        self.alphas[row] = alphas;
        if changes != [0.0; LANES] {
            found.add_multiples(&mut self.weights, &changes);
        }
    }

    /// Compute the values of both problems over all rows.
    fn evaluate(&mut self) -> Evaluation {
        let mut found = Evaluation {
            primal: [0.0; LANES],
            dual: [0.0; LANES],
            violation: [0.0; LANES],
        };
        vectorized(
            #[inline(always)]
            || {
                for row in 0..self.rows.len() {
                    self.countdown.spend(2 * self.rows.size(row));
                    self.evaluate_row(row, &mut found);
                }
            },
        );
        let mut norms = [0.0; LANES];
        for weights in &self.weights {
            (0..LANES).for_each(|lane| norms[lane] += f64::from(weights[lane]) * f64::from(weights[lane]));
        }
        for (lane, norm) in norms.into_iter().enumerate() {
            let balance = f64::from(self.balance[lane]);
            let penalty = 0.5 * (norm + self.lift * balance * balance);
            found.primal[lane] += penalty;
            found.dual[lane] -= penalty;
        }
        self.value = found.dual;
        found
    }

    #[inline(always)]
    fn evaluate_row(&self, row: usize, found: &mut Evaluation) {
        let (cost, signs) = (self.costs[row] as f32, signs(self.positive[row]));
        let (outputs, alphas, lift) = (
            self.rows.row(row).dots(&self.weights),
            &self.alphas[row],
            self.lift as f32,
        );
        for lane in 0..LANES {
            let alpha = alphas[lane];
            let slack = 1.0 - signs[lane] * (outputs[lane] + lift * self.balance[lane]);
            let gradient = 0.5 / cost * alpha - slack;
            let above = slack.max(0.0);
            found.primal[lane] += f64::from(cost * above * above);
            found.dual[lane] += f64::from(alpha - 0.25 * alpha * alpha / cost);
            let violation = if alpha > 0.0 {
                gradient.abs()
            } else {
                (-gradient).max(0.0)
            };
            found.violation[lane] = found.violation[lane].max(violation);
        }
    }

    fn solution(&self, lane: usize, found: &Evaluation, passes: usize) -> Solution {
        Solution {
            weights: self.weights.iter().map(|weights| f64::from(weights[lane])).collect(),
            intercept: self.lift * f64::from(self.balance[lane]),
            duals: self.alphas.iter().map(|alphas| f64::from(alphas[lane])).collect(),
            certificate: Certificate {
                primal: found.primal[lane],
                dual: found.dual[lane],
                violation: f64::from(found.violation[lane]),
                passes,
            },
        }
    }
}

#[inline(always)]
fn signs(positive: u32) -> Lanes {
    std::array::from_fn(|lane| (((positive >> lane) & 1) << 1) as f32 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::super::Loss;
    use super::super::dual::Dual;
    use super::super::order::Order;
    use super::*;
    use crate::tables::vectors::Vectors;

    #[test]
    fn each_function_is_that_of_the_solver_of_one() {
        let (rows, n_columns) = (60, 5);
        let mut random = Random(3);
        let values: Vec<f64> = (0..rows * n_columns)
            .map(|_| random.below(9) as f64 / 4.0 - 1.0)
            .collect();
        let table = Vectors::Dense {
            rows,
            values: &values,
            n_columns,
        };
        let classes: Vec<i32> = (0..rows as i32).collect();
        let order = Order::new(&table, &classes, None, 0);
        let own: Rows<f32> = Rows::new(&table, &order.rows(), None);
        let positive: Vec<u32> = (0..rows).map(|_| random.draw() as u32).collect();
        let costs: Vec<f64> = (0..rows).map(|row| 0.02 * (1 + row % 3) as f64).collect();
        let limits = Limits {
            tolerance: 1e-4,
            passes: 1000,
        };
        for intercept in [Intercept::None, Intercept::Penalized(2.0)] {
            let found = Together::new(&own, &positive, &costs, intercept).solve(limits, 0, LANES);
            for (lane, found) in found.into_iter().enumerate() {
                let signs: Vec<f64> = positive.iter().map(|&bits| f64::from(signs(bits)[lane])).collect();
                let one = Dual::new(&own, &signs, &costs, Loss::SquaredHinge, intercept).solve(limits, 0);
                let found = found.expect("of a low cost all converge");
                assert!(found.certificate.reaches(1e-4) && found.certificate.dual <= found.certificate.primal);
                assert!((found.certificate.primal / one.certificate.primal - 1.0).abs() < 2e-4);
                assert!((found.intercept - one.intercept).abs() < 0.02);
                let pairs = found.weights.iter().zip(&one.weights);
                assert!(pairs.fold(0.0, |most: f64, (one, other)| most.max((one - other).abs())) < 0.02);
            }
        }
    }
}
