//! Newton's method with an L1 penalty, for one output.
//!
//! A step goes to the least of the quadratic model of the loss over a working set of columns, and is halved until the
//! objective falls enough. When the set has nothing left to gain, all columns are looked at, and those join that do.

use super::columns::Columns;
use super::loss::{Loss, Slopes};
use super::violation;
use super::working::{Terms, Working};
use crate::learners::margin::Random;
use crate::system::cancel::Countdown;
use crate::system::vector::vectorized;

/// A step is solved to this share of the violations it begins with.
const TARGET: f64 = 0.25;
/// And more exactly by that share after a step of at most this many passes: until then, new models gain more.
const EASY: usize = 3;
/// The share of the expected decrease that a step must bring.
const DECREASE: f64 = 0.01;
const MOST_HALVINGS: i32 = 30;
/// A working set is left when its violations are this share of those at its first step.
const LEFT: f64 = 0.1;
/// A working set has at most this many times the weights that are not zero, or that many.
const GROWTH: usize = 4;
const LEAST_SET: usize = 1024;

/// Σ loss(scores) + Σⱼ λⱼ|wⱼ| + ½ Σⱼ rⱼwⱼ²; there may be a weight more than columns, for a column of ones.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    pub columns: Columns<'a>,
    pub loss: Loss<'a>,
    pub lasso: &'a [f64],
    pub ridge: &'a [f64],
}

impl<'a> Problem<'a> {
    fn terms<'t>(&self, weights: &'t [f64]) -> Terms<'t>
    where
        'a: 't,
    {
        Terms {
            lasso: self.lasso,
            ridge: self.ridge,
            weights,
        }
    }
}

/// How the search ended. `violation` is the sum of the violations of the conditions of optimality, relative to that at
/// zero weights; `stuck` tells that no step leads further down.
#[derive(Clone, Copy, Debug)]
pub struct End {
    pub loss: f64,
    pub violation: f64,
    pub iterations: usize,
    pub stuck: bool,
}

/// Minimize from some weights until the violation is at most `tol`.
pub fn minimize(problem: Problem<'_>, weights: &mut [f64], tol: f64, most: usize) -> End {
    let mut search = Search::new(problem, weights);
    search.run(tol, most)
}

struct Search<'a, 'w> {
    problem: Problem<'a>,
    weights: &'w mut [f64],
    gradient: Vec<f64>,
    scores: Vec<f64>,
    state: Slopes,
    scale: f64,
    /// The sum of violations to which a step is solved.
    goal: f64,
    working: Working,
    random: Random,
}

impl<'a, 'w> Search<'a, 'w> {
    fn new(problem: Problem<'a>, weights: &'w mut [f64]) -> Self {
        let rows = problem.columns.rows();
        let mut search = Search {
            problem,
            gradient: vec![0.0; weights.len()],
            weights,
            scores: vec![0.0; rows],
            state: Slopes::default(),
            scale: 1.0,
            goal: f64::INFINITY,
            working: Working::default(),
            random: Random(0),
        };
        search.problem.loss.at(&search.scores, &mut search.state);
        search.differentiate();
        let zero = vec![0.0; search.weights.len()];
        let scale = search.violations(&zero);
        search.scale = if scale > 0.0 { scale } else { 1.0 };
        if search.weights.iter().any(|weight| *weight != 0.0) {
            let places: Vec<usize> = (0..search.weights.len()).collect();
            search.scores = search.moved_by(&places, search.weights);
            search.problem.loss.at(&search.scores, &mut search.state);
            search.differentiate();
        }
        search
    }

    fn run(&mut self, tol: f64, most: usize) -> End {
        let (mut iterations, mut stuck) = (0, false);
        loop {
            let violation = self.violations(self.weights) / self.scale;
            if violation <= tol || iterations >= most || stuck || violation.is_nan() {
                return End {
                    loss: self.state.loss,
                    violation,
                    iterations,
                    stuck,
                };
            }
            self.choose();
            let mut enough = f64::NEG_INFINITY; // at least one step
            loop {
                self.refresh();
                let violations = self.working.violations(self.problem.terms(self.weights));
                if violations <= enough || iterations >= most {
                    break;
                }
                if enough < 0.0 {
                    enough = (LEFT * violations).max(0.5 * tol * self.scale);
                }
                iterations += 1;
                if !self.advance(violations) {
                    stuck = true;
                    break;
                }
            }
            self.differentiate();
        }
    }

