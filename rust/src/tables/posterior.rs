//! From log joint probabilities to probabilities, by log-sum-exp.

use crate::system::vector::{Kernel, dispatch};

/// Numbers worked on at once: they stay in the nearest cache.
const BLOCK: usize = 1 << 11;
/// Below this, e^x rounds to nothing.
const LEAST: f64 = -746.0;
/// From here on e^x is a number of full precision.
const LEAST_NORMAL: f64 = -700.0;

/// Turn rows of `classes` log joint probabilities into probabilities, in place.
///
/// A row in which nothing is possible (all −∞), or that holds a NaN, becomes uniform.
pub fn posterior(scores: &mut [f64], classes: usize) {
    match classes {
        0 => (),
        2 => dispatch(OfTwo(scores)),
        _ => {
            let rows = (BLOCK / classes).max(1);
            scores.chunks_mut(rows * classes).for_each(|rows| many(rows, classes));
        }
    }
}

/// e^x for x ≤ 0, to 1 unit in the last place, without a branch.
#[inline(always)]
pub fn exp_below_zero(x: f64) -> f64 {
    const SMALL: f64 = 1.0 / 18_446_744_073_709_551_616.0; // 2^-64
    let x = if x < LEAST { LEAST } else { x };
    let (factor, doublings) = reduced(x);
    // Powers below 2^-1022 are reached in two steps.
    let tiny = x < LEAST_NORMAL;
    let exponent = doublings.wrapping_add(if tiny { 1023 + 64 } else { 1023 });
    factor * (f64::from_bits(exponent << 52) * if tiny { SMALL } else { 1.0 })
}

/// e^x for −700 ≤ x ≤ 0, and e^−700 below: such a share is negligible beside 1.
#[inline(always)]
pub fn exp_of_moderate(x: f64) -> f64 {
    let (factor, doublings) = reduced(if x < LEAST_NORMAL { LEAST_NORMAL } else { x });
    factor * f64::from_bits(doublings.wrapping_add(1023) << 52)
}

/// e^r and k, in the last bits, with x = k ln 2 + r and |r| ≤ ln 2 / 2.
#[inline(always)]
fn reduced(x: f64) -> (f64, u64) {
    const ROUNDING: f64 = 6755399441055744.0; // 1.5 · 2^52: after adding it, the last bits are the rounded integer
    const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1; // the last bits are zero, so that k · LN_2_HIGH is exact
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let shifted = x * std::f64::consts::LOG2_E + ROUNDING;
    let k = shifted - ROUNDING;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    (1.0 + (r + r * r * series(r)), shifted.to_bits())
}

/// (e^r − 1 − r) / r², for |r| ≤ ln 2 / 2: the polynomial through Chebyshev's points, off by 3e-17 of e^r at most.
#[inline(always)]
fn series(r: f64) -> f64 {
    const COEFFICIENTS: [f64; 9] = [
        2.761_379_555_451_986e-7,
        2.755_728_008_268_468_5e-6,
        2.480_153_640_906_408_7e-5,
        1.984_126_985_433_077e-4,
        1.388_888_890_587_134_7e-3,
        8.333_333_333_332_157e-3,
        4.166_666_666_665_136_4e-2,
        1.0 / 6.0,
        1.0 / 2.0,
    ];
    let mut sum = 2.509_554_598_170_022e-8;
    for coefficient in COEFFICIENTS {
        sum = sum * r + coefficient;
    }
    sum
}

/// Probabilities of two classes, which need one exponential a row.
struct OfTwo<'a>(&'a mut [f64]);

impl Kernel for OfTwo<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for row in self.0.as_chunks_mut::<2>().0 {
            let lead = row[0] - row[1];
            let share = exp_below_zero(-lead.abs());
            let (more, less) = (1.0 / (1.0 + share), share / (1.0 + share));
            let (first, second) = if lead >= 0.0 { (more, less) } else { (less, more) };
            *row = if lead.is_nan() { [0.5, 0.5] } else { [first, second] };
        }
    }
}

struct Exponentials<'a>(&'a mut [f64]);

impl Kernel for Exponentials<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.0.iter_mut().for_each(|value| *value = exp_below_zero(*value));
    }
}

fn many(rows: &mut [f64], classes: usize) {
    for row in rows.chunks_exact_mut(classes) {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if top == f64::INFINITY {
            row.iter_mut().for_each(|score| *score = certain(*score));
        } else {
            row.iter_mut().for_each(|score| *score -= top);
        }
    }
    dispatch(Exponentials(rows));
    for row in rows.chunks_exact_mut(classes) {
        let total: f64 = row.iter().sum();
        if total > 0.0 {
            row.iter_mut().for_each(|share| *share /= total);
        } else {
            row.fill(1.0 / classes as f64);
        }
    }
}

/// The score beside one of +∞: only infinite scores count.
fn certain(score: f64) -> f64 {
    match score {
        f64::INFINITY => 0.0,
        score if score.is_nan() => score,
        _ => f64::NEG_INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::vector::on_every_path;

    struct Powers(Vec<f64>);

    impl Kernel for Powers {
        type Output = Vec<f64>;

        #[inline(always)]
        fn run(mut self) -> Vec<f64> {
            Exponentials(&mut self.0).run();
            self.0
        }
    }

    #[test]
    fn the_exponential_is_right_to_the_last_place_on_every_path() {
        let mut inputs: Vec<f64> = (0..200_000).map(|step| -f64::from(step) * 0.003_737_1).collect();
        inputs.extend((0..2_000).map(|step| -(2f64.powi(-step / 2))));
        inputs.extend([
            0.0,
            -0.0,
            -708.3,
            -708.4,
            -744.4,
            -745.1,
            -745.2,
            -800.0,
            -1e300,
            f64::NEG_INFINITY,
        ]);
        let found = on_every_path(|| Powers(inputs.clone()));
        for (&x, &value) in inputs.iter().zip(&found[0]) {
            let expected = x.exp();
            let place = (f64::from_bits(expected.to_bits() + 1) - expected).max(f64::from_bits(1));
            assert!(
                (value - expected).abs() <= place,
                "{x}: {value:e} instead of {expected:e}"
            );
        }
        assert!(found.iter().all(|other| *other == found[0]));
        assert!(Powers(vec![f64::NAN]).run()[0].is_nan());
    }

    #[test]
    fn two_classes_are_as_any_number() {
        let rows = [
            [0.0, -1.0],
            [-3.0, 4.5],
            [-1e4, -1e4],
            [f64::NEG_INFINITY, -2.0],
            [f64::INFINITY, 0.0],
        ];
        let mut two: Vec<f64> = rows.concat();
        let mut any = two.clone();
        posterior(&mut two, 2);
        many(&mut any, 2);
        assert_eq!(two, any);
        let mut odd = [f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0];
        posterior(&mut odd, 2);
        assert_eq!(odd, [0.5; 4]);
    }

    #[test]
    fn rows_that_say_nothing_are_uniform() {
        let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut scores = [
            low,
            low,
            low,
            low,
            f64::NAN,
            0.0,
            0.0,
            0.0,
            1.0,
            2.0,
            high,
            high,
            low,
            0.0,
            7.0,
            high,
        ];
        posterior(&mut scores, 4);
        assert_eq!(scores[..8], [0.25; 8]);
        assert_eq!(scores[8..12], [0.0, 0.0, 0.5, 0.5]);
        assert_eq!(scores[12..], [0.0, 0.0, 0.0, 1.0]);
    }
}
