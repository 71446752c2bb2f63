//! Dual coordinate descent.
//!
//! Objective, for the hinge (D = 0, U = cᵢ) and the squared hinge (D = 1/2cᵢ, U = ∞):
//!
//! ```text
//! min over α   ½ Σᵢⱼ αᵢαⱼyᵢyⱼ(xᵢ·xⱼ) + ½ Σ Dᵢαᵢ² − Σ αᵢ      with 0 ≤ αᵢ ≤ Uᵢ,      w = Σ αᵢyᵢxᵢ
//! ```
//!
//! One αᵢ after the other is moved to its best value and a little beyond, in random order; rows that stay at a bound are
//! left out ("shrinking"). Stops when primal − dual ≤ tolerance · primal, both computed over all rows: cᵢ = ∞ is the hard
//! margin.
//! Paper: Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual coordinate descent method for large-scale linear SVM",
//! ICML 2008. Different from it: the stopping rule; over-relaxation (Young 1954); an order that is random but for short
//! runs of rows that lie together, so that a pass over many rows does not wait for memory; when very many passes are
//! still to come, conjugate gradients on all α between their bounds (Moré and Toraldo, "On the solution of large
//! quadratic programming problems with bound constraints", 1991); rows that rest at a bound are visited less often
//! (after Glasmachers and Dogan, "Accelerated coordinate descent with adaptive coordinate frequencies", ACML 2013);
//! after a pass the best point is taken of the plane that the last two steps span, which is known without looking at
//! any row (Narkiss and Zibulevsky, "Sequential subspace optimization", 2005); and a free intercept, which adds Σ αᵢyᵢ = 0, by the
//! method of multipliers (Hestenes 1969), with one step of the multiplier, the intercept, after each pass.

use super::rows::{Rows, Value};
use super::{Certificate, Intercept, Limits, Loss, Random, Solution, Watch, shuffle_in_runs};
use crate::system::memory::prefetch;

/// How many rows ahead of its use a row is fetched.
const AHEAD: usize = 4;
/// A step goes so far beyond the best value of one α: less is gained by the step, more by the pass.
const RELAXATION: f64 = 1.3;
/// When more passes than this are to come at the present pace, we solve for many α at once.
const MANY_PASSES: f64 = 200.0;
/// The pace is taken from so many passes.
const PACE: usize = 8;
/// But not before the bounds that matter are about found.
const FIRST_FACE: usize = 10;
/// Conjugate gradients on a face stop at this share of the squared residual, or after so many rounds.
const FACE_FORCING: f64 = 1e-4;
const MOST_FACE_ROUNDS: usize = 50;
const MOST_HALVINGS: usize = 6;
/// A row found at rest is passed over once, then three times, and so on up to so many times.
const LONGEST_REST: u8 = 7;
/// A look further costs about as much as a visit of so many numbers for each row and column: it must not cost more than
/// the passes.
const LOOK: f64 = 4.0;
/// What a pass over few rows counts at least, so that the work ends.
const LEAST_WORK: f64 = 0.01;

#[derive(Clone, Copy)]
struct Coordinate {
    alpha: f64,
    cost: f64,
    sign: f64,
    /// 1 / (‖x‖² + D): the step that a gradient of 1 asks for.
    step: f64,
}

/// How often a row that was found at rest is passed over, and how often still from now on.
#[derive(Clone, Copy, Default)]
struct Rest {
    length: u8,
    left: u8,
}

impl Rest {
    /// Whether to pass over the row this time.
    #[inline(always)]
    fn goes_on(&mut self) -> bool {
        let rests = self.left > 0;
        self.left -= u8::from(rests);
        rests
    }

    fn again(self) -> Rest {
        let length = (2 * self.length + 1).min(LONGEST_REST);
        Rest { length, left: length }
    }
}

/// α with what follows from it; or a step from one such place to another.
struct Place {
    alphas: Vec<f64>,
    weights: Vec<f64>,
    balance: f64,
}

impl Place {
    fn zero(rows: usize, width: usize) -> Self {
        Place {
            alphas: vec![0.0; rows],
            weights: vec![0.0; width],
            balance: 0.0,
        }
    }
}

