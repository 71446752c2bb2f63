//! Nearest sparse rows by cosine, through an inverted index.

use super::sparse::{Row, Sparse, cosine_distance, dot};
use super::{Found, Nearest, UNIT};
use crate::system::cancel::checkpoint;
use crate::system::vector::{CodePath, code_path, dot_product, largest_bound, vectorized};

/// The most terms that are kept as dense columns; their presence in a row is a mask of 128 bits.
const HEAD: usize = 128;
/// A term is in the head if more than one row in this many has it.
const COMMON: usize = 6;
/// The most frequent terms, which are added for all rows at once; this tightens the bound on the others.
const COLUMNS: usize = 32;
/// With fewer rows, all terms have lists.
const FEWEST: usize = 512;
/// Rows whose bounds are checked together.
const BLOCK: usize = 16;
/// Rows whose scores are kept in registers; a multiple of a block.
const LANES: usize = 64;
/// Rows for which the columns of several queries are added before the next rows, so that they stay in the cache.
const ROWS_TOGETHER: usize = 1 << 10;
/// Not in the head.
const TAIL: u8 = u8::MAX;

/// An inverted index: lists of rows for most terms, dense columns for the few that are in most rows.
///
/// Lists and the first columns are summed for all rows. The contribution of the other columns, the head, is at most the
/// norm of the query's head times that of the row's, by the Cauchy–Schwarz inequality (as in L2AP, Anastasiu & Karypis
/// 2014). Only rows that may be among the best by this bound are scored one by one.
pub struct Inverted {
    rows: usize,
    longest: f64,
    path: CodePath,
    /// The place of each common term, or `TAIL`: below `columns` a column, from there on in the head.
    places: Vec<u8>,
    columns: Vec<Vec<f32>>,
    head: Vec<f32>,
    head_width: usize,
    head_norms: Vec<f32>,
    masks: Vec<u128>,
    list_starts: Vec<u32>,
    list_rows: Vec<u32>,
    list_weights: Vec<f32>,
}

/// The memory of a search, reused from query to query.
#[derive(Default)]
pub struct Scratch {
    scores: Vec<f32>,
    touched: Vec<bool>,
    blocks: Vec<(f32, u32)>,
    candidates: Vec<(f32, u32)>,
}

/// A query, divided into columns, head and lists.
struct Query<'q> {
    whole: Row<'q>,
    columns: Vec<(u8, f32)>,
    head: Vec<f32>,
    mask: u128,
    head_norm: f32,
    /// How far a 32-bit score may be from the true one.
    slack: f32,
}

impl Inverted {
    pub fn new(rows: Sparse<'_>, n_terms: usize) -> Self {
        let mut documents = vec![0u32; n_terms];
        rows.terms.iter().for_each(|&term| documents[term as usize] += 1);
        let places = head_places(&documents, rows.rows());
        let common = places.iter().filter(|&&place| place != TAIL).count();
        let head_width = common.saturating_sub(COLUMNS).next_multiple_of(16);
        let mut list_starts = Vec::with_capacity(n_terms + 1);
        let mut total = 0u32;
        for (&count, &place) in documents.iter().zip(&places) {
            list_starts.push(total);
            total += if place == TAIL { count } else { 0 };
        }
        list_starts.push(total);
        let padded = rows.rows().next_multiple_of(LANES);
        let mut index = Inverted {
            rows: rows.rows(),
            longest: (0..rows.rows()).map(|row| rows.norm(row)).fold(0.0, f64::max),
            path: code_path(),
            places,
            columns: vec![vec![0.0; padded]; common.min(COLUMNS)],
            head: vec![0.0; rows.rows() * head_width],
            head_width,
            head_norms: vec![0.0; padded],
            masks: vec![0; rows.rows()],
            list_starts,
            list_rows: vec![0; total as usize],
            list_weights: vec![0.0; total as usize],
        };
        index.fill(rows);
        index
    }

