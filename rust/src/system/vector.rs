//! Vector code: lowering and classifying bytes 64 at a time, prefetching, and loops compiled for each code path; and
//! what the system is asked for: large pages, processors.
//!
//! This is the only module with `unsafe`. Each unsafe block either calls a function whose processor
//! feature was checked at run time, or loads and stores inside slices whose length was just checked, or asks the system
//! for what changes no memory of ours.
#![allow(unsafe_code)]

use std::sync::Mutex;
use std::sync::OnceLock;
#[cfg(target_os = "linux")]
use std::sync::PoisonError;

use crate::system::cancel::{beats, side_by_side};

/// Bytes handled at once; also the padding that [`Marked`] keeps behind the text.
pub const BLOCK: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodePath {
    Plain,
    Avx2,
    Avx512,
}

impl CodePath {
    pub fn name(self) -> &'static str {
        match self {
            CodePath::Plain => "plain",
            CodePath::Avx2 => "avx2",
            CodePath::Avx512 => "avx512",
        }
    }

    /// The paths this processor can run, slowest first.
    pub fn available() -> Vec<CodePath> {
        let mut paths = vec![CodePath::Plain];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                paths.push(CodePath::Avx2);
            }
            let wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
            let whole = is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512vl");
            if wide && whole && is_x86_feature_detected!("avx512vbmi2") {
                paths.push(CodePath::Avx512);
            }
        }
        paths
    }
}

/// The fastest path of this processor, or the one named in `DISCERN_CODE_PATH` if it can run.
pub fn code_path() -> CodePath {
    static PATH: OnceLock<CodePath> = OnceLock::new();
    *PATH.get_or_init(|| {
        let available = CodePath::available();
        let wish = std::env::var("DISCERN_CODE_PATH").unwrap_or_default();
        let wished = available.iter().find(|path| path.name() == wish);
        *wished.unwrap_or(available.last().unwrap_or(&CodePath::Plain))
    })
}

/// A loop over numbers that is compiled once for each code path.
///
/// `run`, and every function it calls in its inner loop, must be `#[inline(always)]`: only what is inlined is compiled
/// with the wider vectors. No path fuses a multiplication with an addition, so all give the same bits.
pub trait Kernel {
    type Output;

    fn run(self) -> Self::Output;
}

/// Runs a loop on the fastest code path of this processor.
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    dispatch_on(code_path(), kernel)
}

