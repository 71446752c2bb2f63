//! Loops compiled once for each set of vector instructions, chosen when the program runs.
//!
//! Each unsafe block calls a function whose processor features were checked at run time.
#![allow(unsafe_code)]

use std::sync::OnceLock;

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
/// with the wider vectors. No path fuses a multiplication with an addition, so all return the same bits.
pub trait Kernel {
    type Output;

    fn run(self) -> Self::Output;
}

/// Run a loop on the fastest code path of this processor.
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
        // SAFETY: `code_path` and `CodePath::available` return these only when the processor has the features.
        #[cfg(target_arch = "x86_64")]
        CodePath::Avx2 => unsafe { on_avx2(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        CodePath::Avx512 => unsafe { on_avx512(kernel) },
        _ => kernel.run(),
    }
}

/// Run a loop on every path of this processor, to test that all return the same.
#[cfg(test)]
pub fn on_every_path<K: Kernel>(kernel: impl Fn() -> K) -> Vec<K::Output> {
    let paths = CodePath::available();
    paths.into_iter().map(|path| dispatch_on(path, kernel())).collect()
}

/// Run a closure as a [`Kernel`]; mark it `#[inline(always)]`.
#[inline(always)]
pub fn vectorized<R>(work: impl FnOnce() -> R) -> R {
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
}
