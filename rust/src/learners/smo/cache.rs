//! A bounded cache of kernel rows.

use crate::learners::kernel::LANES;

/// Large blocks of memory take whole pages.
const PAGE: usize = 4096;

/// The type of a cached kernel value.
pub trait Cell: Copy + Send + Sync {
    /// Whether the forces are computed again at the end, to remove the rounding errors of many steps.
    const EXACT: bool;
    fn narrow(value: f64) -> Self;
    fn wide(self) -> f64;
}

impl Cell for f32 {
    const EXACT: bool = false;
    #[inline(always)]
    fn narrow(value: f64) -> f32 {
        value as f32
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Cell for f64 {
    const EXACT: bool = true;
    #[inline(always)]
    fn narrow(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
}

/// Kernel rows by place; the least recently used one makes room.
pub(super) struct Cache<T> {
    pub(super) rows: Vec<Vec<T>>,
    /// A ring through the places in use, most recent first; the last entry is its head.
    newer: Vec<u32>,
    older: Vec<u32>,
    used: usize,
    most: usize,
}

impl<T: Cell> Cache<T> {
    pub(super) fn new(count: usize, bytes: usize) -> Self {
        let length = (count.next_multiple_of(LANES) * size_of::<T>()).next_multiple_of(PAGE);
        let ring: Vec<u32> = (0..=count as u32).collect();
        Cache {
            rows: (0..count).map(|_| Vec::new()).collect(),
            newer: ring.clone(),
            older: ring,
            used: 0,
            most: (bytes / length.max(1)).max(2),
        }
    }

    /// Whether several rows more do not push out those that were used last.
    pub(super) fn has_room_for(&self, rows: usize) -> bool {
        self.most >= 4 * rows
    }

    pub(super) fn holds(&self, place: usize) -> bool {
        !self.rows[place].is_empty()
    }

    fn unlink(&mut self, place: usize) {
        let (newer, older) = (self.newer[place], self.older[place]);
        self.older[newer as usize] = older;
        self.newer[older as usize] = newer;
    }

    fn link_first(&mut self, place: usize) {
        let head = self.rows.len();
        let second = self.older[head];
        self.older[head] = place as u32;
        self.newer[place] = head as u32;
        self.older[place] = second;
        self.newer[second as usize] = place as u32;
    }

    pub(super) fn touch(&mut self, place: usize) {
        self.unlink(place);
        self.link_first(place);
    }

    pub(super) fn insert(&mut self, place: usize, values: &[f64]) {
        let mut row = if self.used >= self.most {
            let oldest = self.newer[self.rows.len()] as usize;
            self.unlink(oldest);
            self.used -= 1;
            std::mem::take(&mut self.rows[oldest])
        } else {
            Vec::with_capacity(values.len())
        };
        row.clear();
        row.extend(values.iter().map(|&value| T::narrow(value)));
        self.rows[place] = row;
        self.used += 1;
        self.link_first(place);
    }

    /// Return the cache of the `kept` places only, numbered anew, with the rows that are there.
    pub(super) fn kept(mut self, kept: &[u32], bytes: usize) -> Self {
        let mut smaller = Cache::new(kept.len(), bytes);
        let mut number = vec![u32::MAX; self.rows.len()];
        (kept.iter().zip(0..)).for_each(|(&place, new)| number[place as usize] = new);
        let head = self.rows.len();
        let mut place = self.newer[head] as usize; // the oldest first, to keep the order
        while place != head {
            let mut row = std::mem::take(&mut self.rows[place]);
            let new = number[place];
            if new != u32::MAX {
                (kept.iter().enumerate()).for_each(|(new, &old)| row[new] = row[old as usize]);
                row.truncate(kept.len());
                row.resize(kept.len().next_multiple_of(LANES), T::narrow(0.0));
                row.shrink_to_fit();
                smaller.rows[new as usize] = row;
                smaller.used += 1;
                smaller.link_first(new as usize);
            }
            place = self.newer[place] as usize;
        }
        smaller
    }
}
