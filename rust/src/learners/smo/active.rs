//! The rows that take part in the search, and the loops that choose and move a pair of them.

use super::cache::Cell;
use crate::learners::kernel::LANES;
use crate::system::vector::{Kernel as Loops, dispatch};

/// Forces are searched in chunks; only the best chunk is searched a second time, for the place.
const CHUNK: usize = 32 * LANES;
/// The curvature of a pair counts as at least this much: a kernel need not be positive definite.
pub(super) const LEAST_CURVATURE: f64 = 1e-12;

/// The rows that take part, in arrays padded to a multiple of LANES with rows that cannot move.
#[derive(Default)]
pub(super) struct Active {
    pub(super) rows: Vec<u32>,
    pub(super) force: Vec<f64>,
    pub(super) coefficient: Vec<f64>,
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
    pub(super) diagonal: Vec<f64>,
    /// 0 where the coefficient can rise, −∞ where not.
    pub(super) rising: Vec<f64>,
    /// 0 where the coefficient can fall, ∞ where not.
    pub(super) falling: Vec<f64>,
}

pub(super) struct Pair {
    pub(super) up: usize,
    pub(super) most: f64,
    pub(super) least: f64,
}

impl Active {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn mark(&mut self, place: usize) {
        let coefficient = self.coefficient[place];
        self.rising[place] = if coefficient < self.upper[place] {
            0.0
        } else {
            f64::NEG_INFINITY
        };
        self.falling[place] = if coefficient > self.lower[place] {
            0.0
        } else {
            f64::INFINITY
        };
    }

    /// Return whether the row is at a bound with a force that keeps it there, whatever the pair.
    pub(super) fn stays_at_bound(&self, place: usize, pair: &Pair) -> bool {
        (self.rising[place] != 0.0 && self.force[place] > pair.most)
            || (self.falling[place] != 0.0 && self.force[place] < pair.least)
    }

    /// The places, other than `place`, that `wanted` allows and that violate most: those likely to move soon. `None` if
    /// there are fewer than `N` of them.
    pub(super) fn most_violating<const N: usize>(
        &self,
        place: usize,
        middle: f64,
        wanted: impl Fn(usize) -> bool,
    ) -> Option<[usize; N]> {
        let mut found = [(0.0, place); N];
        for other in 0..self.len() {
            let up = self.force[other] - middle + self.rising[other];
            let down = middle - self.force[other] - self.falling[other];
            let violation = up.max(down);
            if violation <= found[N - 1].0 || other == place || !wanted(other) {
                continue;
            }
            found[N - 1] = (violation, other);
            (1..N).rev().for_each(|later| {
                if found[later].0 > found[later - 1].0 {
                    found.swap(later, later - 1);
                }
            });
        }
        (found[N - 1].0 > 0.0).then(|| found.map(|(_, place)| place))
    }

    /// Move the forces by a step along the difference of two kernel rows, and find the next rising row.
    pub(super) fn move_forces<T: Cell>(&mut self, step: f64, first: &[T], second: &[T]) -> Pair {
        let found = dispatch(Move {
            step,
            first,
            second,
            force: &mut self.force,
            rising: &self.rising,
            falling: &self.falling,
        });
        self.pair(found)
    }

    fn pair(&self, (most, chunk, least): (f64, usize, f64)) -> Pair {
        let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(self.force.len());
        let start = range.start;
        let place = range
            .into_iter()
            .find(|&place| self.force[place] + self.rising[place] == most);
        Pair {
            up: place.unwrap_or(start),
            most,
            least,
        }
    }

    /// Find the falling row that gains most together with the rising one; `None` if none gains.
    pub(super) fn partner<T: Cell>(&self, pair: &Pair, row: &[T]) -> Option<usize> {
        let (most, own) = (pair.most, self.diagonal[pair.up]);
        let (best, best_chunk) = dispatch(Gains {
            most,
            own,
            force: &self.force,
            falling: &self.falling,
            diagonal: &self.diagonal,
            row,
        });
        if best <= 0.0 {
            return None;
        }
        let range = best_chunk * CHUNK..((best_chunk + 1) * CHUNK).min(self.force.len());
        range.into_iter().find(|&place| {
            let falling = self.force[place] + self.falling[place];
            gain(most, own, falling, self.diagonal[place], row[place].wide()) == best
        })
    }
}

