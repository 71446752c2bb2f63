//! When each row is visited, and when a face is solved.
//!
//! Rows that stay at a bound are visited less often, after Glasmachers and Dogan, "Accelerated coordinate descent with
//! adaptive coordinate frequencies", ACML 2013. Gain with the hinge loss at C = 1 (gap 1e-6): reviews as tf–idf rows
//! 1.8× faster, w8a 1.4×, a9a 1.2×.

/// A row found at its bound is skipped once, then three times, and so on up to this many times.
const MOST_SKIPS: u8 = 7;
/// The passes from which the rate of convergence is estimated.
const OBSERVED_PASSES: usize = 8;
/// The passes before the first face is solved: by then most bounds are found.
const FIRST_FACE: usize = 10;

/// How often a row that was found at its bound is skipped, and how often still.
#[derive(Clone, Copy, Default)]
pub(super) struct Skip {
    length: u8,
    left: u8,
}

impl Skip {
    /// Return whether to skip the row this time.
    #[inline(always)]
    pub(super) fn skips_now(&mut self) -> bool {
        let skips = self.left > 0;
        self.left -= u8::from(skips);
        skips
    }

    pub(super) fn longer(self) -> Skip {
        let length = (2 * self.length + 1).min(MOST_SKIPS);
        Skip { length, left: length }
    }
}

/// The bounds of the projected gradient in the last pass: rows beyond them are left out in the next.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Bounds {
    pub(super) const NONE: Bounds = Bounds {
        least: f64::NEG_INFINITY,
        most: f64::INFINITY,
    };

    /// Remove bounds of 0, which only mean that no row could move that way.
    pub(super) fn unless_nothing_moved(self) -> Bounds {
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

/// When to solve a face: if the last one gained more for its cost than passes do, and from time to time to find out.
pub(super) struct FaceSchedule {
    by_pass: f64,
    by_face: f64,
    wait: usize,
    left: usize,
}

impl Default for FaceSchedule {
    fn default() -> Self {
        FaceSchedule {
            by_pass: 0.0,
            by_face: 0.0,
            wait: FIRST_FACE,
            left: FIRST_FACE,
        }
    }
}

impl FaceSchedule {
    pub(super) fn passed(&mut self, gain: f64) {
        self.by_pass = if gain.is_finite() { gain } else { 0.0 };
        self.left = self.left.saturating_sub(1);
    }

    pub(super) fn face_is_due(&self) -> bool {
        self.left == 0 || self.by_face > self.by_pass
    }

    pub(super) fn faced(&mut self, gain: f64) {
        self.by_face = if gain.is_finite() { gain } else { 0.0 };
        self.wait = if gain > self.by_pass { FIRST_FACE } else { 2 * self.wait };
        self.left = self.wait;
    }
}

/// The gaps of the last passes, from which the number of passes left is estimated.
#[derive(Default)]
pub(super) struct Convergence {
    gaps: Vec<f64>,
}

impl Convergence {
    pub(super) fn passed(&mut self, gap: f64) {
        self.gaps.push(gap);
    }

    /// The likely gap of the next pass.
    pub(super) fn next(&self) -> f64 {
        match self.gaps[..] {
            [.., before, last] => last * (last / before).min(1.0),
            _ => f64::INFINITY,
        }
    }

    /// Return how many passes it takes to reach a gap, if it keeps falling at the same rate.
    pub(super) fn passes_to(&self, gap: f64) -> f64 {
        let Some(&[first, .., last]) = self.gaps.last_chunk::<OBSERVED_PASSES>() else {
            return 0.0;
        };
        let fall = (first / last).ln() / (OBSERVED_PASSES - 1) as f64;
        if fall > 0.0 {
            (last / gap).ln() / fall
        } else {
            f64::INFINITY
        }
    }
}
