//! The dual of the soft-margin support vector machine, two coefficients at a time.
//!
//! With β_t = y_t α_t, so that β_t lies between 0 and y_t C_t, and K_st = κ(x_s, x_t):
//!
//! ```text
//! maximize   Σ y_t β_t − ½ Σ Σ β_s β_t K_st   subject to   Σ β_t = 0.
//! ```
//!
//! Input: rows, their signs y and costs C, a kernel. Output: β and the bias b of f(x) = Σ β_t κ(x_t, x) + b.
//!
//! The derivative by β_t is the force F_t = y_t − Σ β_s K_st. At the maximum no pair can gain: F_i ≤ F_j whenever β_i
//! can rise and β_j can fall. The pair to move is the i with the largest force and the j that gains most by a
//! second-order estimate (Fan, Chen and Lin, JMLR 2005). It stops when no pair differs by more than the tolerance and
//! the duality gap,
//!
//! ```text
//! Σ C_t max(0, y_t (F_t − b)) − β_t (F_t − b),
//! ```
//!
//! is at most a tenth of the tolerance of the primal objective. Coefficients that stay at a bound with the right
//! force are left out for a while (shrinking); the forces of those are computed again before the end.

mod active;
mod cache;
mod path;
mod shrinking;

use crate::learners::kernel::{BATCH, Kernel, LANES, Points};
use crate::tables::vectors::{Vector, Vectors};
use active::{Active, LEAST_CURVATURE, Pair};
use cache::Cache;

pub use cache::Cell;

/// The most rows for which the solution is refined to rounding error if a few more steps are enough: half as many as
/// there were, but at least and at most these.
const FEW_ROWS: usize = 256;
const FINEST: f64 = 1e-11;
const LEAST_EXTRA_STEPS: u64 = 2_000;
const EXTRA_STEPS: u64 = 50_000;
/// A step that gains less than this share of the objective is lost in rounding.
const LEAST_GAIN: f64 = 1e-15;
/// After this many such steps in succession, plus one for each row, there is nothing left to gain.
const MOST_IDLE: u64 = 1_000;
/// How often all forces may be computed again.
const MOST_ROUNDS: u32 = 20;
/// Bytes that the solver keeps for each row beside its numbers and its kernel row, at most.
const BYTES_A_ROW: usize = 20 * size_of::<f64>();

/// Rows of one machine: which rows of the table, their signs (1 or −1) and costs (above 0).
pub struct Problem<'a> {
    pub table: Vectors<'a>,
    pub rows: Vec<u32>,
    pub signs: Vec<f64>,
    pub costs: Vec<f64>,
    pub kernel: Kernel,
}

#[derive(Clone, Copy)]
pub struct Settings {
    pub tolerance: f64,
    /// Bytes that a solver may take, most of it for cached kernel rows; two of them are always kept.
    pub cache: usize,
    pub shrinking: bool,
    pub most_steps: u64,
}

/// The coefficients, with a certificate of how good they are.
pub struct Solution {
    pub coefficients: Vec<f64>,
    pub bias: f64,
    pub steps: u64,
    pub converged: bool,
    /// The largest difference of forces that a pair could still gain by.
    pub violation: f64,
    pub primal: f64,
    pub dual: f64,
    /// ‖w‖² in the space of the kernel.
    pub squared_norm: f64,
}

enum Phase {
    Searching,
    /// The forces of rows set aside, or of all, are computed again; those before `next` are done.
    Restoring {
        support: Points,
        weights: Vec<f64>,
        next: usize,
        everything: bool,
    },
    Done,
}

pub struct Solver<'a, T> {
    problem: Problem<'a>,
    settings: Settings,
    /// Coefficients and forces of all rows; while a row is active, its own are in `active`.
    coefficients: Vec<f64>,
    forces: Vec<f64>,
    active: Active,
    points: Points,
    cache: Cache<T>,
    /// Kernel rows as they are computed.
    scratch: [Vec<f64>; BATCH],
    phase: Phase,
    tolerance: f64,
    steps: u64,
    /// The step up to which a small problem is refined, and whether that is done.
    deadline: u64,
    refined: bool,
    /// Steps and rounds up to the last time that all forces were computed again.
    exact_steps: u64,
    exact_rounds: u32,
    steps_to_shrinking: u64,
    idle_steps: u64,
    dual: f64,
    converged: bool,
}