/// Where the last passes came from and where they went.
struct Trail {
    before: Place,
    last: Place,
    next: Place,
}

impl Trail {
    fn new(rows: usize, width: usize) -> Self {
        let [before, last, next] = std::array::from_fn(|_| Place::zero(rows, width));
        Trail { before, last, next }
    }
}

/// Keeps how we came from a place to where we are now, and then that place.
fn walk(now: impl Iterator<Item = f64>, before: &mut [f64], last: &mut [f64]) {
    for (now, (before, last)) in now.zip(before.iter_mut().zip(last)) {
        *last = now - *before;
        *before = now;
    }
}

/// The bounds of the projected gradient in the last pass: what lies beyond them is left out in the next.
#[derive(Clone, Copy)]
struct Bounds {
    least: f64,
    most: f64,
}

impl Bounds {
    const NONE: Bounds = Bounds {
        least: f64::NEG_INFINITY,
        most: f64::INFINITY,
    };

    /// A bound of 0 says only that no row was met that could move that way.
    fn unless_nothing_moved(self) -> Bounds {
        Bounds {
            least: if self.least < 0.0 {
                self.least
            } else {
                f64::NEG_INFINITY
            },
            most: if self.most > 0.0 { self.most } else { f64::INFINITY },
        }
    }
}

/// Whose turn it is: a face is solved when that has gained more for its price than passes do, and now and then to see.
struct Turns {
    by_pass: f64,
    by_face: f64,
    wait: usize,
    left: usize,
}

impl Default for Turns {
    fn default() -> Self {
        Turns {
            by_pass: 0.0,
            by_face: 0.0,
            wait: FIRST_FACE,
            left: FIRST_FACE,
        }
    }
}

impl Turns {
    fn passed(&mut self, gain: f64) {
        self.by_pass = if gain.is_finite() { gain } else { 0.0 };
        self.left = self.left.saturating_sub(1);
    }

    fn face_is_due(&self) -> bool {
        self.left == 0 || self.by_face > self.by_pass
    }

    fn faced(&mut self, gain: f64) {
        self.by_face = if gain.is_finite() { gain } else { 0.0 };
        self.wait = if gain > self.by_pass { FIRST_FACE } else { 2 * self.wait };
        self.left = self.wait;
    }
}

/// The gaps that the last passes saw, which tell how many are still to come.
#[derive(Default)]
struct Pace {
    gaps: Vec<f64>,
}

impl Pace {
    fn passed(&mut self, gap: f64) {
        self.gaps.push(gap);
    }

    /// What the next pass is likely to see.
    fn next(&self) -> f64 {
        match self.gaps[..] {
            [.., before, last] => last * (last / before).min(1.0),
            _ => f64::INFINITY,
        }
    }

    /// How many passes it takes to reach a gap, if it goes on falling as it did.
    fn passes_to(&self, gap: f64) -> f64 {
        let Some(&[first, .., last]) = self.gaps.last_chunk::<PACE>() else {
            return 0.0;
        };
        let fall = (first / last).ln() / (PACE - 1) as f64;
        if fall > 0.0 {
            (last / gap).ln() / fall
        } else {
            f64::INFINITY
        }
    }
}

pub struct Dual<'a, V> {
    rows: &'a Rows<V>,
    loss: Loss,
    intercept: Intercept,
    coordinates: Vec<Coordinate>,
    weights: Vec<f64>,
    /// The intercept that the multiplier has reached; 0 unless it is free.
    offset: f64,
    /// The square of the constant feature, times Σ αᵢyᵢ: the intercept of now is `offset + lift · balance`.
    lift: f64,
    balance: f64,
    value: f64,
    /// Rows that are not left out, rising; and the order in which they are visited.
    active: Vec<u32>,
    visits: Vec<u32>,
    rests: Vec<Rest>,
}

/// What one judgement over all rows found.
struct Judgement {
    certificate: Certificate,
    scale: f64,
    intercept: f64,
}

