//! A path of solutions for costs that rise or fall: each begins at the one before, with its kernel rows in the cache.

use super::cache::Cell;
use super::{Phase, Solver};

impl<T: Cell> Solver<'_, T> {
    /// Go on from the solution with all costs multiplied by a factor: coefficients grow alike, and forces follow.
    pub fn scale_costs(&mut self, factor: f64, most_steps: u64) {
        let problem = &mut self.problem;
        for row in 0..problem.signs.len() {
            let is_bound = self.coefficients[row].abs() == problem.costs[row];
            problem.costs[row] *= factor;
            let (sign, most) = (problem.signs[row], problem.costs[row]);
            let scaled = (factor * self.coefficients[row]).clamp(-most, most);
            self.coefficients[row] = if is_bound { sign * most } else { scaled };
            self.forces[row] = sign - factor * (sign - self.forces[row]);
        }
        let terms = self.coefficients.iter().zip(&problem.signs).zip(&self.forces);
        self.dual = terms
            .map(|((coefficient, sign), force)| 0.5 * coefficient * (sign + force))
            .sum();
        (self.phase, self.converged, self.refined) = (Phase::Searching, false, false);
        (self.deadline, self.tolerance) = (u64::MAX, self.settings.tolerance);
        self.settings.most_steps = self.steps.saturating_add(most_steps);
        (self.exact_steps, self.exact_rounds, self.idle_steps) = (self.steps, 0, 0);
        self.steps_to_shrinking = self.shrinking_period();
        self.activate((0..self.coefficients.len() as u32).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::solved;
    use super::super::{Problem, Settings};
    use super::*;
    use crate::learners::kernel::Kernel;
    use crate::tables::vectors::Vectors;

    #[test]
    fn costs_that_rise_lead_to_the_solution_of_the_last() {
        let table: Vec<f64> = (0..120).map(|place| f64::from(place * place % 37) / 10.0).collect();
        let signs: Vec<f64> = (0..60).map(|row| if row * row % 7 < 3 { 1.0 } else { -1.0 }).collect();
        let alone = solved(&table, 2, &signs, 8.0, Kernel::Gaussian { gamma: 0.5 }, 1 << 20);
        let problem = Problem {
            table: Vectors::dense(&table, 60, 2).unwrap(),
            rows: (0..60).collect(),
            signs: signs.clone(),
            costs: vec![0.5; 60],
            kernel: Kernel::Gaussian { gamma: 0.5 },
        };
        let settings = Settings {
            tolerance: 1e-3,
            cache: 1 << 20,
            shrinking: true,
            most_steps: 1_000_000,
        };
        let mut solver = Solver::<f64>::new(problem, settings);
        for factor in [4.0, 4.0] {
            while !solver.advance(10) {}
            solver.scale_costs(factor, 1_000_000);
        }
        while !solver.advance(10) {}
        let last = solver.solution();
        assert!(last.converged && (last.dual - alone.dual).abs() < 1e-4 * alone.dual);
        assert!(last.primal - last.dual <= 1e-4 * last.primal);
        assert!(last.coefficients.iter().sum::<f64>().abs() < 1e-9);
    }
}
