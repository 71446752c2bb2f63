//! Work on threads, answering Ctrl-C; and the hooks that test it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;

use crate::system::cancel::{Unfinished, watched};
use crate::system::threads::Seats;
use crate::system::threads::Shares;
use crate::system::vector::code_path;

/// More threads than this do not help.
pub(super) const MOST_THREADS: usize = 1 << 10;
/// How often the waiting thread looks for Ctrl-C.
pub(super) const WATCH: Duration = Duration::from_millis(50);

pub(super) fn internal_error() -> PyErr {
    PyRuntimeError::new_err("an internal error in discern's native code; please report it with the input")
}

/// Gives portions `0..portions` to one thread for each state, while the calling thread watches for Ctrl-C.
///
/// Threads live only for this call: nothing of them is left behind that a fork could break.
pub(super) fn share_out<S: Send>(
    py: Python<'_>,
    states: &mut [S],
    portions: usize,
    small: bool,
    job: impl Fn(&mut S, usize) + Sync,
) -> PyResult<()> {
    if small && let Some(state) = states.first_mut() {
        let work = || (0..portions).for_each(|portion| job(state, portion));
        return catch_unwind(AssertUnwindSafe(work)).map_err(|_| internal_error());
    }
    if let [state] = states {
        return work_alone(py, state, portions, job);
    }
    let (shares, stop) = (Shares::new(portions, states.len()), AtomicBool::new(false));
    let mut owners: Vec<(usize, &mut S)> = states.iter_mut().enumerate().collect();
    on_threads(py, &mut owners, &stop, |(owner, state)| {
        while !stop.load(Ordering::Relaxed)
            && let Some(portion) = shares.take(*owner)
        {
            job(state, portion);
        }
    })
}

/// Steps every solver until its end, a thread taking one after another; the calling thread watches for Ctrl-C.
///
/// `step` does a small piece of work and says whether the solver is at its end.
pub(super) fn step_to_end<S: Send>(
    py: Python<'_>,
    solvers: Vec<S>,
    threads: usize,
    step: impl Fn(&mut S) -> bool + Sync,
) -> PyResult<Vec<S>> {
    let slots: Vec<Mutex<S>> = solvers.into_iter().map(Mutex::new).collect();
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut workers = vec![(); threads.clamp(1, slots.len().max(1))];
    on_threads(py, &mut workers, &stop, |()| {
        while let Some(slot) = slots.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut solver = slot.lock().unwrap_or_else(PoisonError::into_inner);
            let mut ended = false;
            while !ended && !stop.load(Ordering::Relaxed) {
                ended = step(&mut solver);
            }
        }
    })?;
    let finished = slots.into_iter();
    Ok(finished
        .map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect())
}

/// Runs `work` on a thread for each state, which ends soon after `stop` is set; the calling thread watches for Ctrl-C.
pub(super) fn on_threads<S: Send>(
    py: Python<'_>,
    states: &mut [S],
    stop: &AtomicBool,
    work: impl Fn(&mut S) + Sync,
) -> PyResult<()> {
    let (mut interrupted, seats) = (None, Seats::default());
    let whole = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, finished) = channel();
            let count = states.len();
            for state in states {
                let (done, work, seats) = (done.clone(), &work, &seats);
                scope.spawn(move || {
                    seats.take();
                    let result = catch_unwind(AssertUnwindSafe(|| work(state)));
                    let _ = done.send(result.is_ok());
                });
            }
            let (mut ended, mut whole) = (0, true);
            while ended < count {
                match finished.recv_timeout(WATCH) {
                    Ok(well) => {
                        ended += 1;
                        whole &= well;
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            stop.store(true, Ordering::Relaxed);
                            interrupted = Some(error);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => return false,
                }
            }
            whole
        })
    });
    match interrupted {
        Some(error) => Err(error),
        None if whole => Ok(()),
        None => Err(internal_error()),
    }
}

/// Does all portions on the calling thread, looking for Ctrl-C now and then.
pub(super) fn work_alone<S: Send>(
    py: Python<'_>,
    state: &mut S,
    portions: usize,
    job: impl Fn(&mut S, usize) + Sync,
) -> PyResult<()> {
    let mut next = 0;
    while next < portions {
        let turn = || {
            let start = Instant::now();
            while next < portions && start.elapsed() < WATCH {
                job(state, next);
                next += 1;
            }
        };
        py.detach(|| catch_unwind(AssertUnwindSafe(turn)))
            .map_err(|_| internal_error())?;
        py.check_signals()?;
    }
    Ok(())
}

/// Does work on the calling thread that cannot be cut into portions; its beats answer Ctrl-C.
pub(super) fn patiently<T: Send>(py: Python<'_>, job: impl FnOnce() -> T + Send) -> PyResult<T> {
    let raised = Arc::new(Mutex::new(None));
    let watch = {
        let raised = raised.clone();
        move || match Python::attach(|py| py.check_signals()) {
            Ok(()) => true,
            Err(error) => {
                *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                false
            }
        }
    };
    py.detach(|| watched(watch, job))
        .map_err(|unfinished| match unfinished {
            Unfinished::GivenUp => raised
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take()
                .unwrap_or_else(internal_error),
            Unfinished::Panicked(_) => internal_error(),
        })
}

/// Fails inside a worker thread, for the test that such a failure becomes an ordinary exception.
#[pyfunction]
#[pyo3(signature = (small, alone=false))]
pub(super) fn fail_on_purpose(py: Python<'_>, small: bool, alone: bool) -> PyResult<()> {
    if alone {
        return patiently(py, || std::panic::resume_unwind(Box::new("on purpose")));
    }
    share_out(py, &mut [(), ()], 4, small, |(), _| {
        std::panic::resume_unwind(Box::new("on purpose"));
    })
}

/// Works for about so many seconds on two threads, for the test that Ctrl-C is answered.
#[pyfunction]
pub(super) fn work_for(py: Python<'_>, seconds: f64) -> PyResult<()> {
    if !(0.0..=60.0).contains(&seconds) {
        return Err(PyKeyError::new_err("seconds must be between 0 and 60"));
    }
    share_out(py, &mut [(), ()], (seconds * 200.0) as usize, false, |(), _| {
        std::thread::sleep(Duration::from_millis(10));
    })
}

/// Which code this processor runs: "plain", "avx2" or "avx512".
#[pyfunction(name = "code_path")]
pub(super) fn code_path_name() -> &'static str {
    code_path().name()
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(fail_on_purpose, module)?)?;
    module.add_function(wrap_pyfunction!(work_for, module)?)?;
    module.add_function(wrap_pyfunction!(code_path_name, module)?)?;
    Ok(())
}