impl<'a, V: Value> Dual<'a, V> {
    /// `signs` are ±1; `costs` above 0, and infinite for the hard margin.
    pub fn new(rows: &'a Rows<V>, signs: &[f64], costs: &[f64], loss: Loss, intercept: Intercept) -> Self {
        let mean = rows.squares.iter().sum::<f64>() / rows.len().max(1) as f64;
        let lift = match intercept {
            Intercept::None => 0.0,
            Intercept::Penalised(scale) => scale * scale,
            Intercept::Free => {
                if mean > 0.0 {
                    mean
                } else {
                    1.0
                }
            }
        };
        let coordinate = |((&cost, &sign), square): ((&f64, &f64), &f64)| Coordinate {
            alpha: 0.0,
            cost,
            sign,
            step: 1.0 / (square + lift + diagonal(loss, cost)),
        };
        Dual {
            rows,
            loss,
            intercept,
            coordinates: costs.iter().zip(signs).zip(&rows.squares).map(coordinate).collect(),
            weights: vec![0.0; rows.width],
            offset: 0.0,
            lift,
            balance: 0.0,
            value: 0.0,
            active: (0..rows.len() as u32).collect(),
            visits: Vec::with_capacity(rows.len()),
            rests: vec![Rest::default(); rows.len()],
        }
    }

    /// Solves; `None` when it was told to give up.
    pub fn solve(mut self, limits: Limits, seed: u64, mut watch: Watch<'_>) -> Option<Solution> {
        let mut random = Random(seed);
        let (mut bounds, mut passes) = (Bounds::NONE, 0.0);
        let rows = self.rows.len().max(1) as f64;
        let (mut turns, mut pace) = (Turns::default(), Pace::default());
        let (numbers, mut walked) = (
            (0..self.rows.len()).map(|row| self.rows.size(row)).sum::<usize>() as f64,
            0.0,
        );
        let (looks, mut trail) = (self.intercept != Intercept::Free && !self.is_hard(), None);
        loop {
            let start = self.value;
            let (estimate, next) = self.pass(bounds, &mut random, &mut watch)?;
            let visited = self.visits.len() as f64 / rows;
            passes += visited.max(LEAST_WORK);
            bounds = next.unless_nothing_moved();
            turns.passed((self.value - start) / visited.max(LEAST_WORK));
            pace.passed(estimate);
            let enough = limits.tolerance * (self.value + estimate).max(0.0);
            let last = passes.round() >= limits.passes as f64;
            // The gap falls by about the same factor from pass to pass: judge when it may have fallen enough.
            if pace.next() <= enough || self.active.is_empty() || last {
                let judgement = self.judge(bounds, &mut watch)?;
                let mut certificate = judgement.certificate;
                certificate.passes = passes.round() as usize;
                if last || certificate.reaches(limits.tolerance) || certificate.violation == 0.0 {
                    return Some(self.finish(judgement, certificate));
                }
                bounds = Bounds::NONE;
            }
            // Before the bounds that matter are about found, a look further meets too many of them.
            walked += visited * numbers;
            if looks && estimate < self.value && walked > LOOK * (rows + self.rows.width as f64) {
                walked = 0.0;
                self.look_further(trail.get_or_insert_with(|| Trail::new(self.rows.len(), self.rows.width)));
            }
            if pace.passes_to(enough) > MANY_PASSES && turns.face_is_due() {
                passes += self.solve_face(&mut turns, &mut watch)?;
                trail = None;
            }
            self.step_multiplier();
        }
    }

