//! Cancellation of long work: one mechanism for all loops.
//!
//! Loops that may run for seconds pass checkpoints. A caller that waits for them wraps them in [`cancellable`]: about
//! twenty times a second a checkpoint asks it whether to go on. If not, the work is unwound to where it began, so that
//! no function in between has to pass the news on. Without such a caller, checkpoints do nothing.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// Checkpoints between two looks at the clock.
const CHECKPOINTS: u32 = 1 << 12;
/// How often the waiting caller is asked whether to go on.
const INTERVAL: Duration = Duration::from_millis(50);

/// The payload that unwinds cancelled work.
pub(super) struct Cancelled;

/// The caller that waits for the work of this thread.
struct Waiter {
    keep_going: Box<dyn FnMut() -> bool>,
    asked: Instant,
}

thread_local! {
    static COUNT: Cell<u32> = const { Cell::new(0) };
    static WAITER: RefCell<Option<Waiter>> = const { RefCell::new(None) };
}

/// Pass a checkpoint of a loop with little work between two of them: it costs about a nanosecond.
#[inline]
pub fn checkpoint() {
    let count = COUNT.get().wrapping_add(1);
    COUNT.set(count);
    if count.is_multiple_of(CHECKPOINTS) {
        check_now();
    }
}

/// Pass a checkpoint that stands for as many as `number`.
pub fn checkpoints(number: usize) {
    let before = COUNT.get();
    let count = before.wrapping_add(number as u32);
    COUNT.set(count);
    if before / CHECKPOINTS != count / CHECKPOINTS {
        check_now();
    }
}

/// Pass a checkpoint between large pieces of work: look at the clock at once.
#[cold]
pub fn check_now() {
    let cancelled = WAITER.with_borrow_mut(|waiter| match waiter {
        Some(waiter) if waiter.asked.elapsed() >= INTERVAL => {
            waiter.asked = Instant::now();
            !(waiter.keep_going)()
        }
        _ => false,
    });
    if cancelled {
        resume_unwind(Box::new(Cancelled));
    }
}

/// Checkpoints for inner loops in which even a thread-local counter is too slow: the work is counted here.
pub struct Countdown(Cell<usize>);

impl Countdown {
    /// Units of work between two looks at the clock: some milliseconds, if a unit is a number read.
    const PORTION: usize = 1 << 22;

    /// Pass a checkpoint after `work` units of work.
    #[inline(always)]
    pub fn spend(&self, work: usize) {
        let left = self.0.get();
        if left > work {
            self.0.set(left - work);
        } else {
            self.0.set(Self::PORTION);
            check_now();
        }
    }
}

impl Default for Countdown {
    fn default() -> Self {
        Countdown(Cell::new(Self::PORTION))
    }
}

/// Why work did not come to its end.
pub enum Interrupted {
    Cancelled,
    Panicked(Box<dyn Any + Send>),
}

/// Do work that stops at a checkpoint when `keep_going` returns false.
pub fn cancellable<T>(keep_going: impl FnMut() -> bool + 'static, job: impl FnOnce() -> T) -> Result<T, Interrupted> {
    let waiter = Waiter {
        keep_going: Box::new(keep_going),
        asked: Instant::now(),
    };
    let before = WAITER.replace(Some(waiter));
    let result = catch_unwind(AssertUnwindSafe(job));
    WAITER.set(before);
    result.map_err(|cause| match cause.is::<Cancelled>() {
        true => Interrupted::Cancelled,
        false => Interrupted::Panicked(cause),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return whether a loop that passes checkpoints can be cancelled.
    fn cancelled(pass: impl Fn()) -> bool {
        let endless = || -> () {
            loop {
                pass();
            }
        };
        matches!(cancellable(|| false, endless), Err(Interrupted::Cancelled))
    }

    #[test]
    fn work_goes_on_until_it_is_cancelled() {
        let times = |times: u32| move || (0..times).for_each(|_| checkpoint());
        assert!(cancellable(|| true, times(10 * CHECKPOINTS)).is_ok());
        assert!(
            cancellable(|| false, times(CHECKPOINTS - 1)).is_ok(),
            "too soon to look at the clock"
        );
        let endless = || {
            loop {
                checkpoint();
            }
        };
        let start = Instant::now();
        let ended: Result<(), _> = cancellable(move || start.elapsed() < 3 * INTERVAL, endless);
        assert!(matches!(ended, Err(Interrupted::Cancelled)));
        assert!(start.elapsed() >= 3 * INTERVAL);
        times(10 * CHECKPOINTS)(); // nobody waits
    }

    #[test]
    fn every_kind_of_checkpoint_cancels() {
        assert!(cancelled(|| checkpoints(CHECKPOINTS as usize / 2)));
        assert!(cancelled(check_now));
        let countdown = Countdown::default();
        assert!(cancelled(|| countdown.spend(Countdown::PORTION / 2)));
    }

    #[test]
    fn a_panic_is_told_apart() {
        let ended: Result<(), _> = cancellable(|| true, || resume_unwind(Box::new(3)));
        assert!(matches!(ended, Err(Interrupted::Panicked(_))));
    }
}
