//! Memory: fetching ahead of use, tables on large pages, and pages taken from and returned to the operating system.
//!
//! Each unsafe block gives the processor or the operating system a hint that changes no contents, or reads and writes
//! inside slices whose length is known.
#![allow(unsafe_code)]

use super::cancel::checkpoints;
use super::threads::side_by_side;

/// Ask the processor to fetch the cache line of `slice[index]`; do nothing when out of range.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    if let Some(item) = slice.get(index) {
        prefetch_item(item);
    }
}

#[inline(always)]
fn prefetch_item<T>(item: &T) {
    fetch_address(std::ptr::from_ref(item).addr());
}

/// Ask the processor to fetch a cache line.
#[inline(always)]
pub fn fetch_address(address: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: fetching ahead has no effect that a program can observe, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Cache lines to fetch ahead. The hardware prefetcher follows a longer row by itself.
const MOST_LINES: usize = 32;

/// Fetch the beginning of some items, line by line.
#[inline(always)]
pub fn fetch<T>(items: &[T]) {
    let line = (64 / size_of::<T>().max(1)).max(1);
    let lines = if size_of::<T>() > 0 { MOST_LINES } else { 0 };
    (0..items.len().min(lines * line))
        .step_by(line)
        .for_each(|place| prefetch(items, place));
}

/// A table whose length is a power of two. Every number is a place in it, modulo the length: there are no bounds to
/// check.
pub struct Table<T> {
    /// Never empty, and never of another length than a power of two.
    items: Vec<T>,
}

impl<T: Clone + Default> Table<T> {
    /// Make at least `least` empty items, on large pages if the system has them: they are visited at random.
    pub fn new(least: usize) -> Self {
        let size = least.next_power_of_two();
        let mut items = roomy(size);
        items.resize(size, T::default());
        Table { items }
    }
}

impl<T> Table<T> {
    pub fn size(&self) -> usize {
        self.items.len()
    }

    /// The place that a number stands for.
    #[inline(always)]
    pub fn place(&self, number: usize) -> usize {
        number & (self.items.len() - 1)
    }

    #[inline(always)]
    pub fn prefetch(&self, number: usize) {
        prefetch_item(&self[number]);
    }

    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }
}

impl<T> std::ops::Index<usize> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, number: usize) -> &T {
        // SAFETY: `place` returns a number below the length, which is a power of two.
        unsafe { self.items.get_unchecked(self.place(number)) }
    }
}

impl<T> std::ops::IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: usize) -> &mut T {
        let place = self.place(number);
        // SAFETY: as above.
        unsafe { self.items.get_unchecked_mut(place) }
    }
}

/// Reserve room for items that will all be written, on large pages if the system has them.
pub fn roomy<T>(capacity: usize) -> Vec<T> {
    let mut memory = Vec::with_capacity(capacity);
    on_large_pages(memory.spare_capacity_mut());
    memory
}

/// Items converted at a time.
const PIECE: usize = 1 << 20;

/// Convert the items of all parts, one part after the other, on `threads` threads; `make` returns the conversion of a
/// part.
///
/// The parts are used up: their memory returns to the system as the results grow, so that both never exist in full.
pub fn in_parts<S: Number, T: Send, M: Fn(S) -> T>(
    threads: usize,
    parts: Vec<&mut [S]>,
    make: impl Fn(usize) -> M + Sync,
) -> Vec<T> {
    let total = parts.iter().map(|part| part.len()).sum();
    // Not on large pages: virtual machines release unused ones, and getting hundreds back may take longer than they
    // save.
    let mut memory: Vec<T> = Vec::with_capacity(total);
    let mut rest = &mut memory.spare_capacity_mut()[..total];
    let mut shares: Vec<Vec<_>> = (0..threads.max(1)).map(|_| Vec::new()).collect();
    let (share, mut before) = (total.div_ceil(shares.len()).max(1), 0);
    for (number, mut part) in parts.into_iter().enumerate() {
        // Each thread writes one contiguous range of memory.
        while let Some(piece) = part.split_off_mut(..part.len().min(PIECE).min(share - before % share))
            && let Some(room) = rest.split_off_mut(..piece.len())
            && !piece.is_empty()
        {
            let owner = &mut shares[before / share];
            before += piece.len();
            owner.push((number, piece, room));
        }
    }
    let write = |(number, piece, room): (usize, &mut [S], &mut [std::mem::MaybeUninit<T>])| {
        checkpoints(room.len());
        all_pages(room);
        let make = make(number);
        room.iter_mut().zip(piece.iter()).for_each(|(target, &item)| {
            target.write(make(item));
        });
        give_back(piece);
    };
    let shares = shares.into_iter();
    side_by_side(shares.map(|share| || share.into_iter().for_each(write)).collect());
    // SAFETY: the pieces are as long as all together, each has room for as many as it has, and all of that was written:
    // if a thread stops early, `side_by_side` panics, and this is not reached.
    unsafe { memory.set_len(total) };
    memory
}

