//! tf–idf: counts of terms to weights, row by row.

/// The length to which the weights of a row are brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    None,
    /// The absolute weights sum to one.
    Sum,
    /// The squared weights sum to one.
    Euclidean,
}

impl Norm {
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Norm::None),
            "l1" => Some(Norm::Sum),
            "l2" => Some(Norm::Euclidean),
            _ => None,
        }
    }
}

/// Counts below this have their logarithm in a table.
const FEW: usize = 64;

/// How a count becomes a weight: tf or 1 + ln tf, times idf, divided by the length of the row.
pub struct Weighting<'a> {
    idf: Option<&'a [f64]>,
    logarithms: Option<Vec<f64>>,
    norm: Norm,
}

impl<'a> Weighting<'a> {
    /// Make a weighting; `idf` has a weight for each term.
    pub fn new(idf: Option<&'a [f64]>, sublinear: bool, norm: Norm) -> Self {
        let logarithms = sublinear.then(|| (0..FEW).map(|count| (count as f64).ln() + 1.0).collect());
        Weighting { idf, logarithms, norm }
    }

    /// Replace the counts of one row by weights; `terms` are places in `idf`.
    pub fn row(&self, terms: &[i32], weights: &mut [f64]) {
        if let Some(table) = &self.logarithms {
            weights
                .iter_mut()
                .for_each(|weight| *weight = sublinear(*weight, table));
        }
        if let Some(idf) = self.idf {
            for (weight, &term) in weights.iter_mut().zip(terms) {
                *weight *= idf[term as usize];
            }
        }
        let length = match self.norm {
            Norm::None => return,
            Norm::Sum => sum_of(weights, f64::abs),
            Norm::Euclidean => sum_of(weights, |weight| weight * weight).sqrt(),
        };
        if length != 0.0 {
            weights.iter_mut().for_each(|weight| *weight /= length);
        }
    }
}

/// 1 + ln tf.
#[inline]
fn sublinear(count: f64, logarithms: &[f64]) -> f64 {
    let place = count as usize;
    if place as f64 == count && place < FEW {
        return logarithms[place];
    }
    count.ln() + 1.0
}

/// Sum in four lanes, which do not wait for each other.
#[inline]
fn sum_of(weights: &[f64], term: impl Fn(f64) -> f64) -> f64 {
    let mut sums = [0.0; 4];
    let chunks = weights.chunks_exact(4);
    let rest: f64 = chunks.remainder().iter().map(|&weight| term(weight)).sum();
    for chunk in chunks {
        for lane in 0..4 {
            sums[lane] += term(chunk[lane]);
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_unit_length_and_a_row_of_zeros_stays() {
        let weighting = Weighting::new(Some(&[1.0, 2.0]), true, Norm::Euclidean);
        let mut weights = [1.0; 2];
        weighting.row(&[0, 1], &mut weights);
        assert!((weights[1] / weights[0] - 2.0).abs() < 1e-15);
        assert!((weights[0].hypot(weights[1]) - 1.0).abs() < 1e-15);
        let mut zeros = [0.0];
        Weighting::new(None, false, Norm::Sum).row(&[0], &mut zeros);
        assert_eq!(zeros, [0.0]);
    }
}
