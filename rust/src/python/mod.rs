//! The Python module `merganser._core`: translates, and decides nothing.
//!
//! `engine` encodes and decodes, `chain` does so for every component of tokenizer.json, `training` and `word_training` count and learn,
//! `parts` and `threads` share texts among threads and listen for Ctrl-C, `text` takes text in, `convert` takes other values in and
//! gives them out, `errors` makes exceptions of errors and of panics.

mod chain;
mod convert;
mod engine;
mod errors;
mod parts;
mod text;
mod threads;
mod training;
mod word_training;

use std::collections::HashMap;

use pyo3::prelude::*;

use chain::Chain;
use engine::{Allowed, Engine};
use training::PieceCounter;
use word_training::WordCounter;

/// Long texts are cut into parts of about this size where threads share them.
const PART_BYTES: usize = 256 << 10;

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::{Allowed, Chain, Engine, PieceCounter, WordCounter, patterns, unicode_version};

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::PyModuleMethods;
        super::errors::keep_panics();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// The Unicode versions of the classes in patterns and of normalization.
#[pyfunction]
fn unicode_version() -> (&'static str, String) {
    let (major, minor, patch) = crate::normalize::UNICODE_VERSION;
    (crate::split::UNICODE_VERSION, format!("{major}.{minor}.{patch}"))
}

/// The published split patterns by name, in the `rust` dialect.
#[pyfunction]
fn patterns() -> HashMap<&'static str, &'static str> {
    crate::split::patterns::WHOLE.iter().map(|published| (published.name, published.pattern)).collect()
}
