//! Many texts at once, and signals while that goes on.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use super::errors::{guarded, raise};
use crate::error::{Error, Result};

/// How often a long call asks whether Ctrl-C was pressed.
pub(super) const POLL: Duration = Duration::from_millis(50);

/// Asks the interpreter now and then whether a signal came in, and keeps the exception it raised.
pub(super) struct Polling {
    asked: Instant,
    raised: Option<PyErr>,
}

impl Polling {
    pub(super) fn new() -> Self {
        Self { asked: Instant::now(), raised: None }
    }

    pub(super) fn go_on(&mut self) -> bool {
        if self.asked.elapsed() >= POLL {
            self.raised = Python::attach(|py| py.check_signals()).err();
            self.asked = Instant::now();
        }
        self.raised.is_none()
    }

    pub(super) fn raise(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}

/// Runs `work` over all texts, on one thread a state, while this thread watches for signals.
pub(super) fn batch<S: Send, T: Send>(
    py: Python<'_>,
    texts: &[&str],
    name: impl Fn(usize) -> String,
    states: &mut [S],
    work: impl Fn(usize, &str, &mut S, &mut dyn FnMut() -> bool) -> Result<T> + Sync,
) -> PyResult<Vec<T>> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let mut polling = Polling::new();
    let worker = |state: &mut S| {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(text) = texts.get(at).filter(|_| !stop.load(Ordering::Relaxed)) else { return done };
            match work(at, text, state, &mut || !stop.load(Ordering::Relaxed)) {
                Ok(result) => done.push((at, result)),
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    if error != Error::Interrupted && failed.as_ref().is_none_or(|(other, _)| at < *other) {
                        *failed = Some((at, error));
                    }
                }
            }
        }
    };
    let mut done = guarded(py, || {
        let done = py.detach(|| {
            std::thread::scope(|scope| {
                let worker = &worker;
                let threads: Vec<_> = states.iter_mut().map(|state| scope.spawn(move || worker(state))).collect();
                while threads.iter().any(|thread| !thread.is_finished()) {
                    std::thread::sleep(Duration::from_micros(200));
                    if !polling.go_on() {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
                threads.into_iter().map(|thread| thread.join()).collect::<std::thread::Result<Vec<_>>>()
            })
        });
        match done {
            Ok(done) => Ok(done.into_iter().flatten().collect::<Vec<_>>()),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })?;
    polling.raise()?;
    if let Some((at, error)) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(raise(py, &error, &name(at)));
    }
    done.sort_unstable_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

/// As many threads as asked for, else as many as affinity and cgroup allow; never more than texts.
pub(super) fn threads(asked: Option<usize>, num_texts: usize) -> usize {
    let allowed = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.unwrap_or_else(allowed).clamp(1, num_texts.max(1))
}
