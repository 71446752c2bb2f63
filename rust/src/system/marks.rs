//! Text lowered and classified 64 bytes at a time, and the runs of word bytes in it.
//!
//! Each unsafe block calls a function whose processor features were checked at run time, or loads and stores inside
//! slices whose length was just checked.
#![allow(unsafe_code)]

use super::vector::CodePath;

/// Bytes handled at once; also the padding that [`Marked`] keeps behind the text.
pub const BLOCK: usize = 64;

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

    /// The start and the end of each run.
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

    /// Mark a text of at most [`Marked::LONGEST`] bytes. Runs of a single byte are left out of ASCII text if `single`
    /// is false. In other text they stay, because a single byte beyond ASCII is not UTF-8, which the caller wants to
    /// know.
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
    /// Marks that stay even without a neighbor: all or none.
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
        let neighbors = mask << 1 | self.before | mask >> 1 | next << 63;
        let kept = mask & (neighbors | self.alone);
        let edges = kept ^ (kept << 1 | self.kept);
        (self.before, self.kept) = (mask >> 63, kept >> 63);
        edges
    }
}

fn edges_plain(words: &[u64], target: &mut [u16], single: bool) -> usize {
    let (mut edges, mut count) = (Edges::new(single), 0);
    for (block, &mask) in words.iter().enumerate() {
        let mut bits = edges.of(mask, words.get(block + 1).copied().unwrap_or(0));
        let (base, number) = ((block * BLOCK) as u16, bits.count_ones() as usize);
        let Some(room) = target[count..].first_chunk_mut::<BLOCK>() else {
            break;
        };
        // Eight at a time, with a branch that is easier to predict than one for each; those too many are overwritten.
        for eight in room.as_chunks_mut::<8>().0.iter_mut().take(number.div_ceil(8)) {
            for place in eight {
                *place = base.wrapping_add(bits.trailing_zeros() as u16);
                bits &= bits.wrapping_sub(1);
            }
        }
        count += number;
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

/// Lower and classify whole blocks; the result is zero if all bytes are ASCII.
fn mark(path: CodePath, source: &[u8], target: &mut [u8], words: &mut [u64], lowercase: bool) -> u64 {
    let blocks = source.len() / BLOCK;
    assert!(source.len() == blocks * BLOCK && target.len() >= source.len() && words.len() >= blocks);
    match path {
        CodePath::Plain => mark_plain(source, target, words, lowercase),
        // SAFETY: `code_path` and `CodePath::available` return these only when the processor has the feature,
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

/// The same byte in each of eight places.
const fn eight(byte: u8) -> u64 {
    byte as u64 * 0x0101_0101_0101_0101
}

/// The highest bit of each byte.
const HIGH: u64 = eight(0x80);

/// The highest bit of each of eight ASCII bytes that lies from `low` to `high`.
#[inline(always)]
fn within(bytes: u64, low: u8, high: u8) -> u64 {
    // No byte carries into the next: both terms are below 0x80.
    (bytes + eight(0x80 - low)) & !(bytes + eight(0x7F - high)) & HIGH
}

/// Collect the highest bit of each byte.
#[inline(always)]
fn collect(marks: u64) -> u64 {
    // The factor moves bit 8i + 7 to bit 56 + i, and no two bits to the same place below.
    (marks & HIGH).wrapping_mul(0x0002_0408_1020_4081) >> 56
}

/// Eight bytes at a time in the arithmetic of one 64-bit number, for every processor.
fn mark_plain(source: &[u8], target: &mut [u8], words: &mut [u64], lowercase: bool) -> u64 {
    let case = if lowercase { HIGH } else { 0 };
    let (source, _) = source.as_chunks::<BLOCK>();
    let (target, _) = target.as_chunks_mut::<BLOCK>();
    let mut seen = 0u64;
    for ((bytes, lowered), marks) in source.iter().zip(target).zip(words) {
        let ((bytes, _), (lowered, _)) = (bytes.as_chunks::<8>(), lowered.as_chunks_mut::<8>());
        let mut word = 0u64;
        for (place, (bytes, lowered)) in bytes.iter().zip(lowered).enumerate() {
            let bytes = u64::from_le_bytes(*bytes);
            let ascii = bytes & !HIGH;
            let letter = within(ascii | eight(0x20), b'a', b'z');
            let other = within(ascii, b'0', b'9') | within(ascii, b'_', b'_');
            // An upper case letter lacks the bit 0x20; bytes beyond ASCII stay.
            let upper = letter & !(bytes << 2) & !bytes & case;
            word |= collect(letter | other | bytes) << (8 * place);
            *lowered = (bytes | upper >> 2).to_le_bytes();
            seen |= bytes & HIGH;
        }
        *marks = word;
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

/// Ask the processor to fetch text a little ahead of `position`, and not to keep it: it is read once, while the tables
/// of words should stay in the cache.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch_once(text: &[u8], position: usize) {
    use std::arch::x86_64::{_MM_HINT_NTA, _mm_prefetch};
    const AHEAD: usize = 1 << 10;
    // SAFETY: fetching ahead has no effect that a program can observe, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_NTA>(text.as_ptr().wrapping_add(position + AHEAD).cast()) };
}

#[cfg(test)]
mod tests {
    use super::*;

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
