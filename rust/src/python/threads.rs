//! Work of many threads, and signals while that goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use super::errors::{guarded, raise};
use super::text::Text;
use crate::error::{Error, Result};
use crate::pool::pool;

/// How often a long call asks whether Ctrl-C was pressed.
pub(super) const POLL: Duration = Duration::from_millis(30);

/// Asks the interpreter now and then whether a signal came in, and keeps the exception it raised.
pub(super) struct Polling {
    asked: Instant,
    raised: Option<PyErr>,
    is_ending: bool,
}

impl Polling {
    pub(super) fn new() -> Self {
        Self { asked: Instant::now(), raised: None, is_ending: false }
    }

    pub(super) fn go_on(&mut self) -> bool {
        if self.asked.elapsed() >= POLL {
            match Python::try_attach(|py| py.check_signals()) {
                Some(checked) => self.raised = checked.err(),
                // The interpreter is ending, and this call will not come back to it.
                None => self.is_ending = true,
            }
            self.asked = Instant::now();
        }
        self.raised.is_none() && !self.is_ending
    }

    pub(super) fn raise(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}

/// Calls `work` without the interpreter lock, with a function that asks for signals; what a signal raised comes first.
pub(super) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T> + Send,
) -> PyResult<T> {
    let mut polling = Polling::new();
    let done = guarded(py, || py.detach(|| work(&mut || polling.go_on())));
    polling.raise()?;
    done
}

/// A part of a document, or all of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) document: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// `texts` in parts that threads can share, in order. `cut` gives those of a text, with where they begin.
pub(super) fn parts_of(texts: &[Text], cut: impl Fn(&str) -> Vec<(usize, &str)>) -> Vec<Part> {
    let mut parts = Vec::with_capacity(texts.len());
    for (document, text) in texts.iter().enumerate() {
        let of = |(start, part): (usize, &str)| Part { document, start, end: start + part.len() };
        if text.len() > super::PART_BYTES {
            parts.extend(cut(text).into_iter().map(of));
        } else {
            parts.push(Part { document, start: 0, end: text.len() });
        }
    }
    parts
}

/// Calls `work` with every part, its number and text, on one thread a state, this one among them. The states come back, and
/// an error that names its document as `name` does, by its number.
pub(super) fn share<S: Send + 'static>(
    py: Python<'_>,
    (texts, parts): (Arc<Vec<Text>>, Arc<Vec<Part>>),
    name: impl Fn(usize) -> String,
    states: Vec<S>,
    work: impl Fn(usize, &str, &mut S, &mut dyn FnMut() -> bool) -> Result<()> + Send + Sync + 'static,
) -> (Vec<S>, PyResult<()>) {
    let pool = pool();
    let mut polling = Polling::new();
    let mut back = Vec::new();
    let (count, all) = (parts.len(), Arc::clone(&parts));
    let done = guarded(py, || {
        let (states, failed) = py.detach(|| {
            let on_part = move |at: usize, state: &mut S, go_on: &mut dyn FnMut() -> bool| {
                let Some(part) = parts.get(at) else { return Ok(()) };
                let text = texts.get(part.document).and_then(|text| text.get(part.start..part.end));
                work(at, text.unwrap_or_default(), state, go_on)
                    .map_err(|error| error.with_offset(|offset| part.start + offset))
            };
            pool.share(states, count, on_part, &mut || polling.go_on())
        });
        back = states;
        Ok(failed)
    });
    let raised = polling.raise().and(done.and_then(|failed: Option<(usize, Error)>| match failed {
        Some((at, error)) => Err(raise(py, &error, &all.get(at).map_or(String::new(), |part| name(part.document)))),
        None => Ok(()),
    }));
    (back, raised)
}

/// As many threads as asked for, else as many as affinity and cgroup allow; never more than texts.
pub(super) fn threads(asked: Option<usize>, num_texts: usize) -> usize {
    let allowed = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.unwrap_or_else(allowed).clamp(1, num_texts.max(1))
}