    fn refresh(&mut self) {
        let terms = self.problem.terms(self.weights);
        let (residuals, curvature) = (&self.state.residuals, &self.state.curvature);
        self.working.refresh(self.problem.columns, residuals, curvature, terms);
    }

    /// Compute the gradient by all weights.
    fn differentiate(&mut self) {
        let (columns, countdown) = (self.problem.columns, Countdown::default());
        vectorized(
            #[inline(always)]
            || {
                for (column, slope) in self.gradient.iter_mut().enumerate() {
                    countdown.spend(columns.size(column));
                    *slope = columns.product(column, &self.state.residuals)
                        + self.problem.ridge[column] * self.weights[column];
                }
            },
        );
    }

    fn violations(&self, weights: &[f64]) -> f64 {
        let pairs = self.gradient.iter().zip(weights).zip(self.problem.lasso);
        pairs
            .map(|((slope, weight), lasso)| violation(*slope, *weight, *lasso))
            .sum()
    }

    /// Choose the columns that may change: those that are there, and those that would gain most.
    fn choose(&mut self) {
        let (mut there, mut others) = (Vec::new(), Vec::new());
        for (column, slope) in self.gradient.iter().enumerate() {
            let lasso = self.problem.lasso[column];
            if self.weights[column] != 0.0 || lasso == 0.0 {
                there.push(column);
            } else if slope.abs() > lasso {
                others.push((slope.abs() - lasso, column));
            }
        }
        let most = (GROWTH * there.len()).max(LEAST_SET);
        if others.len() > most {
            for (gain, column) in &mut others {
                let length = self
                    .problem
                    .columns
                    .moments(*column, &self.state.residuals, &self.state.curvature)
                    .1;
                *gain = if length > 0.0 { *gain / length.sqrt() } else { 0.0 };
            }
            others.select_nth_unstable_by(most, |left, right| right.0.total_cmp(&left.0));
            others.truncate(most);
        }
        there.extend(others.into_iter().map(|(_, column)| column));
        there.sort_unstable();
        self.working.choose(self.problem.columns, there);
    }

    /// Take a step, halved until the objective is low enough; return whether it ever was.
    fn advance(&mut self, violations: f64) -> bool {
        self.goal = self.goal.min(TARGET * violations);
        let terms = self.problem.terms(self.weights);
        let (ends, passes) = self.working.step(terms, self.goal, &mut self.random);
        if passes <= EASY {
            self.goal *= TARGET;
        }
        let columns = &self.working.columns;
        let begins: Vec<f64> = columns.iter().map(|&column| self.weights[column]).collect();
        if ends == begins {
            return false;
        }
        let changes: Vec<f64> = ends.iter().zip(&begins).map(|(end, begin)| end - begin).collect();
        let scores = self.moved_by(columns, &changes);
        // The gradient has the ridge already; what the model expects of the L1 penalty is added.
        let (mut expected, mut value) = (0.0, self.state.loss);
        for (place, &column) in columns.iter().enumerate() {
            expected += self.working.gradient[place] * changes[place]
                + self.problem.lasso[column] * (ends[place].abs() - begins[place].abs());
            value += self.penalty(column, begins[place]);
        }
        let slack = 16.0 * f64::EPSILON * value.abs();
        let (mut found, mut placed) = (Slopes::default(), vec![0.0; scores.len()]);
        let reach = self.problem.loss.reach().max(2.0 * largest(&self.scores));
        let first = (reach / largest(&scores)).min(1.0);
        for halvings in 0..MOST_HALVINGS {
            let share = first * 0.5f64.powi(halvings);
            for ((placed, score), change) in placed.iter_mut().zip(&self.scores).zip(&scores) {
                *placed = score + share * change;
            }
            self.problem.loss.at(&placed, &mut found);
            // A weight that has come to zero is there to the last bit.
            let part = |place: usize| {
                let there = begins[place] + share * changes[place];
                if share < 1.0 { there } else { ends[place] }
            };
            let penalties = columns.iter().enumerate();
            let after: f64 = penalties
                .map(|(place, &column)| self.penalty(column, part(place)))
                .sum();
            if found.loss + after <= value + DECREASE * share * expected + slack {
                for (place, &column) in columns.iter().enumerate() {
                    self.weights[column] = part(place);
                }
                (self.scores, self.state) = (placed, found);
                return true;
            }
        }
        false
    }

