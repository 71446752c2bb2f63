//! Shrinking: rows that stay at a bound leave the search, and return with forces computed again.

use super::active::Pair;
use super::cache::{Cache, Cell};
use super::{Phase, Solver};
use crate::learners::kernel::Points;

/// Rows whose forces are computed again at a time.
const RESTORED_AT_ONCE: usize = 64;

impl<'a, T: Cell> Solver<'a, T> {
    /// Leave out the rows that stay at a bound, if there are enough of them to be worth the copying.
    pub(super) fn shrink(&mut self, pair: &Pair) -> bool {
        let kept: Vec<u32> = (0..self.active.len())
            .filter(|&place| !self.active.stays_at_bound(place, pair))
            .map(|place| place as u32)
            .collect();
        if kept.len() * 4 > self.active.len() * 3 || kept.len() < 2 {
            return false;
        }
        self.write_back();
        let rows: Vec<u32> = kept.iter().map(|&place| self.active.rows[place as usize]).collect();
        let cache = std::mem::replace(&mut self.cache, Cache::new(0, 0));
        self.cache = cache.kept(&kept, self.settings.cache);
        self.lay_out(&rows);
        self.activate(rows);
        true
    }

    fn lay_out(&mut self, rows: &[u32]) {
        let chosen: Vec<u32> = rows.iter().map(|&row| self.problem.rows[row as usize]).collect();
        self.points = Points::new(&self.problem.table, &chosen, self.problem.kernel);
    }

    /// Begin to compute the forces of the rows set aside again.
    pub(super) fn begin_restoring(&mut self, everything: bool) {
        self.write_back();
        let support: Vec<usize> = (0..self.coefficients.len())
            .filter(|&row| self.coefficients[row] != 0.0)
            .collect();
        let chosen: Vec<u32> = support.iter().map(|&row| self.problem.rows[row]).collect();
        self.phase = Phase::Restoring {
            support: Points::new(&self.problem.table, &chosen, self.problem.kernel),
            weights: support.iter().map(|&row| self.coefficients[row]).collect(),
            next: 0,
            everything,
        };
    }

    pub(super) fn restore(&mut self) {
        let Phase::Restoring {
            support,
            weights,
            next,
            everything,
        } = &mut self.phase
        else {
            return;
        };
        let problem = &self.problem;
        let (mut done, start) = (0, *next);
        let mut still = self.active.rows.partition_point(|&row| (row as usize) < start);
        while *next < problem.rows.len() && done < RESTORED_AT_ONCE {
            if !*everything && self.active.rows.get(still).is_some_and(|&row| row as usize == *next) {
                still += 1; // its force was kept up to date
            } else {
                let vector = problem.table.row(problem.rows[*next] as usize);
                support.against(vector, problem.kernel, &mut self.scratch[0]);
                let values = self.scratch[0].iter().zip(weights.iter());
                let sum: f64 = values.map(|(&value, weight)| T::narrow(value).wide() * weight).sum();
                self.forces[*next] = problem.signs[*next] - sum;
                done += 1;
            }
            *next += 1;
        }
        if *next == problem.rows.len() {
            self.phase = Phase::Searching;
            let all: Vec<u32> = (0..self.coefficients.len() as u32).collect();
            if self.active.len() < all.len() {
                self.cache = Cache::new(all.len(), self.settings.cache);
                self.lay_out(&all);
            }
            self.activate(all);
            self.idle_steps = 0;
        }
    }
}
