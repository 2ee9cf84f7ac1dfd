//! `WordCounter`: documents to a WordPiece vocabulary.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::PART_BYTES;
use super::errors::guarded;
use super::text::texts_of;
use super::threads::{POLL, parts_of, share, threads};
use crate::count::PieceCounts;
use crate::special::{AddedToken, Matcher};
use crate::wordpiece::bert::Bert;
use crate::wordpiece::count::{WordCounts, safe_parts};
use crate::wordpiece::train::{Options, Score, train};

/// Counts the words of documents and learns a vocabulary from them.
#[pyclass]
pub(super) struct WordCounter {
    bert: Bert,
    special: Arc<Matcher>,
    special_tokens: Vec<String>,
    num_documents: u64,
    /// One a thread, put together when training begins.
    counts: Vec<WordCounts>,
}

#[pymethods]
impl WordCounter {
    #[new]
    #[pyo3(signature = (*, bert, special_tokens))]
    fn new(py: Python<'_>, bert: (bool, bool, bool, bool), special_tokens: Vec<String>) -> PyResult<Self> {
        let (clean_text, handle_chinese_chars, strip_accents, lowercase) = bert;
        let bert = Bert { clean_text, handle_chinese_chars, strip_accents, lowercase };
        let token = |content: &String| AddedToken::special(content.clone(), 0);
        let special = guarded(py, || Matcher::new(&special_tokens.iter().map(token).collect::<Vec<_>>()))?;
        Ok(Self { bert, special: Arc::new(special), special_tokens, num_documents: 0, counts: Vec::new() })
    }

    fn add(&mut self, py: Python<'_>, documents: &Bound<'_, PyList>, num_threads: Option<usize>) -> PyResult<()> {
        let objects: Vec<Bound<'_, PyAny>> = documents.iter().collect();
        let first = self.num_documents;
        let texts = texts_of(&objects, (false, true).into(), first)?;
        self.num_documents += texts.len() as u64;
        let (bert, special) = (self.bert, Arc::clone(&self.special));
        // A long document is several parts, so that one alone has work for all threads.
        let parts = guarded(py, || py.detach(|| Ok(parts_of(&texts, |text| safe_parts(text, &special, PART_BYTES)))))?;
        let num_threads = threads(num_threads, parts.len());
        if self.counts.len() < num_threads {
            self.counts.resize_with(num_threads, WordCounts::default);
        }
        let work = move |_, text: &str, counts: &mut WordCounts, go_on: &mut dyn FnMut() -> bool| {
            counts.add(text, bert, &special, go_on)
        };
        let states = self.counts.drain(..num_threads).collect();
        let name = |document| format!("document {}: ", first + document as u64);
        let (mut states, done) = share(py, (Arc::new(texts), Arc::new(parts)), name, states, work);
        self.counts.append(&mut states);
        done
    }

    /// The tokens in the order of their ids.
    #[pyo3(signature = (*, score, vocab_size, initial_alphabet, limit_alphabet, min_frequency, prefix, progress))]
    #[expect(clippy::too_many_arguments, reason = "one an option, by name")]
    fn train(
        &mut self,
        py: Python<'_>,
        score: &str,
        vocab_size: usize,
        initial_alphabet: Vec<char>,
        limit_alphabet: Option<usize>,
        min_frequency: u64,
        prefix: String,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<String>> {
        let score = if score == "likelihood" { Score::Likelihood } else { Score::Frequency };
        let special_tokens = self.special_tokens.clone();
        let options =
            Options { score, vocab_size, special_tokens, initial_alphabet, limit_alphabet, min_frequency, prefix };
        let raised: Mutex<Option<PyErr>> = Mutex::default();
        let mut told = Instant::now();
        let mut pulse = |done: usize| {
            if told.elapsed() < POLL {
                return true;
            }
            told = Instant::now();
            let told = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (done,)).map(drop))
            });
            let is_fine = told.is_ok();
            if let (Err(error), Ok(mut raised)) = (told, raised.lock()) {
                *raised = Some(error);
            }
            is_fine
        };
        let counts = std::mem::take(&mut self.counts);
        let trained = guarded(py, || {
            py.detach(|| {
                let mut all = PieceCounts::new();
                counts.into_iter().try_for_each(|counts| all.merge(counts.into_counts()))?;
                train(&all, &options, &mut pulse)
            })
        });
        match raised.into_inner() {
            Ok(Some(error)) => Err(error),
            _ => trained,
        }
    }
}