    /// Goes once over the active rows. Gives the gap it saw (each row's part when its turn came), and the bounds.
    fn pass(&mut self, bounds: Bounds, random: &mut Random, watch: &mut Watch<'_>) -> Option<(f64, Bounds)> {
        let rests = &mut self.rests;
        let awake = self.active.iter().copied();
        let awake: Vec<u32> = awake.filter(|&row| !rests[row as usize].goes_on()).collect();
        shuffle_in_runs(&awake, &mut self.visits, random);
        let mut estimate = 0.0;
        let mut next = Bounds { least: 0.0, most: 0.0 };
        let mut left_out = false;
        for place in 0..self.visits.len() {
            let row = self.visits[place] as usize;
            if let Some(&later) = self.visits.get(place + 3 * AHEAD) {
                self.rows.prefetch_start(later as usize);
                prefetch(&self.coordinates, later as usize);
            }
            if let Some(&soon) = self.visits.get(place + AHEAD) {
                self.rows.prefetch(soon as usize);
            }
            estimate += self.improve(row, bounds, &mut next, &mut left_out);
            if watch.stopped(self.rows.size(row)) {
                return None;
            }
        }
        if left_out {
            let coordinates = &mut self.coordinates;
            // A sign of a sleeping row is kept in its step: see `improve`.
            self.active.retain(|&row| coordinates[row as usize].step > 0.0);
        }
        Some((estimate, next))
    }

    /// Moves one αᵢ to its best value and beyond; gives the row's part of the gap before that.
    #[inline(always)]
    fn improve(&mut self, row: usize, bounds: Bounds, next: &mut Bounds, left_out: &mut bool) -> f64 {
        let found = self.rows.row(row);
        let output = found.dot(&self.weights) + self.offset + self.lift * self.balance;
        let coordinate = &mut self.coordinates[row];
        let Coordinate {
            alpha,
            cost,
            sign,
            step,
            ..
        } = *coordinate;
        let slack = 1.0 - sign * output;
        let (diagonal, upper) = (diagonal(self.loss, cost), upper(self.loss, cost));
        let gradient = diagonal * alpha - slack;
        let part = pair(self.loss, cost, alpha, slack);
        if (alpha <= 0.0 && gradient >= 0.0) || (alpha >= upper && gradient <= 0.0) {
            if (alpha <= 0.0 && gradient > bounds.most) || (alpha >= upper && gradient < bounds.least) {
                coordinate.step = -step;
                *left_out = true;
            }
            self.rests[row] = self.rests[row].again();
            return part;
        }
        self.rests[row] = Rest::default();
        next.most = next.most.max(gradient);
        next.least = next.least.min(gradient);
        let better = (alpha - RELAXATION * gradient * step).clamp(0.0, upper);
        let change = better - alpha;
        if change != 0.0 {
            coordinate.alpha = better;
            self.value -= change * (gradient + 0.5 * change / step);
            self.balance += change * sign;
            found.add_to(&mut self.weights, change * sign);
        }
        part
    }

    /// Goes to the best place of the plane that the last two steps span, cut off at the bounds, if that gains anything.
    fn look_further(&mut self, trail: &mut Trail) {
        let (near, far) = self.best_mix(trail);
        let Trail { before, last, next } = trail;
        let mixed = |now: f64, before: f64, last: f64| now + near * (now - before) + far * last;
        next.balance = mixed(self.balance, before.balance, last.balance);
        let places = self.weights.iter().zip(before.weights.iter().zip(&last.weights));
        for (next, (&weight, (&before, &last))) in next.weights.iter_mut().zip(places) {
            *next = mixed(weight, before, last);
        }
        let mut gain = 0.0;
        let places = before.alphas.iter().zip(&last.alphas).zip(&mut next.alphas);
        for (row, (coordinate, ((&before, &last), next_alpha))) in self.coordinates.iter().zip(places).enumerate() {
            let wished = mixed(coordinate.alpha, before, last);
            let alpha = wished.clamp(0.0, upper(self.loss, coordinate.cost));
            if alpha != wished {
                let change = (alpha - wished) * coordinate.sign;
                self.rows.row(row).add_to(&mut next.weights, change);
                next.balance += change;
            }
            *next_alpha = alpha;
            gain += alpha - 0.5 * diagonal(self.loss, coordinate.cost) * alpha * alpha;
        }
        let norm = self.rows.product(&next.weights, &next.weights) + self.lift * next.balance * next.balance;
        if gain - 0.5 * norm > self.value {
            self.value = gain - 0.5 * norm;
            self.balance = next.balance;
            std::mem::swap(&mut self.weights, &mut next.weights);
            let pairs = self.coordinates.iter_mut().zip(&next.alphas);
            pairs.for_each(|(coordinate, &alpha)| coordinate.alpha = alpha);
        }
        let alphas = self.coordinates.iter().map(|coordinate| coordinate.alpha);
        walk(alphas, &mut before.alphas, &mut last.alphas);
        walk(self.weights.iter().copied(), &mut before.weights, &mut last.weights);
        (last.balance, before.balance) = (self.balance - before.balance, self.balance);
    }

