//! Rows of term counts: as threads write them, portion by portion, and all in order as one sparse matrix.

use std::ops::Range;

use crate::system::memory::{all_pages, in_parts};

/// How many terms ahead memory is requested.
const TERMS_AHEAD: usize = 1 << 18;
/// The largest count that is kept as a byte.
const SMALL: u32 = u8::MAX as u32;

/// Rows that one thread has written, compressed: row i is `terms[ends[i - 1]..ends[i]]`.
///
/// All portions share one block of memory, because the system lets large blocks grow without copying. Few counts are
/// large; those that do not fit into a byte are listed with their places.
#[derive(Default)]
pub struct Rows {
    /// The place of each portion in the stream, and its first row.
    portions: Vec<(usize, usize)>,
    ends: Vec<usize>,
    terms: Vec<u32>,
    small: Vec<u8>,
    large: Vec<(usize, u32)>,
    /// The number of terms for which there is memory.
    ready: usize,
}

impl Rows {
    /// Begin portion `place` of the stream.
    pub fn begin(&mut self, place: usize) {
        self.portions.push((place, self.ends.len()));
    }

    /// Append a row to the portion that was begun.
    pub fn push(&mut self, terms: &[u32], counts: &[u32]) {
        let before = self.terms.len();
        if before + terms.len() > self.ready {
            self.make_room(terms.len());
        }
        self.terms.extend_from_slice(terms);
        self.small.extend(counts.iter().map(|&count| count as u8));
        if counts.iter().any(|&count| count > SMALL) {
            let large = counts.iter().enumerate().filter(|&(_, &count)| count > SMALL);
            self.large.extend(large.map(|(place, &count)| (before + place, count)));
        }
        self.ends.push(self.terms.len());
    }

    #[cold]
    fn make_room(&mut self, more: usize) {
        self.terms.reserve(more);
        self.small.reserve(more);
        let (terms, small) = (self.terms.spare_capacity_mut(), self.small.spare_capacity_mut());
        let ahead = more.max(TERMS_AHEAD).min(terms.len()).min(small.len());
        all_pages(&mut terms[..ahead]);
        all_pages(&mut small[..ahead]);
        self.ready = self.terms.len() + ahead;
    }

    /// Return whether no portion was begun.
    pub fn is_empty(&self) -> bool {
        self.portions.is_empty()
    }

    /// The terms of all rows.
    pub fn terms(&self) -> &[u32] {
        &self.terms
    }

    /// The counts of all rows.
    pub fn counts(&self) -> Vec<u32> {
        let mut counts: Vec<u32> = self.small.iter().map(|&count| u32::from(count)).collect();
        self.large.iter().for_each(|&(place, count)| counts[place] = count);
        counts
    }

    fn start(&self, row: usize) -> usize {
        row.checked_sub(1).map_or(0, |last| self.ends[last])
    }

    /// The large counts among those of certain terms.
    fn large(&self, terms: &Range<usize>) -> &[(usize, u32)] {
        let place = |bound| self.large.partition_point(|&(place, _)| place < bound);
        &self.large[place(terms.start)..place(terms.end)]
    }
}

/// Portions that follow each other in the stream: their owner, and their rows and terms among the owner's.
pub struct Segment {
    pub owner: usize,
    pub rows: Range<usize>,
    pub terms: Range<usize>,
}

impl Segment {
    /// Grow by the segment that follows in the stream, if it follows in memory, too; return whether it does.
    fn absorbs(&mut self, next: &Segment) -> bool {
        let follows = self.owner == next.owner && self.rows.end == next.rows.start;
        if follows {
            (self.rows.end, self.terms.end) = (next.rows.end, next.terms.end);
        }
        follows
    }
}

/// Return the segments of all rows in the order of the stream.
pub fn in_order(all: &[Rows]) -> Vec<Segment> {
    let of_owner = |(owner, rows): (usize, &'_ Rows)| {
        let ends = rows
            .portions
            .iter()
            .skip(1)
            .map(|&(_, first)| first)
            .chain([rows.ends.len()]);
        let segment = |(&(place, first), end)| {
            let terms = rows.start(first)..rows.start(end);
            let rows = first..end;
            (place, Segment { owner, rows, terms })
        };
        rows.portions.iter().zip(ends).map(segment).collect::<Vec<_>>()
    };
    let mut segments: Vec<(usize, Segment)> = all.iter().enumerate().flat_map(of_owner).collect();
    segments.sort_unstable_by_key(|&(place, _)| place);
    let mut segments: Vec<Segment> = segments.into_iter().map(|(_, segment)| segment).collect();
    segments.dedup_by(|next, before| before.absorbs(next));
    segments
}

