//! Errors and panics of the engine as exceptions of `merganser.errors`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

use crate::error::{Error, Result};

/// Calls `work`; its error becomes the Python exception of its kind, and a panic an `InternalError`.
pub(super) fn guarded<T>(py: Python<'_>, work: impl FnOnce() -> Result<T>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| raise(py, &error, "")),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
            let message = format!("the engine failed: {}", text.unwrap_or("no message"));
            Err(exception(py, "InternalError", &message, Some("please report this with the text and the tokenizer")))
        }
    }
}

pub(super) fn raise(py: Python<'_>, error: &Error, place: &str) -> PyErr {
    let class = match error {
        Error::PatternSyntax { .. } | Error::Spec(_) => "FormatError",
        Error::PatternLimit { .. }
        | Error::Unmatched { .. }
        | Error::InvalidUtf8 { .. }
        | Error::NoByteToken { .. }
        | Error::NoUnknownToken { .. }
        | Error::TextTooLong { .. } => "TextError",
        Error::UnknownId { .. } => "TokenIdError",
        Error::Training(_) => "TrainingError",
        Error::Interrupted => "InternalError",
    };
    exception(py, class, &format!("{place}{error}"), error.hint())
}

pub(super) fn exception(py: Python<'_>, class: &str, message: &str, hint: Option<&str>) -> PyErr {
    let build = || {
        let keywords = pyo3::types::PyDict::new(py);
        keywords.set_item("hint", hint)?;
        py.import("merganser.errors")?.getattr(class)?.call((message,), Some(&keywords))
    };
    build().map_or_else(|error| error, PyErr::from_value)
}