    /// How far to go along the step since the last look, and along the one before: the maximum of a quadratic function.
    fn best_mix(&self, trail: &Trail) -> (f64, f64) {
        let Trail { before, last, .. } = trail;
        let [mut own, mut both, mut other, mut near, mut far] =
            self.rows.products(&self.weights, &before.weights, &last.weights);
        let step = self.balance - before.balance;
        own += self.lift * step * step;
        both += self.lift * step * last.balance;
        other += self.lift * last.balance * last.balance;
        near += self.lift * self.balance * step;
        far += self.lift * self.balance * last.balance;
        (near, far) = (-near, -far);
        for (coordinate, (before, last)) in self.coordinates.iter().zip(before.alphas.iter().zip(&last.alphas)) {
            let (step, diagonal) = (coordinate.alpha - before, diagonal(self.loss, coordinate.cost));
            let slope = 1.0 - diagonal * coordinate.alpha;
            own += diagonal * step * step;
            both += diagonal * step * last;
            other += diagonal * last * last;
            near += slope * step;
            far += slope * last;
        }
        let determinant = own * other - both * both;
        if determinant > 1e-10 * own * other {
            let along = |one: f64, two: f64| one / determinant - two / determinant;
            (along(near * other, far * both), along(far * own, near * both))
        } else if own > 0.0 {
            (near / own, 0.0)
        } else {
            (0.0, 0.0)
        }
    }

    /// Solves, roughly, for all α between their bounds at once, the others held fixed, by conjugate gradients; then goes
    /// there as far as the bounds allow. Gives how many passes over all rows this was worth.
    fn solve_face(&mut self, turns: &mut Turns, watch: &mut Watch<'_>) -> Option<f64> {
        let start = self.value;
        let inside = |row: &Coordinate| row.alpha > 0.0 && row.alpha < upper(self.loss, row.cost);
        let face: Vec<u32> = (0..self.rows.len() as u32)
            .filter(|&row| inside(&self.coordinates[row as usize]))
            .collect();
        let constant = self.offset + self.lift * self.balance;
        let mut residual = Vec::with_capacity(face.len());
        for &row in &face {
            let coordinate = &self.coordinates[row as usize];
            let output = self.rows.row(row as usize).dot(&self.weights) + constant;
            let gradient = diagonal(self.loss, coordinate.cost) * coordinate.alpha - 1.0 + coordinate.sign * output;
            residual.push(-gradient);
        }
        let slopes = residual.clone();
        let scales: Vec<f64> = face
            .iter()
            .map(|&row| self.coordinates[row as usize].step.abs())
            .collect();
        let mut step: Vec<f64> = residual
            .iter()
            .zip(&scales)
            .map(|(value, scale)| value * scale)
            .collect();
        let mut direction = vec![0.0; face.len()];
        let mut product: f64 = residual.iter().zip(&step).map(|(left, right)| left * right).sum();
        let enough = FACE_FORCING * product;
        let mut rounds = 0;
        while product > enough && rounds < MOST_FACE_ROUNDS {
            rounds += 1;
            let curved = self.curve(&face, &step, watch)?.0;
            let bend: f64 = step.iter().zip(&curved).map(|(left, right)| left * right).sum();
            if bend
                <= 1e-14
                    * step
                        .iter()
                        .zip(&scales)
                        .map(|(step, scale)| step * step / scale)
                        .sum::<f64>()
            {
                break;
            }
            let length = product / bend;
            let mut next = 0.0;
            for place in 0..face.len() {
                direction[place] += length * step[place];
                residual[place] -= length * curved[place];
                next += residual[place] * residual[place] * scales[place];
            }
            let share = next / product;
            product = next;
            for place in 0..face.len() {
                step[place] = residual[place] * scales[place] + share * step[place];
            }
        }
        self.go(&face, &slopes, &direction, watch)?;
        let worth = (1 + rounds) as f64 * face.len() as f64 / self.rows.len().max(1) as f64;
        turns.faced((self.value - start) / worth);
        Some(worth)
    }

