//! Long work that can be given up in the middle.
//!
//! Loops that may run for seconds call `beat` now and then. Whoever waits for them says at each beat, or rather at
//! every so many, whether to go on; if not, the work is unwound to where it began. Without one who waits, a beat does
//! nothing.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::system::vector::Seats;

/// Time is looked at once in so many beats.
const BEATS: u32 = 1 << 12;
/// How often the one who waits is asked.
const ASK: Duration = Duration::from_millis(50);

struct GivenUp;

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

/// Says stop when it goes in the course of a panic.
struct StopUnlessDone(Arc<AtomicBool>);

impl Drop for StopUnlessDone {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Does all jobs at once, the last of them on the calling thread. If that gives up at a beat, so do the others.
pub fn side_by_side<T: Send>(mut jobs: Vec<impl FnOnce() -> T + Send>) -> Vec<T> {
    let Some(own) = jobs.pop() else { return Vec::new() };
    let (stopped, seats) = (Arc::new(AtomicBool::new(false)), Seats::default());
    std::thread::scope(|scope| {
        let begin = |job| {
            let (stopped, seats) = (stopped.clone(), &seats);
            scope.spawn(move || {
                seats.take();
                watched(move || !stopped.load(Ordering::Relaxed), job)
            })
        };
        seats.take();
        let others: Vec<_> = jobs.into_iter().map(begin).collect();
        if !others.is_empty() {
            std::thread::yield_now(); // so that those that were started on this processor can leave it
        }
        let guard = StopUnlessDone(stopped.clone());
        let last = own();
        drop(guard);
        let ended = others.into_iter().map(|other| match other.join() {
            Ok(Ok(result)) => result,
            Ok(Err(Unfinished::Panicked(cause))) | Err(cause) => resume_unwind(cause),
            Ok(Err(Unfinished::GivenUp)) => resume_unwind(Box::new(GivenUp)),
        });
        ended.chain([last]).collect()
    })
}

/// Portions of work, a stretch of neighbours for each thread: what lies together is often alike (documents of a class
/// have words in common), and then each thread learns less.
pub struct Shares(Mutex<Vec<Range<usize>>>);

impl Shares {
    pub fn new(portions: usize, threads: usize) -> Self {
        let bound = |thread| portions * thread / threads;
        Shares(Mutex::new(
            (0..threads).map(|thread| bound(thread)..bound(thread + 1)).collect(),
        ))
    }

    /// The next portion of a thread; when its own are done, the last of the thread that has most left.
    pub fn take(&self, owner: usize) -> Option<usize> {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left[owner]
            .next()
            .or_else(|| left.iter_mut().max_by_key(|range| range.len())?.next_back())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_portion_is_taken_once_and_neighbours_by_the_same_thread() {
        let shares = Shares::new(10, 3);
        let taken = |owner: usize, times: usize| (0..times).map_while(|_| shares.take(owner)).collect::<Vec<_>>();
        assert_eq!(taken(0, 2), [0, 1]);
        assert_eq!(taken(2, 1), [6]);
        assert_eq!(
            taken(1, 4),
            [3, 4, 5, 9],
            "then the last of the thread that has most left"
        );
        let mut rest = taken(0, 9);
        rest.sort_unstable();
        assert_eq!(rest, [2, 7, 8]);
        assert!((0..3).all(|owner| shares.take(owner).is_none()));
        assert_eq!(
            Shares::new(1, 2).take(0),
            Some(0),
            "a portion is taken by whoever comes first"
        );
    }

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

    #[test]
    fn jobs_side_by_side_keep_their_order_and_give_up_together() {
        let jobs: Vec<_> = (0..5).map(|number| move || number * number).collect();
        assert_eq!(side_by_side(jobs), [0, 1, 4, 9, 16]);
        assert!(side_by_side(Vec::<fn()>::new()).is_empty());
        let endless = || {
            loop {
                beat();
            }
        };
        let ended: Result<Vec<()>, _> = watched(|| false, || side_by_side(vec![endless, endless, endless]));
        assert!(matches!(ended, Err(Unfinished::GivenUp)));
    }

    #[test]
    fn a_panic_of_another_thread_is_not_lost() {
        let panics = |number: u32| move || assert!(number > 0);
        let ended = watched(|| true, || side_by_side(vec![panics(0), panics(1)]));
        assert!(matches!(ended, Err(Unfinished::Panicked(_))));
    }
}