    fn penalty(&self, column: usize, weight: f64) -> f64 {
        self.problem.lasso[column] * weight.abs() + 0.5 * self.problem.ridge[column] * weight * weight
    }

    /// The scores of the rows by some columns.
    fn moved_by(&self, columns: &[usize], changes: &[f64]) -> Vec<f64> {
        let countdown = Countdown::default();
        let mut scores = vec![0.0; self.problem.columns.rows()];
        vectorized(
            #[inline(always)]
            || {
                for (&column, &change) in columns.iter().zip(changes) {
                    if change != 0.0 {
                        countdown.spend(self.problem.columns.size(column));
                        self.problem.columns.each(column, |row, x| scores[row] += change * x);
                    }
                }
            },
        );
        scores
    }
}

fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |most, number| most.max(number.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::logistic::residuals::Labels;

    const ROWS: usize = 60;
    const COUNT: usize = 9;

    /// Columns of which every third number is there.
    fn table() -> (Vec<f64>, Vec<i64>, Vec<i32>, Vec<f64>) {
        let (mut dense, mut starts, mut places, mut values) = (Vec::new(), vec![0], Vec::new(), Vec::new());
        for column in 0..COUNT {
            for row in 0..ROWS {
                let there = (row + column * row / 7) % 3 == 0;
                let number = ((row * (column + 3)) as f64).sin() + 0.2;
                dense.push(if there { number } else { 0.0 });
                if there {
                    places.push(row as i32);
                    values.push(number);
                }
            }
            starts.push(places.len() as i64);
        }
        (dense, starts, places, values)
    }

    #[test]
    fn the_conditions_of_optimality_hold_for_both_losses_and_tables() {
        let (dense, starts, places, values) = table();
        let classes: Vec<i32> = (0..ROWS).map(|row| i32::from((row as f64 * 0.7).sin() > 0.1)).collect();
        let weights: Vec<f64> = (0..ROWS).map(|row| (row % 4) as f64).collect();
        let targets: Vec<f64> = classes.iter().map(|&class| f64::from(2 * class - 1)).collect();
        let labels = Labels {
            classes: &classes,
            weights: Some(&weights),
        };
        let hinge = Loss::SquaredHinge {
            targets: &targets,
            costs: &weights,
        };
        let mut lasso: Vec<f64> = (0..COUNT).map(|column| 0.5 + 2.0 * column as f64).collect();
        lasso.push(0.0); // the intercept is free
        let ridge = vec![0.1; COUNT + 1];
        for loss in [Loss::Logistic(labels), hinge] {
            let found = [
                Columns::dense(&dense, ROWS, COUNT).unwrap(),
                Columns::sparse(&starts, &places, &values, ROWS).unwrap(),
            ]
            .map(|columns| {
                let problem = Problem {
                    columns,
                    loss,
                    lasso: &lasso,
                    ridge: &ridge,
                };
                let mut weights = vec![0.0; COUNT + 1];
                let end = minimize(problem, &mut weights, 1e-10, 100);
                assert!(end.violation <= 1e-10 && !end.stuck && end.iterations > 1);
                let again = minimize(problem, &mut weights, 1e-9, 100);
                assert!(again.iterations == 0 && again.violation <= 1e-9);
                weights
            });
            assert!(found[0].contains(&0.0) && found[0].iter().any(|weight| *weight != 0.0));
            let pairs = found[0].iter().zip(&found[1]);
            assert!(
                pairs.clone().all(|(one, other)| (one - other).abs() < 1e-6),
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_strong_penalty_leaves_nothing_and_separated_rows_are_no_trouble() {
        let values = [-2.0, -1.0, 1.0, 3.0];
        let labels = Labels {
            classes: &[0, 0, 1, 1],
            weights: None,
        };
        let fitted = |lasso: f64| {
            let problem = Problem {
                columns: Columns::dense(&values, 4, 1).unwrap(),
                loss: Loss::Logistic(labels),
                lasso: &[lasso],
                ridge: &[0.0],
            };
            let mut weights = [0.0];
            let end = minimize(problem, &mut weights, 1e-9, 100);
            assert!(end.violation <= 1e-9);
            weights[0]
        };
        assert_eq!(fitted(100.0), 0.0);
        assert!(fitted(1e-9) > 10.0);
    }
}