/// For less memory, asking the system for pages, or returning them, does not pay.
#[cfg(target_os = "linux")]
const MANY_BYTES: usize = 1 << 16;

/// Ask for all pages of memory that was not written yet: together they cost less than one after the other.
pub fn all_pages<T>(memory: &mut [T]) {
    #[cfg(target_os = "linux")]
    advise(memory, MANY_BYTES, libc::MADV_POPULATE_WRITE);
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// Ask for large pages for memory that was not written yet. The system provides them when they are written: asking for
/// hundreds at once would block other threads that need memory.
pub fn on_large_pages<T>(memory: &mut [T]) {
    #[cfg(target_os = "linux")]
    advise(memory, 1 << 18, libc::MADV_HUGEPAGE);
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// Numbers whose all-zero bytes are a valid value.
///
/// # Safety
/// Bytes that are all zero must be a valid number.
pub unsafe trait Number: Copy + Send + Sync {}

// SAFETY: the bytes are the number 0.
unsafe impl Number for u8 {}

// SAFETY: as above.
unsafe impl Number for u32 {}

/// Return the pages of numbers that are no longer needed to the system; most of the numbers become 0.
fn give_back<S: Number>(numbers: &mut [S]) {
    #[cfg(target_os = "linux")]
    if size_of_val(numbers) >= MANY_BYTES {
        // SAFETY: the call only reads a setting of the system.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(1 << 16);
        let memory = numbers.as_mut_ptr_range();
        let first = memory.start.addr().next_multiple_of(page);
        let bytes = (memory.end.addr() / page * page).saturating_sub(first);
        // SAFETY: these are whole pages of memory borrowed here, and the call fills them with zeros, which is a valid
        // value.
        unsafe { libc::madvise(memory.start.with_addr(first).cast(), bytes, libc::MADV_DONTNEED) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = numbers;
}

/// Advise the system how memory of at least `least` bytes will be used; `advice` must be one that changes no contents.
#[cfg(target_os = "linux")]
fn advise<T>(memory: &mut [T], least: usize, advice: libc::c_int) {
    const PAGE: usize = 1 << 12;
    let bytes = std::mem::size_of_val(memory);
    let start = memory.as_mut_ptr().addr();
    let (first, last) = (start & !(PAGE - 1), (start + bytes) & !(PAGE - 1));
    if bytes >= least {
        let whole = memory.as_mut_ptr().with_addr(first).cast();
        // SAFETY: every page of the range holds memory borrowed here; the call changes no contents, and it does no harm
        // if the system does not know it.
        unsafe { libc::madvise(whole, last - first, advice) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_made_in_their_order_on_any_number_of_threads() {
        for lengths in [vec![], vec![0], vec![3, 0, 5, 1], vec![1; 100], vec![2_500_000, 7]] {
            let all: Vec<Vec<u32>> = lengths.iter().map(|&length| (0..length).collect()).collect();
            let expected: Vec<_> = (0..)
                .zip(&lengths)
                .flat_map(|(part, &length)| (0..length).map(move |place| (part, place)))
                .collect();
            for threads in [0, 1, 2, 7] {
                let mut used = all.clone();
                let parts = used.iter_mut().map(Vec::as_mut_slice).collect();
                let made = in_parts(threads, parts, |part| move |place| (part, place));
                assert_eq!(made, expected);
            }
        }
    }
}