impl<'a, T: Cell> Solver<'a, T> {
    pub fn new(problem: Problem<'a>, settings: Settings) -> Self {
        let count = problem.rows.len();
        let points = Points::new(&problem.table, &problem.rows, problem.kernel);
        // The rows laid out count twice: when some are left out, the new layout is made before the old one is freed.
        let others = 2 * points.bytes() + count * BYTES_A_ROW;
        let settings = Settings {
            cache: settings.cache.saturating_sub(others),
            ..settings
        };
        let mut solver = Solver {
            coefficients: vec![0.0; count],
            forces: problem.signs.clone(),
            active: Active::default(),
            cache: Cache::new(count, settings.cache),
            points,
            scratch: Default::default(),
            phase: Phase::Searching,
            tolerance: settings.tolerance,
            steps: 0,
            deadline: u64::MAX,
            refined: false,
            exact_steps: 0,
            exact_rounds: 0,
            steps_to_shrinking: 0,
            idle_steps: 0,
            dual: 0.0,
            converged: false,
            problem,
            settings,
        };
        solver.steps_to_shrinking = solver.shrinking_period();
        solver.activate((0..count as u32).collect());
        solver
    }

    fn shrinking_period(&self) -> u64 {
        (self.problem.rows.len() as u64).clamp(1, 1000)
    }

