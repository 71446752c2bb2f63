//! Cancellation of long work.
//!
//! Loops that may run for seconds call `beat` now and then. The caller who waits for them decides, some twenty times a
//! second, whether they go on; if not, the work is unwound to where it began. A no-op when no caller is waiting.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// Time is looked at once in so many beats.
const BEATS: u32 = 1 << 12;
/// How often the one who waits is asked.
const ASK: Duration = Duration::from_millis(50);

pub(super) struct GivenUp;

struct Waiting {
    goes_on: Box<dyn FnMut() -> bool>,
    asked: Instant,
}

thread_local! {
    static COUNT: Cell<u32> = const { Cell::new(0) };
    static WAITING: RefCell<Option<Waiting>> = const { RefCell::new(None) };
}

/// Says that work goes on.
#[inline]
pub fn beat() {
    let count = COUNT.get().wrapping_add(1);
    COUNT.set(count);
    if count.is_multiple_of(BEATS) {
        ask();
    }
}

/// Says that so much work was done as many beats stand for.
pub fn beats(number: usize) {
    let before = COUNT.get();
    let count = before.wrapping_add(number as u32);
    COUNT.set(count);
    if before / BEATS != count / BEATS {
        ask();
    }
}

#[cold]
fn ask() {
    let given_up = WAITING.with_borrow_mut(|waiting| match waiting {
        Some(waiting) if waiting.asked.elapsed() >= ASK => {
            waiting.asked = Instant::now();
            !(waiting.goes_on)()
        }
        _ => false,
    });
    if given_up {
        resume_unwind(Box::new(GivenUp));
    }
}

/// Why work did not come to its end.
pub enum Unfinished {
    GivenUp,
    Panicked(Box<dyn Any + Send>),
}

/// Does work, asking at its beats whether to go on.
pub fn watched<T>(goes_on: impl FnMut() -> bool + 'static, job: impl FnOnce() -> T) -> Result<T, Unfinished> {
    let waiting = Waiting {
        goes_on: Box::new(goes_on),
        asked: Instant::now(),
    };
    let before = WAITING.replace(Some(waiting));
    let result = catch_unwind(AssertUnwindSafe(job));
    WAITING.set(before);
    result.map_err(|cause| match cause.is::<GivenUp>() {
        true => Unfinished::GivenUp,
        false => Unfinished::Panicked(cause),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_goes_on_until_it_is_given_up() {
        let beats = |times: u32| move || (0..times).for_each(|_| beat());
        assert!(watched(|| true, beats(10 * BEATS)).is_ok());
        assert!(watched(|| false, beats(BEATS - 1)).is_ok(), "too soon to ask");
        let endless = || {
            loop {
                beat();
            }
        };
        let start = Instant::now();
        let ended: Result<(), _> = watched(move || start.elapsed() < 3 * ASK, endless);
        assert!(matches!(ended, Err(Unfinished::GivenUp)));
        assert!(start.elapsed() >= 3 * ASK);
        beats(10 * BEATS)(); // nobody waits
        let endless = || {
            loop {
                super::beats(BEATS as usize / 2);
            }
        };
        let ended: Result<(), _> = watched(|| false, endless);
        assert!(matches!(ended, Err(Unfinished::GivenUp)));
    }

    #[test]
    fn a_panic_is_told_apart() {
        let ended: Result<(), _> = watched(|| true, || resume_unwind(Box::new(3)));
        assert!(matches!(ended, Err(Unfinished::Panicked(_))));
    }
}
