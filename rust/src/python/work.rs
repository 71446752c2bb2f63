//! Work on threads that Ctrl-C cancels, and the functions that test it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;

use crate::system::cancel::{Interrupted, cancellable, check_now};
use crate::system::threads::Processors;
use crate::system::threads::Shares;
use crate::system::vector::code_path;

/// More threads than this do not help.
pub(super) const MOST_THREADS: usize = 1 << 10;
/// How often the waiting thread looks for Ctrl-C.
pub(super) const WATCH: Duration = Duration::from_millis(50);

pub(super) fn internal_error() -> PyErr {
    PyRuntimeError::new_err("an internal error in discern's native code; please report it with the input")
}

/// Share portions `0..portions` out to one thread for each state.
///
/// Threads live only for this call: nothing of them is left behind that a fork could break. `small` work is done at
/// once, without threads and without looking for Ctrl-C.
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
        interruptible(py, || {
            for portion in 0..portions {
                check_now();
                job(state, portion);
            }
        })?;
        return py.check_signals();
    }
    let shares = Shares::new(portions, states.len());
    let mut owners: Vec<(usize, &mut S)> = states.iter_mut().enumerate().collect();
    on_threads(py, &mut owners, |(owner, state)| {
        while let Some(portion) = shares.take(*owner) {
            check_now();
            job(state, portion);
        }
    })
}

/// Step every solver until its end, a thread taking one after another.
///
/// `step` does a small piece of work and returns whether the solver is at its end.
pub(super) fn step_to_end<S: Send>(
    py: Python<'_>,
    solvers: Vec<S>,
    threads: usize,
    step: impl Fn(&mut S) -> bool + Sync,
) -> PyResult<Vec<S>> {
    let slots: Vec<Mutex<S>> = solvers.into_iter().map(Mutex::new).collect();
    let next = AtomicUsize::new(0);
    let mut workers = vec![(); threads.clamp(1, slots.len().max(1))];
    on_threads(py, &mut workers, |()| {
        while let Some(slot) = slots.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut solver = slot.lock().unwrap_or_else(PoisonError::into_inner);
            while !step(&mut solver) {
                check_now();
            }
        }
    })?;
    let finished = slots.into_iter();
    Ok(finished
        .map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect())
}

/// Run `work` on a thread for each state, while the calling thread looks for Ctrl-C; that cancels the work at its next
/// checkpoints.
pub(super) fn on_threads<S: Send>(py: Python<'_>, states: &mut [S], work: impl Fn(&mut S) + Sync) -> PyResult<()> {
    let (mut raised, processors) = (None, Processors::default());
    let stop = Arc::new(AtomicBool::new(false));
    let sound = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, finished) = channel();
            let count = states.len();
            for state in states {
                let (done, work, processors, stop) = (done.clone(), &work, &processors, stop.clone());
                scope.spawn(move || {
                    processors.claim();
                    let result = cancellable(move || !stop.load(Ordering::Relaxed), || work(state));
                    let _ = done.send(!matches!(result, Err(Interrupted::Panicked(_))));
                });
            }
            let (mut ended, mut sound) = (0, true);
            while ended < count {
                match finished.recv_timeout(WATCH) {
                    Ok(well) => {
                        ended += 1;
                        sound &= well;
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            stop.store(true, Ordering::Relaxed);
                            raised = Some(error);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => return false,
                }
            }
            sound
        })
    });
    match raised {
        Some(error) => Err(error),
        None if sound => Ok(()),
        None => Err(internal_error()),
    }
}

/// Do work on the calling thread; its checkpoints look for Ctrl-C.
pub(super) fn interruptible<T: Send>(py: Python<'_>, job: impl FnOnce() -> T + Send) -> PyResult<T> {
    let raised = Arc::new(Mutex::new(None));
    let keep_going = {
        let raised = raised.clone();
        move || match Python::attach(|py| py.check_signals()) {
            Ok(()) => true,
            Err(error) => {
                *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                false
            }
        }
    };
    py.detach(|| cancellable(keep_going, job))
        .map_err(|interrupted| match interrupted {
            Interrupted::Cancelled => raised
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take()
                .unwrap_or_else(internal_error),
            Interrupted::Panicked(_) => internal_error(),
        })
}

/// Fail inside a worker thread, to test that such a failure becomes an ordinary exception.
#[pyfunction]
#[pyo3(signature = (small, alone=false))]
pub(super) fn fail_on_purpose(py: Python<'_>, small: bool, alone: bool) -> PyResult<()> {
    if alone {
        return interruptible(py, || std::panic::resume_unwind(Box::new("on purpose")));
    }
    share_out(py, &mut [(), ()], 4, small, |(), _| {
        std::panic::resume_unwind(Box::new("on purpose"));
    })
}

/// Work for about `seconds` on two threads, to test that Ctrl-C cancels it.
#[pyfunction]
pub(super) fn work_for(py: Python<'_>, seconds: f64) -> PyResult<()> {
    if !(0.0..=60.0).contains(&seconds) {
        return Err(PyKeyError::new_err("seconds must be between 0 and 60"));
    }
    share_out(py, &mut [(), ()], (seconds * 200.0) as usize, false, |(), _| {
        std::thread::sleep(Duration::from_millis(10));
    })
}

/// Return the code path of this processor: "plain", "avx2" or "avx512".
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