    /// Make these rows the active ones.
    fn activate(&mut self, rows: Vec<u32>) {
        let padded = rows.len().next_multiple_of(LANES);
        let gather = |pad: f64, value: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let values = rows.iter().map(|&row| value(row as usize));
            values.chain(std::iter::repeat(pad)).take(padded).collect()
        };
        let problem = &self.problem;
        self.active = Active {
            force: gather(0.0, &|row| self.forces[row]),
            coefficient: gather(0.0, &|row| self.coefficients[row]),
            lower: gather(0.0, &|row| (problem.signs[row] * problem.costs[row]).min(0.0)),
            upper: gather(0.0, &|row| (problem.signs[row] * problem.costs[row]).max(0.0)),
            diagonal: gather(1.0, &|row| self.diagonal(row)),
            rising: vec![f64::NEG_INFINITY; padded],
            falling: vec![f64::INFINITY; padded],
            rows,
        };
        (0..self.active.len()).for_each(|place| self.active.mark(place));
    }

    fn diagonal(&self, row: usize) -> f64 {
        let vector = self.problem.table.row(self.problem.rows[row] as usize);
        match self.problem.kernel {
            Kernel::Linear => vector.squared_norm(),
            Kernel::Gaussian { .. } => 1.0,
            Kernel::Polynomial { gamma, offset, degree } => (gamma * vector.squared_norm() + offset).powi(degree),
            Kernel::Sigmoid { gamma, offset } => (gamma * vector.squared_norm() + offset).tanh(),
            Kernel::Given => {
                let mut own = 0.0;
                let place = self.problem.rows[row] as usize;
                vector.each(|column, value| own = if column == place { value } else { own });
                own
            }
        }
    }

    /// Copy coefficients and forces of the active rows back to their places among all rows.
    fn write_back(&mut self) {
        for (place, &row) in self.active.rows.iter().enumerate() {
            self.coefficients[row as usize] = self.active.coefficient[place];
            self.forces[row as usize] = self.active.force[place];
        }
    }

    /// Work for about `steps` steps; return whether the end is reached.
    pub fn advance(&mut self, steps: usize) -> bool {
        match self.phase {
            Phase::Done => true,
            Phase::Restoring { .. } => {
                self.restore();
                false
            }
            Phase::Searching => self.search(steps),
        }
    }

    fn search(&mut self, steps: usize) -> bool {
        let mut pair = self.active.move_forces::<T>(0.0, &self.zeros(), &self.zeros());
        for _ in 0..steps {
            if self.steps >= self.settings.most_steps {
                return self.finish(false);
            }
            if self.steps >= self.deadline {
                (self.deadline, self.refined) = (u64::MAX, true);
                self.tolerance = self.settings.tolerance;
            }
            let idle = self.idle_steps > MOST_IDLE + self.active.len() as u64;
            if idle || pair.most - pair.least < self.tolerance {
                if !idle && self.needs_more(&pair) {
                    self.tolerance /= 4.0;
                    continue;
                }
                if self.active.len() < self.problem.rows.len() {
                    self.begin_restoring(false);
                    return false;
                }
                if T::EXACT && self.steps > self.exact_steps && self.exact_rounds < MOST_ROUNDS {
                    (self.exact_steps, self.exact_rounds) = (self.steps, self.exact_rounds + 1);
                    self.begin_restoring(true);
                    return false;
                }
                return self.finish(true);
            }
            self.fetch(pair.up, &pair);
            let Some(down) = self.active.partner(&pair, &self.cache.rows[pair.up]) else {
                return self.finish(true);
            };
            self.fetch(down, &pair);
            pair = self.step(&pair, down);
            self.steps += 1;
            self.steps_to_shrinking -= 1;
            if self.steps_to_shrinking == 0 {
                self.steps_to_shrinking = self.shrinking_period();
                if self.settings.shrinking && self.shrink(&pair) {
                    pair = self.active.move_forces::<T>(0.0, &self.zeros(), &self.zeros());
                }
            }
        }
        false
    }

    fn zeros(&self) -> Vec<T> {
        vec![T::narrow(0.0); self.active.force.len()]
    }

    /// Return whether the duality gap is still too large, or the problem small enough to be refined.
    fn needs_more(&mut self, pair: &Pair) -> bool {
        let gap = self.gap(self.bias(pair));
        let finest = (self.settings.tolerance * 1e-3).min(FINEST);
        if gap > 0.1 * self.settings.tolerance * (self.dual + gap).abs() {
            return self.tolerance > finest;
        }
        if self.refined || self.problem.rows.len() > FEW_ROWS || self.tolerance <= FINEST {
            return false;
        }
        let extra = (self.steps / 2).clamp(LEAST_EXTRA_STEPS, EXTRA_STEPS);
        self.deadline = self.deadline.min(self.steps + extra);
        true
    }

    /// Make sure that the kernel row of an active place is in the cache, as the most recent.
    fn fetch(&mut self, place: usize, pair: &Pair) {
        if self.cache.holds(place) {
            return self.cache.touch(place);
        }
        if self.points.gains_by_batches() && self.cache.has_room_for(BATCH) {
            let middle = f64::midpoint(pair.most, pair.least);
            let absent = |other| !self.cache.holds(other);
            if let Some([first, second, third]) = self.active.most_violating(place, middle, absent) {
                return self.fetch_batch([first, second, third, place]);
            }
        }
        let vector = self.vector(place);
        self.points.against(vector, self.problem.kernel, &mut self.scratch[0]);
        self.cache.insert(place, &self.scratch[0]);
    }

    /// Compute the kernel rows of several places; the last becomes the most recent.
    fn fetch_batch(&mut self, places: [usize; BATCH]) {
        let vectors = places.map(|place| self.vector(place));
        self.points
            .against_batch(vectors, self.problem.kernel, &mut self.scratch);
        for (place, values) in places.into_iter().zip(&self.scratch) {
            self.cache.insert(place, values);
        }
    }

    /// The row of an active place.
    fn vector(&self, place: usize) -> Vector<'a> {
        let row = self.problem.rows[self.active.rows[place] as usize] as usize;
        self.problem.table.row(row)
    }

    /// Move a pair as far as it gains and the bounds allow.
    fn step(&mut self, pair: &Pair, down: usize) -> Pair {
        let (up, active) = (pair.up, &mut self.active);
        let (first, second) = (&self.cache.rows[up], &self.cache.rows[down]);
        let curvature = (active.diagonal[up] + active.diagonal[down] - 2.0 * first[down].wide()).max(LEAST_CURVATURE);
        let difference = active.force[up] - active.force[down];
        let (room_up, room_down) = (
            active.upper[up] - active.coefficient[up],
            active.coefficient[down] - active.lower[down],
        );
        let step = (difference / curvature).min(room_up).min(room_down);
        // At a bound the coefficient is the bound, to the last bit.
        active.coefficient[up] = if step == room_up {
            active.upper[up]
        } else {
            active.coefficient[up] + step
        };
        active.coefficient[down] = if step == room_down {
            active.lower[down]
        } else {
            active.coefficient[down] - step
        };
        let gain = step * difference - 0.5 * curvature * step * step;
        self.dual += gain;
        self.idle_steps = if gain > LEAST_GAIN * self.dual.abs() {
            0
        } else {
            self.idle_steps + 1
        };
        active.mark(up);
        active.mark(down);
        active.move_forces(step, first, second)
    }

    fn finish(&mut self, converged: bool) -> bool {
        if self.active.len() < self.problem.rows.len() {
            self.settings.most_steps = self.steps; // no more steps, but all forces are wanted
            self.begin_restoring(false);
            return false;
        }
        self.write_back();
        self.converged = converged;
        self.phase = Phase::Done;
        true
    }

    /// The force of the free rows, which is the same for all; without any, the middle of the allowed range.
    fn bias(&self, pair: &Pair) -> f64 {
        let active = &self.active;
        let (mut sum, mut free) = (0.0, 0usize);
        for place in 0..active.len() {
            if active.rising[place] == 0.0 && active.falling[place] == 0.0 {
                sum += active.force[place];
                free += 1;
            }
        }
        match free {
            0 if pair.most.is_finite() && pair.least.is_finite() => f64::midpoint(pair.most, pair.least),
            0 if pair.most.is_finite() => pair.most,
            0 if pair.least.is_finite() => pair.least,
            0 => 0.0,
            _ => sum / free as f64,
        }
    }

    /// The duality gap; rows set aside add nothing to it.
    fn gap(&self, bias: f64) -> f64 {
        let active = &self.active;
        let of_row = |place: usize| {
            let beyond = active.force[place] - bias;
            let most = if beyond > 0.0 {
                active.upper[place]
            } else {
                active.lower[place]
            };
            (most - active.coefficient[place]) * beyond
        };
        (0..active.len()).map(of_row).sum()
    }

    /// Return the coefficients with their certificate.
    pub fn solution(&mut self) -> Solution {
        let pair = self.active.move_forces::<T>(0.0, &self.zeros(), &self.zeros());
        let bias = self.bias(&pair);
        let terms = self.coefficients.iter().zip(&self.problem.signs).zip(&self.forces);
        let (mut squared_norm, mut linear) = (0.0, 0.0);
        for ((coefficient, sign), force) in terms {
            squared_norm += coefficient * (sign - force);
            linear += coefficient * sign;
        }
        let dual = linear - 0.5 * squared_norm;
        Solution {
            bias,
            steps: self.steps,
            converged: self.converged,
            violation: (pair.most - pair.least).max(0.0),
            primal: dual + self.gap(bias),
            dual,
            squared_norm,
            coefficients: self.coefficients.clone(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(super) fn solved(
        table: &[f64],
        n_columns: usize,
        signs: &[f64],
        cost: f64,
        kernel: Kernel,
        cache: usize,
    ) -> Solution {
        let rows = signs.len();
        let problem = Problem {
            table: Vectors::dense(table, rows, n_columns).unwrap(),
            rows: (0..rows as u32).collect(),
            signs: signs.to_vec(),
            costs: vec![cost; rows],
            kernel,
        };
        let settings = Settings {
            tolerance: 1e-3,
            cache,
            shrinking: true,
            most_steps: 1_000_000,
        };
        let mut solver = Solver::<f64>::new(problem, settings);
        while !solver.advance(10) {}
        solver.solution()
    }

    #[test]
    fn two_points_are_parted_in_the_middle() {
        let solution = solved(&[-1.0, 3.0], 1, &[-1.0, 1.0], 10.0, Kernel::Linear, 1 << 20);
        assert!(solution.converged);
        assert!((solution.coefficients[1] - 0.125).abs() < 1e-12);
        assert!((solution.bias + 0.5).abs() < 1e-12);
        assert!((solution.primal - 0.125).abs() < 1e-12 && (solution.dual - 0.125).abs() < 1e-12);
    }

    #[test]
    fn a_small_cache_and_shrinking_change_nothing() {
        let mut state = 1u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1u64 << 31) as f64 - 0.5
        };
        let table: Vec<f64> = (0..1200).map(|_| 4.0 * random()).collect();
        let signs: Vec<f64> = table
            .chunks(3)
            .map(|row| (row[0] * row[1] + 0.3 * random()).signum())
            .collect();
        let kernel = Kernel::Gaussian { gamma: 0.7 };
        let large = solved(&table, 3, &signs, 1.0, kernel, 1 << 24);
        let small = solved(&table, 3, &signs, 1.0, kernel, 0);
        for solution in [&large, &small] {
            assert!(solution.converged && solution.violation < 1e-3);
            assert!(solution.primal - solution.dual <= 1e-4 * solution.primal);
        }
        assert!((large.dual - small.dual).abs() < 1e-4 * large.dual);
    }
}