/// Cut the values that owners have for their terms into segments.
fn cut<'a, S>(segments: &[Segment], mut owned: Vec<&'a mut [S]>) -> Vec<&'a mut [S]> {
    let mut in_memory: Vec<usize> = (0..segments.len()).collect();
    in_memory.sort_by_key(|&place| segments[place].terms.end);
    let mut all: Vec<&mut [S]> = segments.iter().map(|_| Default::default()).collect();
    for place in in_memory {
        let Segment { owner, terms, .. } = &segments[place];
        let rest = &mut owned[*owner];
        all[place] = rest.split_off_mut(..terms.len()).unwrap_or_default();
    }
    all
}

/// Rows of counts as a compressed sparse matrix: row i is `terms[starts[i]..starts[i + 1]]`, each term once, in the
/// order of their first appearance.
pub struct Matrix<C> {
    pub starts: Vec<i64>,
    pub terms: Vec<i32>,
    pub counts: Vec<C>,
}

impl<C: From<u32> + Copy + Send> Matrix<C> {
    /// Put all rows in order, on as many threads as have written them; `number` returns, for each owner, the new number
    /// of a term.
    pub fn joined<N: Fn(u32) -> u32>(mut all: Vec<Rows>, number: impl Fn(usize) -> N + Sync) -> Self {
        let segments = in_order(&all);
        let threads = if segments.is_empty() { 1 } else { all.len() };
        let mut starts = Vec::with_capacity(all.iter().map(|rows| rows.ends.len()).sum::<usize>() + 1);
        starts.push(0);
        let (mut large, mut before) = (Vec::new(), 0);
        for segment in &segments {
            let (rows, first) = (&all[segment.owner], segment.terms.start);
            let ends = rows.ends[segment.rows.clone()].iter();
            starts.extend(ends.map(|&end| (before + end - first) as i64));
            let places = rows.large(&segment.terms).iter();
            large.extend(places.map(|&(place, count)| (before + place - first, count)));
            before += segment.terms.len();
        }
        let (terms, small) = all
            .iter_mut()
            .map(|rows| (rows.terms.as_mut_slice(), rows.small.as_mut_slice()))
            .unzip();
        let terms = in_parts(threads, cut(&segments, terms), |part| {
            let number = number(segments[part].owner);
            move |term| number(term) as i32
        });
        let mut counts = in_parts(threads, cut(&segments, small), |_| |count| C::from(u32::from(count)));
        large
            .into_iter()
            .for_each(|(place, count)| counts[place] = C::from(count));
        Matrix { starts, terms, counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_the_order_of_the_stream_and_large_counts_stay_what_they_are() {
        let large = [u32::from(u8::MAX), 256, 257, 1 << 16, u32::MAX];
        let mut all: Vec<Rows> = (0..3).map(|_| Rows::default()).collect();
        let (mut starts, mut terms, mut counts) = (vec![0], Vec::new(), Vec::new());
        for place in 0..40 {
            let rows = &mut all[place * place % 3];
            rows.begin(place);
            for row in 0..place % 4 {
                let row_terms: Vec<u32> = (0..(place + row) as u32 % 7).collect();
                let row_counts: Vec<u32> = row_terms
                    .iter()
                    .map(|&term| large[(term as usize * place) % 5])
                    .collect();
                rows.push(&row_terms, &row_counts);
                terms.extend(
                    row_terms
                        .iter()
                        .map(|&term| (10 * term) as i32 + (place * place % 3) as i32),
                );
                counts.extend(row_counts.iter().map(|&count| i64::from(count)));
                starts.push(terms.len() as i64);
            }
        }
        assert!(counts.contains(&256) && all[2].is_empty());
        assert_eq!(all.iter().map(|rows| rows.counts().len()).sum::<usize>(), counts.len());
        let matrix = Matrix::<i64>::joined(all, |owner| move |term| 10 * term + owner as u32);
        assert_eq!((matrix.starts, matrix.terms, matrix.counts), (starts, terms, counts));
    }

    #[test]
    fn no_rows_are_a_matrix_too() {
        for all in [Vec::new(), vec![Rows::default()]] {
            let matrix = Matrix::<u32>::joined(all, |_| |term| term);
            assert_eq!(
                (matrix.starts, matrix.terms.len(), matrix.counts.len()),
                (vec![0], 0, 0)
            );
        }
    }
}