/// Moves all forces by a step; the output is the largest force that can rise, its chunk, and the least that can fall.
struct Move<'a, T> {
    step: f64,
    first: &'a [T],
    second: &'a [T],
    force: &'a mut [f64],
    rising: &'a [f64],
    falling: &'a [f64],
}

impl<T: Cell> Loops for Move<'_, T> {
    type Output = (f64, usize, f64);

    #[inline(always)]
    fn run(self) -> (f64, usize, f64) {
        let (mut best, mut best_chunk, mut least) = (f64::NEG_INFINITY, 0, [f64::INFINITY; LANES]);
        let chunks = self
            .force
            .chunks_mut(CHUNK)
            .zip(self.first.chunks(CHUNK).zip(self.second.chunks(CHUNK)))
            .zip(self.rising.chunks(CHUNK).zip(self.falling.chunks(CHUNK)));
        for (chunk, ((force, (first, second)), (rising, falling))) in chunks.enumerate() {
            let mut most = [f64::NEG_INFINITY; LANES];
            let lanes = force
                .as_chunks_mut::<LANES>()
                .0
                .iter_mut()
                .zip(first.as_chunks::<LANES>().0.iter().zip(second.as_chunks::<LANES>().0))
                .zip(rising.as_chunks::<LANES>().0.iter().zip(falling.as_chunks::<LANES>().0));
            for ((force, (first, second)), (rising, falling)) in lanes {
                for lane in 0..LANES {
                    force[lane] -= self.step * (first[lane].wide() - second[lane].wide());
                    let (up, down) = (force[lane] + rising[lane], force[lane] + falling[lane]);
                    most[lane] = if up > most[lane] { up } else { most[lane] };
                    least[lane] = if down < least[lane] { down } else { least[lane] };
                }
            }
            let most = most.into_iter().fold(f64::NEG_INFINITY, f64::max);
            if most > best {
                (best, best_chunk) = (most, chunk);
            }
        }
        (best, best_chunk, least.into_iter().fold(f64::INFINITY, f64::min))
    }
}

/// Return twice the gain of a pair by the second-order estimate: (F_i − F_j)² / (K_ii + K_jj − 2 K_ij).
#[inline(always)]
fn gain(most: f64, own: f64, falling: f64, diagonal: f64, kernel: f64) -> f64 {
    let difference = most - falling;
    let difference = if difference > 0.0 { difference } else { 0.0 };
    let curvature = own + diagonal - 2.0 * kernel;
    let curvature = if curvature > LEAST_CURVATURE {
        curvature
    } else {
        LEAST_CURVATURE
    };
    difference * difference / curvature
}

/// Finds the largest gain of a row that can fall with the rising row, and its chunk.
struct Gains<'a, T> {
    pub(super) most: f64,
    own: f64,
    force: &'a [f64],
    falling: &'a [f64],
    diagonal: &'a [f64],
    row: &'a [T],
}

impl<T: Cell> Loops for Gains<'_, T> {
    type Output = (f64, usize);

    #[inline(always)]
    fn run(self) -> (f64, usize) {
        let (mut best, mut best_chunk) = (0.0, 0);
        let chunks = (self.force.chunks(CHUNK).zip(self.falling.chunks(CHUNK)))
            .zip(self.diagonal.chunks(CHUNK).zip(self.row.chunks(CHUNK)));
        for (chunk, ((force, falling), (diagonal, row))) in chunks.enumerate() {
            let mut gains = [0.0; LANES];
            let lanes = (force.as_chunks::<LANES>().0.iter().zip(falling.as_chunks::<LANES>().0))
                .zip(diagonal.as_chunks::<LANES>().0.iter().zip(row.as_chunks::<LANES>().0));
            for ((force, falling), (diagonal, row)) in lanes {
                for lane in 0..LANES {
                    let falling = force[lane] + falling[lane];
                    let gain = gain(self.most, self.own, falling, diagonal[lane], row[lane].wide());
                    gains[lane] = if gain > gains[lane] { gain } else { gains[lane] };
                }
            }
            let most = gains.into_iter().fold(0.0, f64::max);
            if most > best {
                (best, best_chunk) = (most, chunk);
            }
        }
        (best, best_chunk)
    }
}
