//! `PieceCounter`: documents to merges.

use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::PART_BYTES;
use super::convert::steps;
use super::errors::guarded;
use super::text::texts_of;
use super::threads::{POLL, Part, parts_of, share, threads};
use crate::bpe::train::{TieBreak, TrainOptions, train};
use crate::count::{self, PieceCounts, Position};
use crate::pieces::{Added, Pipeline};
use crate::special::AddedToken;

/// Counts the pieces of documents and learns merges from them.
#[pyclass]
pub(super) struct PieceCounter {
    pipeline: Arc<Pipeline>,
    special: Arc<Added>,
    num_documents: u64,
    /// One a thread, put together when training begins.
    counts: Vec<PieceCounts>,
}

#[pymethods]
impl PieceCounter {
    #[new]
    #[pyo3(signature = (*, splits, special_tokens))]
    fn new(py: Python<'_>, splits: Vec<(String, String)>, special_tokens: Vec<String>) -> PyResult<Self> {
        guarded(py, || {
            let pipeline = Pipeline::new(Vec::new(), steps(&splits)?)?;
            let special: Vec<_> = special_tokens.into_iter().map(|content| AddedToken::special(content, 0)).collect();
            let special = pipeline.added(&special)?;
            Ok(Self { pipeline: Arc::new(pipeline), special: Arc::new(special), num_documents: 0, counts: Vec::new() })
        })
    }

    fn add(&mut self, py: Python<'_>, documents: &Bound<'_, PyList>, num_threads: Option<usize>) -> PyResult<()> {
        let objects: Vec<Bound<'_, PyAny>> = documents.iter().collect();
        let first = self.num_documents;
        let texts = texts_of(&objects, (false, true).into(), first)?;
        self.num_documents += texts.len() as u64;
        let (pipeline, special) = (Arc::clone(&self.pipeline), Arc::clone(&self.special));
        // A long document is several parts, so that one alone has work for all threads.
        let parts =
            guarded(py, || py.detach(|| Ok(parts_of(&texts, |text| pipeline.safe_parts(text, &special, PART_BYTES)))))?;
        let num_threads = threads(num_threads, parts.len());
        if self.counts.len() < num_threads {
            self.counts.resize_with(num_threads, PieceCounts::new);
        }
        let (texts, parts) = (Arc::new(texts), Arc::new(parts));
        let all = Arc::clone(&parts);
        let work = move |at, text: &str, counts: &mut PieceCounts, go_on: &mut dyn FnMut() -> bool| {
            let place = |part: &Part| Position { document: first + part.document as u64, offset: part.start as u64 };
            let seen = all.get(at).map_or(Position::default(), place);
            count::add_document(counts, &pipeline, &special, text, seen, go_on)
        };
        let states = self.counts.drain(..num_threads).collect();
        let name = |document| format!("document {}: ", first + document as u64);
        let (mut states, done) = share(py, (texts, parts), name, states, work);
        self.counts.append(&mut states);
        done
    }

    /// Adds pieces that are counted already.
    fn add_counts(&mut self, py: Python<'_>, counts: Vec<(Vec<u8>, u64)>) -> PyResult<()> {
        guarded(py, || {
            if self.counts.is_empty() {
                self.counts.push(PieceCounts::new());
            }
            let Some(table) = self.counts.first_mut() else { return Ok(()) };
            for (piece, count) in &counts {
                table.add(piece, *count, Position { document: self.num_documents, offset: 0 })?;
                self.num_documents += 1;
            }
            Ok(())
        })
    }

    /// Packed (left, right) symbols of each merge: 0 to 255 are bytes in `byte_order`, merge `i` makes symbol `256 + i`.
    #[pyo3(signature = (*, num_merges, byte_order, tie_break, min_frequency, max_token_length, never_merge_spaces, progress))]
    #[expect(clippy::too_many_arguments, reason = "one an option, by name")]
    fn train<'py>(
        &mut self,
        py: Python<'py>,
        num_merges: usize,
        byte_order: [u8; 256],
        tie_break: &str,
        min_frequency: u64,
        max_token_length: Option<usize>,
        never_merge_spaces: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let tie_break = match tie_break {
            "first" => TieBreak::First,
            "lex_max" => TieBreak::LexMax,
            _ => TieBreak::Ids,
        };
        let options =
            TrainOptions { num_merges, byte_order, tie_break, min_frequency, max_token_length, never_merge_spaces };
        let mut raised = None;
        let mut told = Instant::now();
        let mut pulse = |done: usize| {
            if told.elapsed() >= POLL {
                told = Instant::now();
                raised = Python::attach(|py| {
                    py.check_signals()?;
                    progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (done,)).map(drop))
                })
                .err();
            }
            raised.is_none()
        };
        let counts = std::mem::take(&mut self.counts);
        let training = guarded(py, || {
            py.detach(|| {
                let mut counts = counts.into_iter();
                let mut all = counts.next().unwrap_or_default();
                counts.try_for_each(|counts| all.merge(counts))?;
                train(&all, &options, &mut pulse)
            })
        });
        if let Some(error) = raised {
            return Err(error);
        }
        let symbols = training?.merges.into_iter().flat_map(|(left, right, _)| [left, right]);
        Ok(PyBytes::new(py, &symbols.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()))
    }
}
