//! Edges of bins that are not numbers of any row: each moves a little to a number of few digits.

/// Edges are rounded by at most this share of the way from the middle to the numbers beside them.
const ROUNDED: f64 = 0.2;
/// This many digits after the first write every double.
const MOST_DIGITS: usize = 16;

/// Return edges that put all numbers into the same bins and of which none is a number; the outermost become infinite.
///
/// `known` are the finite numbers, sorted. An inner edge without room, between numbers that differ in their last bit,
/// is left out.
pub fn without_values(edges: &[f64], known: &[f64]) -> Vec<f64> {
    let mut found = vec![f64::NEG_INFINITY];
    if let ([first, ..], [.., last]) = (known, known) {
        let inside = edges.get(1..edges.len().max(1) - 1).unwrap_or_default().iter();
        let inner: Vec<f64> = inside.copied().filter(|edge| edge > first && edge <= last).collect();
        for (place, &edge) in inner.iter().enumerate() {
            let reached = known.partition_point(|value| *value < edge);
            // Neither side goes beyond the middle between two edges, so that bins without numbers remain bins.
            let before = if place == 0 { *first } else { inner[place - 1] };
            let after = inner.get(place + 1).unwrap_or(last);
            let low = known[reached - 1].max(before / 2.0 + edge / 2.0);
            let high = known[reached].min(edge / 2.0 + after / 2.0);
            found.extend(rounded(edge, low, high));
        }
    }
    found.push(f64::INFINITY);
    found
}

/// A number of few digits near an edge, or near the middle if the edge is not inside; `None` without room.
fn rounded(edge: f64, low: f64, high: f64) -> Option<f64> {
    let is_inside = low < edge && edge < high;
    let aim = if is_inside { edge } else { low / 2.0 + high / 2.0 };
    let near = ROUNDED * (high / 2.0 - low / 2.0);
    (0..=MOST_DIGITS).find_map(|digits| {
        let found: f64 = format!("{aim:.digits$e}").parse().ok()?;
        let is_near = (found - aim).abs() <= near || digits == MOST_DIGITS;
        (low < found && found < high && is_near).then_some(found)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

    #[test]
    fn edges_move_to_short_numbers_between_the_values() {
        let known = [20.1375, 31.4159, 31.9273, 64.2741];
        let found = without_values(&[20.1375, 31.4159, 31.9273, 64.2741], &known);
        assert_eq!(found, [ENDS[0], 29.0, 31.8, ENDS[1]]);
    }

    #[test]
    fn an_edge_without_room_is_left_out() {
        let next = f64::from_bits(1f64.to_bits() + 1);
        assert_eq!(without_values(&[1.0, next, next], &[1.0, next]), ENDS);
        assert_eq!(without_values(&[], &[]), ENDS);
        assert_eq!(without_values(&[0.0], &[0.0]), ENDS);
    }
}