fn dispatch_on<K: Kernel>(path: CodePath, kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn on_avx2<K: Kernel>(kernel: K) -> K::Output {
        kernel.run()
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
    fn on_avx512<K: Kernel>(kernel: K) -> K::Output {
        kernel.run()
    }
    match path {
        // SAFETY: `code_path` and `CodePath::available` give these only when the processor has the features.
        #[cfg(target_arch = "x86_64")]
        CodePath::Avx2 => unsafe { on_avx2(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        CodePath::Avx512 => unsafe { on_avx512(kernel) },
        _ => kernel.run(),
    }
}

/// Runs a loop on every path of this processor, for tests that all give the same.
#[cfg(test)]
pub fn on_every_path<K: Kernel>(kernel: impl Fn() -> K) -> Vec<K::Output> {
    let paths = CodePath::available();
    paths.into_iter().map(|path| dispatch_on(path, kernel())).collect()
}

/// A text lowered (ASCII letters only), with its runs of word bytes.
///
/// Word bytes are ASCII letters, digits, the underscore and every byte of a non-ASCII character:
/// which of those really belong to words is decided later, on the few runs that hold them.
pub struct Marked {
    /// The text, padded with zeros to a multiple of [`BLOCK`], and one block more. There is room for a block at any
    /// 16-bit position: those that come from the edges need not be checked.
    bytes: Box<[u8; ROOM]>,
    pub ascii: bool,
    /// A bit for each byte, and a block of zeros behind the last.
    words: Vec<u64>,
    /// Room for the start and the end of each run; the first `runs` pairs are there.
    edges: Vec<u16>,
    runs: usize,
}

/// Any 16-bit position, and a block behind.
const ROOM: usize = (1 << 16) + BLOCK;

impl Default for Marked {
    fn default() -> Self {
        Marked {
            bytes: Box::new([0; ROOM]),
            ascii: true,
            words: Vec::new(),
            edges: Vec::new(),
            runs: 0,
        }
    }
}

impl Marked {
    /// The longest text: its edges are 16-bit numbers.
    pub const LONGEST: usize = 1 << 15;

    /// Starts and ends of the runs.
    pub fn runs(&self) -> &[[u16; 2]] {
        self.edges.as_chunks().0.get(..self.runs).unwrap_or_default()
    }

    /// The bytes of a run.
    pub fn run(&self, [start, end]: [u16; 2]) -> &[u8] {
        self.bytes.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The two words of 8 bytes from `start` on.
    #[inline(always)]
    pub fn load(&self, start: u16) -> [u64; 2] {
        let word = |from: usize| {
            let bytes = self.bytes[from..].first_chunk().copied();
            u64::from_le_bytes(bytes.unwrap_or_default())
        };
        [word(start as usize), word(start as usize + 8)]
    }

    /// Marks a text of at most [`Marked::LONGEST`] bytes. Runs of a single byte are left out of ASCII text if `single` is
    /// false; elsewhere they stay, since one that is not ASCII is not UTF-8, which has to be seen.
    pub fn fill(&mut self, path: CodePath, source: &[u8], lowercase: bool, single: bool) {
        assert!(source.len() <= Self::LONGEST);
        let blocks = source.len().div_ceil(BLOCK);
        self.words.resize(blocks + 1, 0);
        let whole = source.len() / BLOCK;
        let (head, tail) = source.split_at(whole * BLOCK);
        let mut high = mark(path, head, &mut self.bytes[..], &mut self.words, lowercase);
        if !tail.is_empty() {
            let mut last = [0u8; BLOCK];
            last[..tail.len()].copy_from_slice(tail);
            high |= mark(
                path,
                &last,
                &mut self.bytes[whole * BLOCK..],
                &mut self.words[whole..],
                lowercase,
            );
        }
        self.bytes[blocks * BLOCK..][..BLOCK].fill(0);
        self.words[blocks] = 0;
        self.ascii = high == 0;
        self.find_runs(path, single || !self.ascii);
    }

    fn find_runs(&mut self, path: CodePath, single: bool) {
        // Whole vectors are written for each block, whatever the number of its edges.
        let room = (self.words.len() + 1) * BLOCK;
        if self.edges.len() < room {
            self.edges.resize(room, 0);
        }
        self.runs = match path {
            // SAFETY: this path is only chosen when the processor has the features.
            #[cfg(target_arch = "x86_64")]
            CodePath::Avx512 => unsafe { edges_avx512(&self.words, &mut self.edges, single) },
            _ => edges_plain(&self.words, &mut self.edges, single),
        };
    }
}

/// The edges of runs in one block of marks after the other.
struct Edges {
    /// Marks that stay even without a neighbour: all or none.
    alone: u64,
    /// The last mark of the block before, and whether it stayed.
    before: u64,
    kept: u64,
}

impl Edges {
    fn new(single: bool) -> Self {
        Edges {
            alone: if single { u64::MAX } else { 0 },
            before: 0,
            kept: 0,
        }
    }

    /// Bits where a run starts, or has just ended; `next` is the block behind.
    #[inline(always)]
    fn of(&mut self, mask: u64, next: u64) -> u64 {
        let neighbours = mask << 1 | self.before | mask >> 1 | next << 63;
        let kept = mask & (neighbours | self.alone);
        let edges = kept ^ (kept << 1 | self.kept);
        (self.before, self.kept) = (mask >> 63, kept >> 63);
        edges
    }
}

fn edges_plain(words: &[u64], target: &mut [u16], single: bool) -> usize {
    let (mut edges, mut count) = (Edges::new(single), 0);
    for (block, &mask) in words.iter().enumerate() {
        let mut bits = edges.of(mask, words.get(block + 1).copied().unwrap_or(0));
        while bits != 0 {
            target[count] = (block * BLOCK) as u16 + bits.trailing_zeros() as u16;
            bits &= bits - 1;
            count += 1;
        }
    }
    count / 2
}

/// Positions of set bits by compressing the numbers 0 to 63: no loop over bits, and no branch that is often taken.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
fn edges_avx512(words: &[u64], target: &mut [u16], single: bool) -> usize {
    use std::arch::x86_64::*;
    const NUMBERS: [u8; BLOCK] = {
        let mut numbers = [0; BLOCK];
        let mut number = 0;
        while number < BLOCK {
            numbers[number] = number as u8;
            number += 1;
        }
        numbers
    };
    // SAFETY: the array has 64 bytes.
    let numbers = unsafe { _mm512_loadu_si512(NUMBERS.as_ptr().cast()) };
    let (mut edges, mut count) = (Edges::new(single), 0);
    for (block, &mask) in words.iter().enumerate() {
        let bits = edges.of(mask, words.get(block + 1).copied().unwrap_or(0));
        let base = _mm512_set1_epi16((block * BLOCK) as i16);
        let positions = _mm512_maskz_compress_epi8(bits, numbers);
        let Some(room) = target[count..].first_chunk_mut::<BLOCK>() else {
            break;
        };
        let first = _mm512_add_epi16(base, _mm512_cvtepu8_epi16(_mm512_castsi512_si256(positions)));
        // SAFETY: the room holds both vectors of 32 numbers.
        unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), first) };
        if bits.count_ones() > 32 {
            let upper = _mm512_extracti64x4_epi64::<1>(positions);
            let second = _mm512_add_epi16(base, _mm512_cvtepu8_epi16(upper));
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(room.as_mut_ptr().add(32).cast(), second) };
        }
        count += bits.count_ones() as usize;
    }
    count / 2
}