    /// Q d on a face, and Σ dᵢyᵢxᵢ.
    fn curve(&self, face: &[u32], step: &[f64], watch: &mut Watch<'_>) -> Option<(Vec<f64>, Vec<f64>)> {
        let (mut sum, mut balance) = (vec![0.0; self.rows.width], 0.0);
        for (&row, step) in face.iter().zip(step).filter(|(_, step)| **step != 0.0) {
            let change = step * self.coordinates[row as usize].sign;
            self.rows.row(row as usize).add_to(&mut sum, change);
            balance += change;
            if watch.stopped(self.rows.size(row as usize)) {
                return None;
            }
        }
        let mut curved = Vec::with_capacity(face.len());
        for (&row, step) in face.iter().zip(step) {
            let coordinate = &self.coordinates[row as usize];
            let output = self.rows.row(row as usize).dot(&sum) + self.lift * balance;
            curved.push(coordinate.sign * output + diagonal(self.loss, coordinate.cost) * step);
            if watch.stopped(self.rows.size(row as usize)) {
                return None;
            }
        }
        Some((curved, sum))
    }

    /// How far the first α of a face is from its bound along a direction, at most 1.
    fn first_bound(&self, face: &[u32], direction: &[f64]) -> f64 {
        let room = face.iter().zip(direction).map(|(&row, along)| {
            let coordinate = &self.coordinates[row as usize];
            let upper = upper(self.loss, coordinate.cost);
            let left = if *along > 0.0 {
                upper - coordinate.alpha
            } else {
                coordinate.alpha
            };
            if *along == 0.0 { 1.0 } else { left / along.abs() }
        });
        room.fold(1.0, f64::min)
    }

    /// Moves the α of a face along a direction, cut off at the bounds, if that gains anything; else half as far.
    fn go(&mut self, face: &[u32], slopes: &[f64], direction: &[f64], watch: &mut Watch<'_>) -> Option<()> {
        let mut length = 1.0;
        for turn in 0..=MOST_HALVINGS {
            if turn == MOST_HALVINGS {
                length = self.first_bound(face, direction); // on this way the objective only falls
            }
            let cut = |(&row, along): (&u32, &f64)| {
                let coordinate = &self.coordinates[row as usize];
                (coordinate.alpha + length * along).clamp(0.0, upper(self.loss, coordinate.cost)) - coordinate.alpha
            };
            let changes: Vec<f64> = face.iter().zip(direction).map(cut).collect();
            let (curved, sum) = self.curve(face, &changes, watch)?;
            let parts = changes.iter().zip(slopes).zip(&curved);
            let gain: f64 = parts
                .map(|((change, slope), curved)| change * (slope - 0.5 * curved))
                .sum();
            if gain > 0.0 {
                for (&row, change) in face.iter().zip(&changes) {
                    let coordinate = &mut self.coordinates[row as usize];
                    coordinate.alpha = (coordinate.alpha + change).clamp(0.0, upper(self.loss, coordinate.cost));
                    self.balance += change * coordinate.sign;
                }
                self.weights
                    .iter_mut()
                    .zip(&sum)
                    .for_each(|(weight, change)| *weight += change);
                self.value += gain;
                break;
            }
            length *= 0.5;
        }
        Some(())
    }

    /// The multiplier of Σ αᵢyᵢ = 0 goes the way that the constraint is violated.
    fn step_multiplier(&mut self) {
        if self.intercept == Intercept::Free {
            self.offset += self.lift * self.balance;
        }
    }

