//! Rows of numbers on a grid of powers of two: whole numbers, kept as doubles, whose sums and products are exact.

use crate::system::vector::{Kernel, dispatch};

/// Adding and subtracting this rounds a double below 2⁵¹ to a whole number, to the even one of two.
const ROUNDING: f64 = 6_755_399_441_055_744.0;

/// A number that a grid takes.
pub trait Number: Copy {
    fn double(self) -> f64;
}

impl Number for f32 {
    #[inline(always)]
    fn double(self) -> f64 {
        f64::from(self)
    }
}

impl Number for f64 {
    #[inline(always)]
    fn double(self) -> f64 {
        self
    }
}

/// The origin of each axis, and the units in one.
#[derive(Clone, Copy)]
pub struct Grid<'a> {
    pub origin: &'a [f64],
    pub per_unit: &'a [f64],
}

/// Rows with the class of each, and what they are summed into: the first sums, classes × axes.
pub struct Rows<'a, T> {
    pub values: &'a [T],
    pub classes: &'a [i32],
    pub limit: f64,
    pub first: &'a mut [f64],
}

/// Put rows on the grid: `units` becomes their whole numbers, `largest` the largest magnitude in each row.
///
/// A row with a number beyond `limit`, or one that is not finite, is left out: its units are zero and `largest` is infinite.
pub fn place<T: Number>(grid: Grid<'_>, rows: Rows<'_, T>, units: &mut [f64], largest: &mut [f64]) {
    dispatch(Placing {
        grid,
        rows,
        units,
        largest,
    });
}

struct Placing<'a, 'b, T> {
    grid: Grid<'a>,
    rows: Rows<'a, T>,
    units: &'b mut [f64],
    largest: &'b mut [f64],
}

impl<T: Number> Kernel for Placing<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let axes = self.grid.origin.len();
        let rows = self
            .rows
            .values
            .chunks_exact(axes)
            .zip(self.units.chunks_exact_mut(axes));
        for (((values, units), largest), &class) in rows.zip(self.largest).zip(self.rows.classes) {
            *largest = place_row(self.grid, values, units);
            if *largest > self.rows.limit {
                units.fill(0.0);
                *largest = f64::INFINITY;
                continue;
            }
            let first = &mut self.rows.first[class as usize * axes..][..axes];
            for (sum, &unit) in first.iter_mut().zip(units.iter()) {
                *sum += unit;
            }
        }
    }
}

/// Put a row on the grid and return the largest magnitude; infinity if a number is not finite.
#[inline(always)]
fn place_row<T: Number>(grid: Grid<'_>, values: &[T], units: &mut [f64]) -> f64 {
    const LANES: usize = 8;
    let mut most = [0.0_f64; LANES];
    let mut wrong = [0.0_f64; LANES];
    let axes = values.len();
    let (origin, per_unit, units) = (&grid.origin[..axes], &grid.per_unit[..axes], &mut units[..axes]);
    let whole = axes - axes % LANES;
    let mut step = |place: usize, lane: usize| {
        let steps = (values[place].double() - origin[place]) * per_unit[place];
        let unit = (steps + ROUNDING) - ROUNDING;
        units[place] = unit;
        let size = steps.abs();
        most[lane] = if size > most[lane] { size } else { most[lane] };
        wrong[lane] += steps * 0.0; // NaN if it is not finite
    };
    for start in (0..whole).step_by(LANES) {
        for lane in 0..LANES {
            step(start + lane, lane);
        }
    }
    for place in whole..axes {
        step(place, place - whole);
    }
    if wrong.iter().any(|sum| sum.is_nan()) {
        return f64::INFINITY;
    }
    most.iter()
        .fold(0.0, |most, &size| if size > most { size } else { most })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_whole_numbers() {
        let grid = Grid {
            origin: &[1.0, 0.0],
            per_unit: &[4.0, 1.0],
        };
        let values = [1.26_f32, -2.5, 1.0, 1e9, 1.0, f32::NAN];
        let (mut first, mut units, mut largest) = (vec![0.0; 4], vec![9.0; 6], vec![0.0; 3]);
        let rows = Rows {
            values: &values,
            classes: &[1, 0, 0],
            limit: 100.0,
            first: &mut first,
        };
        place(grid, rows, &mut units, &mut largest);
        assert_eq!(units, [1.0, -2.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(first, [0.0, 0.0, 1.0, -2.0]);
        assert_eq!(largest, [2.5, f64::INFINITY, f64::INFINITY]);
    }
}