/// Lowers and classifies whole blocks; returns the union of their masks of non-ASCII bytes.
fn mark(path: CodePath, source: &[u8], target: &mut [u8], words: &mut [u64], lowercase: bool) -> u64 {
    let blocks = source.len() / BLOCK;
    assert!(source.len() == blocks * BLOCK && target.len() >= source.len() && words.len() >= blocks);
    match path {
        CodePath::Plain => mark_plain(source, target, words, lowercase),
        // SAFETY: `code_path` and `CodePath::available` give these only when the processor has the feature,
        // and the lengths that the loads and stores rely on were asserted above.
        #[cfg(target_arch = "x86_64")]
        CodePath::Avx2 => unsafe { mark_avx2(source, target, words, lowercase) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        CodePath::Avx512 => unsafe { mark_avx512(source, target, words, lowercase) },
        #[cfg(not(target_arch = "x86_64"))]
        _ => mark_plain(source, target, words, lowercase),
    }
}

fn mark_plain(source: &[u8], target: &mut [u8], words: &mut [u64], lowercase: bool) -> u64 {
    let mut seen = 0u64;
    for (block, (bytes, lowered)) in source
        .chunks_exact(BLOCK)
        .zip(target.chunks_exact_mut(BLOCK))
        .enumerate()
    {
        let (mut word, mut high) = (0u64, 0u64);
        for (position, (&byte, lower)) in bytes.iter().zip(lowered).enumerate() {
            let is_word = byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
            word |= u64::from(is_word) << position;
            high |= u64::from(byte >= 0x80) << position;
            *lower = if lowercase { byte.to_ascii_lowercase() } else { byte };
        }
        words[block] = word;
        seen |= high;
    }
    seen
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn mark_avx2(source: &[u8], target: &mut [u8], words: &mut [u64], lowercase: bool) -> u64 {
    use std::arch::x86_64::*;
    // Unsigned `byte - low < count` as a signed comparison after moving the range to the bottom of i8.
    #[target_feature(enable = "avx2")]
    fn within(bytes: __m256i, low: u8, count: u8) -> __m256i {
        let moved = _mm256_sub_epi8(bytes, _mm256_set1_epi8(low.wrapping_add(0x80) as i8));
        _mm256_cmpgt_epi8(_mm256_set1_epi8((0x80u8.wrapping_add(count)) as i8), moved)
    }
    let case = _mm256_set1_epi8(if lowercase { 0x20 } else { 0 });
    let mut seen = 0u64;
    for (block, marks) in words.iter_mut().enumerate().take(source.len() / BLOCK) {
        fetch_once(source, block * BLOCK);
        let mut word = 0u64;
        for half in 0..2 {
            let position = block * BLOCK + half * 32;
            // SAFETY: `position + 32 <= source.len() <= target.len()`, asserted by the caller.
            let bytes = unsafe { _mm256_loadu_si256(source.as_ptr().add(position).cast()) };
            let upper = within(bytes, b'A', 26);
            let letter = within(_mm256_or_si256(bytes, _mm256_set1_epi8(0x20)), b'a', 26);
            let digit = within(bytes, b'0', 10);
            let underscore = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'_' as i8));
            let any = _mm256_or_si256(_mm256_or_si256(letter, digit), _mm256_or_si256(underscore, bytes));
            word |= u64::from(_mm256_movemask_epi8(any) as u32) << (32 * half);
            seen |= u64::from(_mm256_movemask_epi8(bytes) as u32);
            let lowered = _mm256_add_epi8(bytes, _mm256_and_si256(upper, case));
            // SAFETY: as above.
            unsafe { _mm256_storeu_si256(target.as_mut_ptr().add(position).cast(), lowered) };
        }
        *marks = word;
    }
    seen
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn mark_avx512(source: &[u8], target: &mut [u8], words: &mut [u64], lowercase: bool) -> u64 {
    use std::arch::x86_64::*;
    #[target_feature(enable = "avx512f,avx512bw")]
    fn within(bytes: __m512i, low: u8, count: u8) -> u64 {
        let moved = _mm512_sub_epi8(bytes, _mm512_set1_epi8(low as i8));
        _mm512_cmplt_epu8_mask(moved, _mm512_set1_epi8(count as i8))
    }
    let case = _mm512_set1_epi8(0x20);
    let wanted = if lowercase { u64::MAX } else { 0 };
    let mut seen = 0u64;
    for (block, word) in words.iter_mut().enumerate().take(source.len() / BLOCK) {
        let position = block * BLOCK;
        fetch_once(source, position);
        // SAFETY: `position + 64 <= source.len() <= target.len()`, asserted by the caller.
        let bytes = unsafe { _mm512_loadu_si512(source.as_ptr().add(position).cast()) };
        let upper = within(bytes, b'A', 26);
        let letter = within(_mm512_or_si512(bytes, case), b'a', 26);
        let digit = within(bytes, b'0', 10);
        let underscore = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'_' as i8));
        let high = _mm512_movepi8_mask(bytes);
        *word = letter | digit | underscore | high;
        seen |= high;
        let lowered = _mm512_mask_add_epi8(bytes, upper & wanted, bytes, case);
        // SAFETY: as above.
        unsafe { _mm512_storeu_si512(target.as_mut_ptr().add(position).cast(), lowered) };
    }
    seen
}