    /// Computes primal and dual values over all rows, and wakes the rows that are not surely at their bounds.
    fn judge(&mut self, bounds: Bounds, watch: &mut Watch<'_>) -> Option<Judgement> {
        let mut outputs = Vec::with_capacity(self.rows.len());
        for row in 0..self.rows.len() {
            outputs.push(self.rows.row(row).dot(&self.weights));
            if watch.stopped(self.rows.size(row)) {
                return None;
            }
        }
        let intercept = self.best_intercept(&outputs);
        let mut violation = 0.0f64;
        self.active.clear();
        self.rests.fill(Rest::default());
        for (row, (output, coordinate)) in outputs.iter().zip(&mut self.coordinates).enumerate() {
            coordinate.step = coordinate.step.abs();
            let (alpha, upper) = (coordinate.alpha, upper(self.loss, coordinate.cost));
            let slack = 1.0 - coordinate.sign * (output + intercept);
            let gradient = diagonal(self.loss, coordinate.cost) * alpha - slack;
            let at_bound = (alpha <= 0.0 && gradient >= 0.0) || (alpha >= upper && gradient <= 0.0);
            if !at_bound {
                violation = violation.max(gradient.abs());
            }
            if !at_bound || (gradient <= bounds.most && gradient >= bounds.least) {
                self.active.push(row as u32);
            }
        }
        let norm = self.rows.product(&self.weights, &self.weights);
        let (primal, scale) = self.primal(&outputs, intercept, norm);
        let dual = self.dual(norm);
        self.value = dual;
        let certificate = Certificate {
            primal,
            dual,
            violation,
            passes: 0,
        };
        Some(Judgement {
            certificate,
            scale,
            intercept,
        })
    }

    /// The primal value, and what the weights must be multiplied with: a hard margin is reached by scaling.
    fn primal(&self, outputs: &[f64], intercept: f64, norm: f64) -> (f64, f64) {
        let penalty = match self.intercept {
            Intercept::Penalised(_) => norm + self.lift * self.balance * self.balance,
            _ => norm,
        };
        let margins = outputs
            .iter()
            .zip(&self.coordinates)
            .map(|(output, row)| row.sign * (output + intercept));
        if self.is_hard() {
            let least = margins.fold(f64::INFINITY, f64::min);
            return if least > 0.0 {
                (0.5 * penalty / (least * least), 1.0 / least)
            } else {
                (f64::INFINITY, 1.0)
            };
        }
        let losses = margins.zip(&self.coordinates).map(|(margin, row)| {
            let slack = (1.0 - margin).max(0.0);
            row.cost * if self.loss == Loss::Hinge { slack } else { slack * slack }
        });
        (0.5 * penalty + losses.sum::<f64>(), 1.0)
    }

    /// The dual value at α or, when the intercept is free, at the nearest α of balance 0 that scaling one class gives.
    fn dual(&self, norm: f64) -> f64 {
        let free = self.intercept == Intercept::Free;
        let excess = self.balance.signum();
        let heavy = |row: &Coordinate| free && row.sign == excess;
        let total: f64 = self
            .coordinates
            .iter()
            .filter(|row| heavy(row))
            .map(|row| row.alpha)
            .sum();
        let kept = if total > 0.0 {
            1.0 - self.balance.abs() / total
        } else {
            1.0
        };
        let gains = self.coordinates.iter().map(|row| {
            let alpha = if heavy(row) { kept * row.alpha } else { row.alpha };
            alpha - 0.5 * diagonal(self.loss, row.cost) * alpha * alpha
        });
        let gain = gains.sum::<f64>();
        if !free {
            return gain - 0.5 * (norm + self.lift * self.balance * self.balance);
        }
        let mut weights = self.weights.clone();
        for (row, coordinate) in self.coordinates.iter().enumerate().filter(|(_, row)| heavy(row)) {
            if coordinate.alpha > 0.0 {
                let change = (kept - 1.0) * coordinate.alpha * coordinate.sign;
                self.rows.row(row).add_to(&mut weights, change);
            }
        }
        gain - 0.5 * self.rows.product(&weights, &weights)
    }

    fn is_hard(&self) -> bool {
        self.coordinates.iter().all(|row| row.cost.is_infinite())
    }

    fn best_intercept(&self, outputs: &[f64]) -> f64 {
        match (self.intercept, self.is_hard()) {
            (Intercept::Free, true) => self.middle(outputs),
            (Intercept::Free, false) if self.loss == Loss::Hinge => self.quantile(outputs),
            (Intercept::Free, false) => self.root(outputs),
            _ => self.offset + self.lift * self.balance,
        }
    }