    fn fill(&mut self, rows: Sparse<'_>) {
        let mut next = self.list_starts.clone();
        for row in 0..rows.rows() {
            checkpoint();
            let (terms, weights) = rows.row(row);
            let mut square = 0.0;
            for (&term, &weight) in terms.iter().zip(weights) {
                let place = self.places[term as usize];
                if place == TAIL {
                    let slot = next[term as usize] as usize;
                    self.list_rows[slot] = row as u32;
                    self.list_weights[slot] = weight as f32;
                    next[term as usize] += 1;
                    continue;
                }
                self.masks[row] |= 1 << place;
                if let Some(column) = self.columns.get_mut(place as usize) {
                    column[row] = weight as f32;
                } else {
                    self.head[row * self.head_width + place as usize - COLUMNS] = weight as f32;
                    square += weight * weight;
                }
            }
            self.head_norms[row] = upwards(square.sqrt());
        }
    }

    fn list(&self, term: i32) -> (&[u32], &[f32]) {
        let range = self.list_starts[term as usize] as usize..self.list_starts[term as usize + 1] as usize;
        (&self.list_rows[range.clone()], &self.list_weights[range])
    }

    fn query<'q>(&self, whole: Row<'q>) -> Query<'q> {
        let (mut columns, mut head) = (Vec::new(), vec![0.0; self.head_width]);
        let (mut mask, mut head_square, mut square) = (0, 0.0, 0.0);
        for (&term, &weight) in whole.0.iter().zip(whole.1) {
            let place = self.places[term as usize];
            square += weight * weight;
            if place == TAIL {
                continue;
            }
            mask |= 1 << place;
            if (place as usize) < self.columns.len() {
                columns.push((place, weight as f32));
            } else {
                head[place as usize - COLUMNS] = weight as f32;
                head_square += weight * weight;
            }
        }
        // Inputs, products and sums of m terms are each rounded: (m + 4) units of Σ|q||x| ≤ ‖q‖‖x‖.
        let rounding = (whole.0.len() + 8) as f64 * UNIT * square.sqrt() * self.longest;
        Query {
            whole,
            columns,
            head,
            mask,
            head_norm: upwards(f64::sqrt(head_square)),
            slack: upwards(rounding) + f32::MIN_POSITIVE,
        }
    }

    /// The `count` nearest rows to each query of terms that the index has, without the row that it leaves out.
    ///
    /// There must be at least `count` rows. Each query has a scratch.
    pub fn nearest(
        &self,
        rows: Sparse<'_>,
        asked: &[(Row<'_>, Option<usize>)],
        count: usize,
        scratches: &mut [Scratch],
    ) -> Vec<Vec<Found>> {
        let queries: Vec<Query> = asked.iter().map(|&(whole, _)| self.query(whole)).collect();
        let scratches = &mut scratches[..queries.len()];
        self.add_columns(&queries, scratches);
        let each = queries.iter().zip(asked).zip(scratches);
        each.map(|((query, &(_, without)), scratch)| self.nearest_to(rows, query, count, without, scratch))
            .collect()
    }

    fn nearest_to(
        &self,
        rows: Sparse<'_>,
        query: &Query<'_>,
        count: usize,
        without: Option<usize>,
        scratch: &mut Scratch,
    ) -> Vec<Found> {
        let limit = self.screen(query, count, without, scratch);
        // Rows that share no term are at a distance of one, too: then all rows that share one are compared.
        if limit <= 2.0 * query.slack {
            return self.compare_all(rows, query, count, without);
        }
        let mut nearest = Nearest::new(count);
        for &(score, row) in &scratch.candidates {
            if score >= limit - 2.0 * query.slack {
                let distance = cosine_distance(dot(rows.row(row as usize), query.whole));
                nearest.offer(Found {
                    distance,
                    row: row as usize,
                });
            }
        }
        nearest.sorted()
    }

    /// Collect in `scratch` all rows that may be among the nearest; return the lowest of the best scores.
    fn screen(&self, query: &Query<'_>, count: usize, without: Option<usize>, scratch: &mut Scratch) -> f32 {
        self.add_lists(query, scratch);
        self.bound_blocks(query, count, scratch);
        let mut best = Nearest::new(count);
        let mut least = f32::NEG_INFINITY;
        let Scratch {
            scores,
            blocks,
            candidates,
            ..
        } = scratch;
        candidates.clear();
        for &(most, block) in blocks.iter() {
            if most < least {
                continue;
            }
            let start = block as usize * BLOCK;
            for (row, &sum) in (start..self.rows).zip(&scores[start..start + BLOCK]) {
                let bound = sum + query.head_norm * self.head_norms[row];
                let shares = sum != 0.0 || self.masks[row] & query.mask != 0;
                if bound < least || !shares || Some(row) == without {
                    continue;
                }
                let score = sum + self.head_score(query, row);
                if score >= least {
                    candidates.push((score, row as u32));
                    let distance = -f64::from(score);
                    best.offer(Found { distance, row });
                    least = -best.limit() as f32 - 2.0 * query.slack;
                }
            }
        }
        self.clear(scratch);
        -best.limit() as f32
    }

    /// Add the columns of the terms of queries to their scores.
    fn add_columns(&self, queries: &[Query<'_>], scratches: &mut [Scratch]) {
        let padded = self.head_norms.len();
        scratches
            .iter_mut()
            .for_each(|scratch| scratch.scores.resize(padded, 0.0));
        for start in (0..padded).step_by(ROWS_TOGETHER) {
            let rows = start..(start + ROWS_TOGETHER).min(padded);
            for (query, scratch) in queries.iter().zip(scratches.iter_mut()) {
                let column = |&(place, factor)| (factor, &self.columns[place as usize][rows.clone()]);
                let columns: Vec<(f32, &[f32])> = query.columns.iter().map(column).collect();
                add_all(&mut scratch.scores[rows.clone()], &columns);
            }
        }
    }

    /// Add lists of the query's terms to the scores.
    fn add_lists(&self, query: &Query<'_>, scratch: &mut Scratch) {
        let blocks = self.rows.div_ceil(BLOCK);
        scratch.touched.clear();
        let total: usize = query.whole.0.iter().map(|&term| self.list(term).0.len()).sum();
        // A common term is in most blocks, and so are many entries.
        let everywhere = query.mask != 0 || total > blocks;
        scratch.touched.resize(blocks, everywhere);
        let scores = scratch.scores.as_mut_slice();
        for (&term, &weight) in query.whole.0.iter().zip(query.whole.1) {
            let (rows, weights) = self.list(term);
            let factor = weight as f32;
            for (&row, &other) in rows.iter().zip(weights) {
                scores[row as usize] += factor * other;
            }
            if !everywhere {
                rows.iter()
                    .for_each(|&row| scratch.touched[row as usize / BLOCK] = true);
            }
        }
    }

    /// Bound the best score in each touched block, and put the most promising blocks first.
    fn bound_blocks(&self, query: &Query<'_>, count: usize, scratch: &mut Scratch) {
        scratch.blocks.clear();
        for (block, &touched) in scratch.touched.iter().enumerate() {
            if touched {
                let range = block * BLOCK..(block + 1) * BLOCK;
                let (scores, norms) = (&scratch.scores[range.clone()], &self.head_norms[range]);
                let most = largest_bound(self.path, scores, query.head_norm, norms);
                scratch.blocks.push((most, block as u32));
            }
        }
        let first = 2 * count;
        if first < scratch.blocks.len() {
            let more = |left: &(f32, u32), right: &(f32, u32)| right.0.total_cmp(&left.0);
            scratch.blocks.select_nth_unstable_by(first, more);
        }
    }

    fn clear(&self, scratch: &mut Scratch) {
        for &(_, block) in &scratch.blocks {
            scratch.scores[block as usize * BLOCK..(block as usize + 1) * BLOCK].fill(0.0);
        }
    }

    fn head_score(&self, query: &Query<'_>, row: usize) -> f32 {
        let weights = &self.head[row * self.head_width..(row + 1) * self.head_width];
        dot_product(self.path, &query.head, weights)
    }

    /// Compare with all rows that share a term; the others are at a distance of one, in order.
    fn compare_all(&self, rows: Sparse<'_>, query: &Query<'_>, count: usize, without: Option<usize>) -> Vec<Found> {
        let mut shares: Vec<bool> = self.masks.iter().map(|mask| mask & query.mask != 0).collect();
        for &term in query.whole.0 {
            self.list(term).0.iter().for_each(|&row| shares[row as usize] = true);
        }
        let mut nearest = Nearest::new(count);
        for row in (0..self.rows).filter(|&row| Some(row) != without) {
            let distance = if shares[row] {
                cosine_distance(dot(rows.row(row), query.whole))
            } else if nearest.limit() <= 1.0 {
                continue;
            } else {
                1.0
            };
            nearest.offer(Found { distance, row });
        }
        nearest.sorted()
    }
}

/// Add columns, times their factors, to sums, which stay in registers.
fn add_all(sums: &mut [f32], columns: &[(f32, &[f32])]) {
    vectorized(
        #[inline(always)]
        || {
            for (place, sums) in sums.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                let mut kept = *sums;
                for (factor, column) in columns {
                    let values = &column.as_chunks::<LANES>().0[place];
                    (0..LANES).for_each(|lane| kept[lane] += factor * values[lane]);
                }
                *sums = kept;
            }
        },
    );
}

/// Round a number to 32 bits, upwards.
fn upwards(number: f64) -> f32 {
    (number * (1.0 + 2.0 * UNIT)) as f32
}

/// Choose the terms of the head: the most frequent, if they are frequent.
fn head_places(documents: &[u32], rows: usize) -> Vec<u8> {
    let mut places = vec![TAIL; documents.len()];
    if rows < FEWEST {
        return places;
    }
    let common = |&term: &usize| documents[term] as usize > rows / COMMON;
    let mut terms: Vec<usize> = (0..documents.len()).filter(common).collect();
    terms.sort_by_key(|&term| std::cmp::Reverse(documents[term]));
    for (place, &term) in terms.iter().take(HEAD).enumerate() {
        places[term] = place as u8;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse_rows(rows: usize, n_terms: usize) -> (Vec<i64>, Vec<i32>, Vec<f64>) {
        let (mut starts, mut terms, mut weights, mut state) = (vec![0], vec![], vec![], 7u64);
        for _ in 0..rows {
            let first = weights.len();
            for term in 0..n_terms {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // The first terms are common, so that there is a head.
                if ((state >> 33) as usize).is_multiple_of(1 + term / 2) {
                    terms.push(term as i32);
                    weights.push(((state >> 40) % 4 + 1) as f64);
                }
            }
            let length = weights[first..]
                .iter()
                .map(|weight| weight * weight)
                .sum::<f64>()
                .sqrt();
            weights[first..].iter_mut().for_each(|weight| *weight /= length);
            starts.push(terms.len() as i64);
        }
        (starts, terms, weights)
    }

    #[test]
    fn the_index_finds_what_comparing_with_every_row_finds() {
        let (starts, terms, weights) = sparse_rows(900, 60);
        let rows = Sparse::new(&starts, &terms, &weights, 60).unwrap();
        let index = Inverted::new(rows, 60);
        assert!(index.head_width > 0 || !index.columns.is_empty());
        let nearest = |row: usize, count: usize| {
            let others = (0..900).filter(|&other| other != row);
            let mut all: Vec<Found> = others
                .map(|other| Found {
                    distance: cosine_distance(dot(rows.row(other), rows.row(row))),
                    row: other,
                })
                .collect();
            all.sort();
            all.truncate(count);
            all
        };
        let mut scratches: Vec<Scratch> = (0..4).map(|_| Scratch::default()).collect();
        let chosen: Vec<usize> = (0..900).step_by(7).collect();
        for (turn, together) in chosen.chunks(3).enumerate() {
            let together = &together[..together.len().min(1 + turn % 3)];
            let asked: Vec<_> = together.iter().map(|&row| (rows.row(row), Some(row))).collect();
            for count in [1, 3, 20, 899] {
                let expected: Vec<_> = together.iter().map(|&row| nearest(row, count)).collect();
                assert_eq!(index.nearest(rows, &asked, count, &mut scratches), expected);
            }
        }
    }
}