/// Asks the processor to fetch text a little ahead of `position`, and not to keep it: it is read once, while the tables
/// of words should stay in the cache.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch_once(text: &[u8], position: usize) {
    use std::arch::x86_64::{_MM_HINT_NTA, _mm_prefetch};
    const AHEAD: usize = 1 << 10;
    // SAFETY: fetching ahead has no effect that a program can observe, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_NTA>(text.as_ptr().wrapping_add(position + AHEAD).cast()) };
}

/// Asks the processor to fetch the cache line of `slice[index]`; does nothing when out of range.
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

/// Asks the processor to fetch a cache line.
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

/// Lines of memory fetched ahead; what follows in a long row the processor sees coming.
const MOST_LINES: usize = 32;

/// Fetches the beginning of some items, line by line.
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
    /// At least so many empty items, on large pages if the system has them: they are visited at random.
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
        // SAFETY: `place` gives a number below the length, which is a power of two.
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

/// Room for so many items that all will be written: on large pages if the system has them.
pub fn roomy<T>(capacity: usize) -> Vec<T> {
    let mut memory = Vec::with_capacity(capacity);
    on_large_pages(memory.spare_capacity_mut());
    memory
}

/// Items that are made at once of as many others.
const PIECE: usize = 1 << 20;

/// What `make` makes of the items of all parts, one part after the other, on so many threads; it is asked for each part.
///
/// The parts are used up: their memory goes back to the system as the results grow, so that both are never there whole.
pub fn in_parts<S: Number, T: Send, M: Fn(S) -> T>(
    threads: usize,
    parts: Vec<&mut [S]>,
    make: impl Fn(usize) -> M + Sync,
) -> Vec<T> {
    let total = parts.iter().map(|part| part.len()).sum();
    // Not on large pages: virtual machines give unused ones away, and to get hundreds back may take longer than they
    // save.
    let mut memory: Vec<T> = Vec::with_capacity(total);
    let mut rest = &mut memory.spare_capacity_mut()[..total];
    let mut shares: Vec<Vec<_>> = (0..threads.max(1)).map(|_| Vec::new()).collect();
    let (share, mut before) = (total.div_ceil(shares.len()).max(1), 0);
    for (number, mut part) in parts.into_iter().enumerate() {
        // Each thread writes one stretch of memory.
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
        beats(room.len());
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

/// For less memory it does not pay to ask the system for pages, or to give them back.
#[cfg(target_os = "linux")]
const MANY_BYTES: usize = 1 << 16;

/// Asks for all pages of memory that was not written yet: together they cost less than one after the other.
pub fn all_pages<T>(memory: &mut [T]) {
    #[cfg(target_os = "linux")]
    advise(memory, MANY_BYTES, libc::MADV_POPULATE_WRITE);
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// Asks for large pages for memory that was not written yet. They come when they are written: to ask for hundreds at
/// once would keep other threads from getting memory meanwhile.
pub fn on_large_pages<T>(memory: &mut [T]) {
    #[cfg(target_os = "linux")]
    advise(memory, 1 << 18, libc::MADV_HUGEPAGE);
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// Numbers of which one has no bits.
///
/// # Safety
/// Bytes that are all zero must be such a number.
pub unsafe trait Number: Copy + Send + Sync {}

// SAFETY: they are 0.
unsafe impl Number for u8 {}
// SAFETY: as above.
unsafe impl Number for u32 {}

/// Gives the pages of many numbers that are needed no more back to the system; most of the numbers become 0.
fn give_back<S: Number>(numbers: &mut [S]) {
    #[cfg(target_os = "linux")]
    if size_of_val(numbers) >= MANY_BYTES {
        // SAFETY: it only asks.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(1 << 16);
        let memory = numbers.as_mut_ptr_range();
        let first = memory.start.addr().next_multiple_of(page);
        let bytes = (memory.end.addr() / page * page).saturating_sub(first);
        // SAFETY: these are whole pages of memory borrowed here, and what the call makes of them is all zero.
        unsafe { libc::madvise(memory.start.with_addr(first).cast(), bytes, libc::MADV_DONTNEED) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = numbers;
}

/// Says how the pages of memory will be used, if it has so many bytes; `advice` must be one that changes no contents.
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

/// The processors on which threads that work together begin: no two on the same while another is free of them.
///
/// The system may start a thread on the processor of the one that starts it, and leave both there for ten milliseconds
/// and more while another processor idles.
#[derive(Default)]
pub struct Seats(Mutex<Vec<usize>>);

impl Seats {
    /// Takes the processor that the calling thread runs on; if that is taken, moves the thread to one that is not. It
    /// is not bound to it.
    pub fn take(&self) {
        #[cfg(target_os = "linux")]
        {
            let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((here, allowed)) = whereabouts() {
                let all = (0..libc::CPU_SETSIZE as usize).filter(|&processor| is_in(&allowed, processor));
                let free = all
                    .filter(|processor| !taken.contains(processor))
                    .min_by_key(|&processor| processor != here);
                if let Some(free) = free.filter(|&free| free != here) {
                    move_to(free, &allowed);
                }
                taken.extend(free);
            }
        }
    }
}

/// The processor that the calling thread runs on, and those that it may run on.
#[cfg(target_os = "linux")]
fn whereabouts() -> Option<(usize, libc::cpu_set_t)> {
    // SAFETY: a set of processors is plain bits, and the system writes no more than the size it is given.
    let (here, known, allowed) = unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        let known = libc::sched_getaffinity(0, size_of_val(&allowed), &raw mut allowed);
        (libc::sched_getcpu(), known, allowed)
    };
    usize::try_from(here)
        .ok()
        .filter(|_| known == 0)
        .map(|here| (here, allowed))
}

#[cfg(target_os = "linux")]
fn is_in(processors: &libc::cpu_set_t, processor: usize) -> bool {
    // SAFETY: callers ask for numbers below `CPU_SETSIZE` only, the size of the set.
    unsafe { libc::CPU_ISSET(processor, processors) }
}

/// Moves the calling thread to a processor, and lets it leave that for any that it may run on.
#[cfg(target_os = "linux")]
fn move_to(processor: usize, allowed: &libc::cpu_set_t) {
    // SAFETY: both sets are whole, and which processors a thread may run on changes no memory.
    unsafe {
        let mut only: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut only);
        libc::sched_setaffinity(0, size_of_val(&only), &raw const only);
        libc::sched_setaffinity(0, size_of_val(allowed), allowed);
    }
}

/// Runs a closure as a [`Kernel`]; mark it `#[inline(always)]`.
#[inline(always)]
pub fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    struct Work<F>(F);

    impl<R, F: FnOnce() -> R> Kernel for Work<F> {
        type Output = R;

        #[inline(always)]
        fn run(self) -> R {
            (self.0)()
        }
    }

    dispatch(Work(work))
}

// ------------------------------------------------------------------------------------------- sums of 32-bit numbers

/// Defines a function that runs the same plain loops, compiled for the processor at hand.
macro_rules! for_each_path {
    ($(#[$about:meta])* $name:ident, $plain:ident, $wide:ident, ($($argument:ident: $kind:ty),*) $(-> $result:ty)?) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        fn $wide($($argument: $kind),*) $(-> $result)? {
            $plain($($argument),*)
        }

        $(#[$about])*
        #[inline]
        pub fn $name(path: CodePath, $($argument: $kind),*) $(-> $result)? {
            match path {
                // SAFETY: these paths are only chosen when the processor has the features.
                #[cfg(target_arch = "x86_64")]
                CodePath::Avx2 | CodePath::Avx512 => unsafe { $wide($($argument),*) },
                _ => $plain($($argument),*),
            }
        }
    };
}

/// Numbers handled at once; sums are kept in as many lanes, so that every path adds in the same order.
const LANES: usize = 16;

#[inline(always)]
fn dot_product_plain(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0f32; LANES];
    for (left, right) in left.chunks_exact(LANES).zip(right.chunks_exact(LANES)) {
        for lane in 0..LANES {
            sums[lane] += left[lane] * right[lane];
        }
    }
    sums.iter().sum()
}

#[inline(always)]
fn largest_bound_plain(scores: &[f32], factor: f32, norms: &[f32]) -> f32 {
    let mut most = [f32::NEG_INFINITY; LANES];
    for (scores, norms) in scores.chunks_exact(LANES).zip(norms.chunks_exact(LANES)) {
        for lane in 0..LANES {
            let bound = scores[lane] + factor * norms[lane];
            most[lane] = if bound > most[lane] { bound } else { most[lane] };
        }
    }
    most.into_iter()
        .fold(f32::NEG_INFINITY, |most, one| if one > most { one } else { most })
}

#[inline(always)]
fn any_within_plain(values: &[f32], limit: f32) -> bool {
    let mut any = [false; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest = chunks.remainder().iter().any(|&value| value <= limit);
    for chunk in chunks {
        for lane in 0..LANES {
            any[lane] |= chunk[lane] <= limit;
        }
    }
    rest || any.contains(&true)
}

#[inline(always)]
fn differing_bits_plain(left: &[u64], right: &[u64]) -> u32 {
    left.iter()
        .zip(right)
        .map(|(left, right)| (left ^ right).count_ones())
        .sum()
}

for_each_path! {
    /// Σ left·right, for lengths that are multiples of 16.
    dot_product, dot_product_plain, dot_product_wide, (left: &[f32], right: &[f32]) -> f32
}
for_each_path! {
    /// The largest of `scores[i] + factor · norms[i]`, for lengths that are multiples of 16.
    largest_bound, largest_bound_plain, largest_bound_wide, (scores: &[f32], factor: f32, norms: &[f32]) -> f32
}
for_each_path! {
    /// Whether a value is at most `limit`.
    any_within, any_within_plain, any_within_wide, (values: &[f32], limit: f32) -> bool
}
for_each_path! {
    /// The number of bits in which two equally long lists differ.
    differing_bits, differing_bits_plain, differing_bits_wide, (left: &[u64], right: &[u64]) -> u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_gives_the_same_sums() {
        let numbers: Vec<f32> = (0..64).map(|number| (number as f32).sin()).collect();
        let words: Vec<u64> = (0..9u64).map(|word| word.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        let sums: Vec<f32> = numbers.iter().map(|number| 1.3 * number).collect();
        for path in CodePath::available() {
            assert_eq!(dot_product(path, &numbers, &sums), dot_product_plain(&numbers, &sums));
            let bound = largest_bound_plain(&numbers, 0.7, &sums);
            assert_eq!(largest_bound(path, &numbers, 0.7, &sums), bound);
            for limit in [-2.0, -0.99, 0.0] {
                let any = numbers.iter().any(|&number| number <= limit);
                assert_eq!(any_within(path, &numbers[..61], limit), any);
            }
            let bits: u32 = words[1..].iter().zip(&words).map(|(a, b)| (a ^ b).count_ones()).sum();
            assert_eq!(differing_bits(path, &words[1..], &words[..8]), bits);
        }
    }

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

    #[test]
    fn runs_are_found_across_blocks() {
        let mut text = vec![b' '; 300];
        for (start, end) in [(0, 1), (3, 5), (62, 66), (127, 128), (190, 192), (254, 257), (299, 300)] {
            text[start..end].fill(b'x');
        }
        for path in CodePath::available() {
            let mut marked = Marked::default();
            marked.fill(path, &text, true, true);
            let all = [[0, 1], [3, 5], [62, 66], [127, 128], [190, 192], [254, 257], [299, 300]];
            assert_eq!(marked.runs(), all, "{path:?}");
            marked.fill(path, &text, true, false);
            assert_eq!(marked.runs(), [[3, 5], [62, 66], [190, 192], [254, 257]], "{path:?}");
            marked.fill(path, &vec![b'x'; Marked::LONGEST], true, false);
            assert_eq!(marked.runs(), [[0, Marked::LONGEST as u16]], "{path:?}");
            marked.fill(path, &b"ab ".repeat(100), true, false);
            assert_eq!(marked.runs().len(), 100, "{path:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn threads_begin_on_processors_of_their_own_and_are_not_bound_to_them() {
        let (seats, allowed) = (Seats::default(), || {
            let (_, allowed) = whereabouts().unwrap();
            (0..libc::CPU_SETSIZE as usize).filter(move |&processor| is_in(&allowed, processor))
        });
        let before: Vec<usize> = allowed().collect();
        std::thread::scope(|scope| {
            for _ in 0..before.len() + 2 {
                let before = &before;
                scope.spawn(|| {
                    seats.take();
                    assert!(allowed().eq(before.iter().copied()));
                });
            }
        });
        let mut taken = seats.0.into_inner().unwrap();
        taken.sort_unstable();
        assert_eq!(taken, before);
    }

    #[test]
    fn every_path_gives_the_same_marks() {
        let mut state = 1u64;
        for length in 0..400 {
            let text: Vec<u8> = (0..length)
                .map(|_| {
                    state = state
                        .wrapping_mul(6364136223846793005)
                        .wrapping_add(1442695040888963407);
                    (state >> 56) as u8
                })
                .collect();
            for (lowercase, single) in [(false, true), (true, false), (true, true)] {
                let mut expected = Marked::default();
                expected.fill(CodePath::Plain, &text, lowercase, single);
                for path in CodePath::available() {
                    let mut marked = Marked::default();
                    marked.fill(path, &text, lowercase, single);
                    assert_eq!(marked.bytes, expected.bytes, "{path:?}");
                    assert_eq!(marked.words, expected.words, "{path:?}");
                    assert_eq!(marked.runs(), expected.runs(), "{path:?}");
                    assert_eq!(marked.ascii, expected.ascii, "{path:?}");
                }
            }
        }
    }
}
