//! What a wrong score costs, and by how much a score should change.

/// A loss of the score p of a row whose class is y = ±1.
#[derive(Clone, Copy, Debug)]
pub enum Loss {
    /// max(0, threshold − y·p); with the threshold 0 the perceptron's.
    Hinge { threshold: f64 },
    /// max(0, 1 − y·p)².
    SquaredHinge,
    /// log(1 + exp(−y·p)).
    Log,
    /// (1 − y·p)² above −1, linear below (Zhang 2004).
    ModifiedHuber,
}

impl Loss {
    pub fn named(name: &str) -> Option<Loss> {
        Some(match name {
            "hinge" => Loss::Hinge { threshold: 1.0 },
            "perceptron" => Loss::Hinge { threshold: 0.0 },
            "squared_hinge" => Loss::SquaredHinge,
            "log_loss" => Loss::Log,
            "modified_huber" => Loss::ModifiedHuber,
            _ => return None,
        })
    }

    /// Return the loss.
    #[inline(always)]
    pub fn value(self, sign: f64, score: f64) -> f64 {
        let margin = sign * score;
        match self {
            Loss::Hinge { threshold } => (threshold - margin).max(0.0),
            Loss::SquaredHinge => (1.0 - margin).max(0.0).powi(2),
            Loss::Log if margin > 0.0 => (-margin).exp().ln_1p(),
            Loss::Log => margin.exp().ln_1p() - margin,
            Loss::ModifiedHuber if margin >= -1.0 => (1.0 - margin).max(0.0).powi(2),
            Loss::ModifiedHuber => -4.0 * margin,
        }
    }

    /// Return the derivative of the loss by the score.
    #[inline(always)]
    pub fn slope(self, sign: f64, score: f64) -> f64 {
        let margin = sign * score;
        match self {
            Loss::Hinge { threshold } if margin <= threshold => -sign,
            Loss::Hinge { .. } => 0.0,
            Loss::SquaredHinge => -2.0 * sign * (1.0 - margin).max(0.0),
            Loss::Log if margin > 0.0 => {
                let odds = (-margin).exp();
                -sign * odds / (1.0 + odds)
            }
            Loss::Log => -sign / (1.0 + margin.exp()),
            Loss::ModifiedHuber if margin >= -1.0 => -2.0 * sign * (1.0 - margin).max(0.0),
            Loss::ModifiedHuber => -4.0 * sign,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_derivatives() {
        for name in ["hinge", "perceptron", "squared_hinge", "log_loss", "modified_huber"] {
            let loss = Loss::named(name).unwrap();
            for sign in [-1.0, 1.0] {
                for score in [-30.0, -2.5, -0.7, 0.3, 1.6, 40.0] {
                    let rise = (loss.value(sign, score + 1e-6) - loss.value(sign, score - 1e-6)) / 2e-6;
                    assert!((rise - loss.slope(sign, score)).abs() < 1e-4, "{name} {sign} {score}");
                }
            }
        }
        assert!(Loss::named("other").is_none());
    }
}