    /// Half way between the nearest rows of the two classes.
    fn middle(&self, outputs: &[f64]) -> f64 {
        let rows = || outputs.iter().zip(&self.coordinates);
        let positive = rows().filter(|(_, row)| row.sign > 0.0).map(|(output, _)| *output);
        let negative = rows().filter(|(_, row)| row.sign < 0.0).map(|(output, _)| *output);
        let (least, most) = (
            positive.fold(f64::INFINITY, f64::min),
            negative.fold(f64::NEG_INFINITY, f64::max),
        );
        let middle = -0.5 * (least + most);
        if middle.is_finite() { middle } else { self.offset }
    }

    /// The b that minimises Σ cᵢ max(0, 1 − yᵢ(fᵢ + b)): a weighted quantile of yᵢ − fᵢ.
    fn quantile(&self, outputs: &[f64]) -> f64 {
        let rows = outputs.iter().zip(&self.coordinates);
        let mut corners: Vec<(f64, f64)> = rows.map(|(output, row)| (row.sign - output, row.cost)).collect();
        corners.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
        let positive = self.coordinates.iter().filter(|row| row.sign > 0.0);
        let mut slope = -positive.map(|row| row.cost).sum::<f64>();
        for &(corner, cost) in &corners {
            slope += cost;
            if slope >= 0.0 {
                return corner;
            }
        }
        self.offset
    }

    /// The b that minimises Σ cᵢ max(0, 1 − yᵢ(fᵢ + b))²: the zero of a derivative that rises, by Newton's method, which
    /// stays between the bounds that it has met.
    fn root(&self, outputs: &[f64]) -> f64 {
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut place = self.offset + self.lift * self.balance;
        for _ in 0..100 {
            let (mut slope, mut bend) = (0.0, 0.0);
            for (output, row) in outputs.iter().zip(&self.coordinates) {
                let slack = 1.0 - row.sign * (output + place);
                if slack > 0.0 {
                    slope -= row.cost * row.sign * slack;
                    bend += row.cost;
                }
            }
            if slope == 0.0 {
                break;
            }
            if slope > 0.0 {
                high = place
            } else {
                low = place
            }
            let newton = place - slope / bend;
            let next = if newton > low && newton < high {
                newton
            } else {
                0.5 * (low + high)
            };
            if !next.is_finite() || (next - place).abs() <= 1e-15 * place.abs() {
                break;
            }
            place = next;
        }
        place
    }

    fn finish(self, judgement: Judgement, certificate: Certificate) -> Solution {
        Solution {
            weights: self.weights.iter().map(|weight| weight * judgement.scale).collect(),
            intercept: judgement.intercept * judgement.scale,
            duals: self.coordinates.iter().map(|row| row.alpha).collect(),
            certificate,
        }
    }
}

/// D: what the squared hinge adds to the diagonal.
#[inline(always)]
fn diagonal(loss: Loss, cost: f64) -> f64 {
    match loss {
        Loss::Hinge => 0.0,
        Loss::SquaredHinge => 0.5 / cost,
    }
}

/// U: the largest α.
#[inline(always)]
fn upper(loss: Loss, cost: f64) -> f64 {
    match loss {
        Loss::Hinge => cost,
        Loss::SquaredHinge => f64::INFINITY,
    }
}

/// The part of a row in the gap, at least 0 (Fenchel and Young): c ℓ(ξ) + α²/4c (squared only) − αξ.
#[inline(always)]
fn pair(loss: Loss, cost: f64, alpha: f64, slack: f64) -> f64 {
    let positive = slack.max(0.0);
    if cost.is_infinite() {
        // A hard margin has no loss: what a row lacks counts as much as what it has too much.
        return (alpha * slack).abs().max(positive * positive);
    }
    match loss {
        Loss::Hinge => cost * positive - alpha * slack,
        Loss::SquaredHinge => cost * positive * positive + 0.25 * alpha * alpha / cost - alpha * slack,
    }
}
