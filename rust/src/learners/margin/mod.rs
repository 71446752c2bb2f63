//! Linear classifiers of large margin: min ½‖w‖² + Σ cᵢ ℓ(1 − yᵢ(w·xᵢ + b)), by its dual, by its primal, and for
//! several classes at once.
//!
//! Every solver ends with a [`Certificate`]: the values of the primal and of the dual problem at its solution. The
//! optimum lies between them, so their distance bounds the error, without trusting the solver.

pub mod crammer;
pub mod dual;
pub mod order;
pub mod primal;
pub mod rows;
pub mod together;
pub mod value;

/// ℓ as a function of the slack ξ = 1 − margin: max(0, ξ) or max(0, ξ)².
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    Hinge,
    SquaredHinge,
}

/// The constant of the decision function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Intercept {
    None,
    /// The weight of a feature that is this number in every row: penalized as the other weights are.
    Penalized(f64),
    /// Free of any penalty.
    Free,
}

/// When to stop: at a gap of `tolerance` relative to the primal value, or after a number of passes over the rows.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub tolerance: f64,
    pub passes: usize,
}

/// How good a solution is: `dual` ≤ optimum ≤ `primal`.
#[derive(Clone, Copy, Debug)]
pub struct Certificate {
    pub primal: f64,
    pub dual: f64,
    /// The largest violation of the conditions of optimality: of any row in the dual, of any weight in the primal.
    pub violation: f64,
    pub passes: usize,
}

impl Certificate {
    /// Return whether the gap is at most this share of the primal value; a hard margin not reached has an infinite one.
    pub fn reaches(&self, tolerance: f64) -> bool {
        self.primal.is_finite() && self.primal - self.dual <= tolerance * self.primal
    }
}

/// The weights of one decision function, with their certificate.
#[derive(Clone, Debug)]
pub struct Solution {
    pub weights: Vec<f64>,
    pub intercept: f64,
    /// αᵢ of each row.
    pub duals: Vec<f64>,
    pub certificate: Certificate,
}

/// A generator of pseudo-random numbers (splitmix64; Steele, Lea and Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`, by multiplication instead of division.
    #[inline(always)]
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.draw()) * bound as u128) >> 64) as usize
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for place in (1..items.len()).rev() {
            items.swap(place, self.below(place + 1));
        }
    }
}

/// Neighboring rows are visited close together, in runs of this length.
const RUN: usize = 64;
/// Runs, from anywhere, that alternate. One run after the other would make all passes alike, and coordinate descent
/// would converge several times slower.
const RUNS_TOGETHER: usize = 8;
/// The most rows that need no runs.
pub(crate) const FEW_ROWS: usize = RUN * RUNS_TOGETHER;

/// Put sorted rows into a random order with runs, which the hardware prefetcher can follow.
pub(crate) fn shuffle_in_runs(rows: &[u32], visits: &mut Vec<u32>, random: &mut Random) {
    visits.clear();
    if rows.len() <= FEW_ROWS {
        visits.extend_from_slice(rows);
        return random.shuffle(visits);
    }
    let first = random.below(RUN) + 1; // runs start at other rows each time
    let (head, tail) = rows.split_at(first);
    let mut runs: Vec<&[u32]> = std::iter::once(head).chain(tail.chunks(RUN)).collect();
    random.shuffle(&mut runs);
    for runs in runs.chunks(RUNS_TOGETHER) {
        for turn in 0..RUN {
            visits.extend(runs.iter().filter_map(|run| run.get(turn)));
        }
    }
}

#[inline(always)]
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
