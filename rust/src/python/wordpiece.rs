//! `WordPiece`: BERT's line from text to ids.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::PART_BYTES;
use super::convert::{AddedTokenFields, Ints, SHORT_BYTES, added_tokens, array, text_of, texts_of, unpack};
use super::engine::{Allowed, allowed_by_engine};
use super::errors::guarded;
use super::threads::{Polling, batch, threads};
use crate::vocabulary::Vocabulary;
use crate::wordpiece::bert::Bert;
use crate::wordpiece::encode::{self, Scratch};
use crate::wordpiece::matching::Longest;

#[pyclass(frozen)]
pub(super) struct WordPiece {
    model: encode::WordPiece,
    ints: Ints,
}

#[pymethods]
impl WordPiece {
    #[new]
    #[pyo3(signature = (*, data, ends, ids, prefix, unknown_token, max_characters, bert, added))]
    #[expect(clippy::too_many_arguments, reason = "one a part of the spec, by name")]
    fn new(
        py: Python<'_>,
        data: &[u8],
        ends: &[u8],
        ids: &[u8],
        prefix: &str,
        unknown_token: &str,
        max_characters: usize,
        bert: (bool, bool, bool, bool),
        added: Vec<AddedTokenFields>,
    ) -> PyResult<Self> {
        let (clean_text, handle_chinese_chars, strip_accents, lowercase) = bert;
        let bert = Bert { clean_text, handle_chinese_chars, strip_accents, lowercase };
        guarded(py, || {
            let vocabulary = Vocabulary::new(data, unpack(ends)?, unpack(ids)?)?;
            let longest = Longest::new(&vocabulary, prefix, unknown_token, max_characters)?;
            encode::WordPiece::new(bert, vocabulary, longest, added_tokens(added))
                .map(|model| Self { model, ints: Ints::default() })
        })
    }

    /// What to look for: every added token that is not special, and the special ones of these names (None: all).
    fn allow(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Allowed> {
        guarded(py, || match &names {
            None => self.model.allow(|_| true).map(allowed_by_engine),
            Some(names) => self.model.allow(|content| names.iter().any(|name| name == content)).map(allowed_by_engine),
        })
    }

    #[pyo3(signature = (text, allowed, replace, num_threads=1))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
        num_threads: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        self.with_ids(py, text, allowed, replace, num_threads, |ids| self.ints.list(py, ids, self.num_ids()))?
    }

    #[pyo3(signature = (text, allowed, replace, dtype, num_threads=1))]
    fn encode_array<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
        dtype: &str,
        num_threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.with_ids(py, text, allowed, replace, num_threads, |ids| array(py, ids, dtype))?
    }

    #[pyo3(signature = (text, allowed, replace, num_threads=1))]
    fn count(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
        num_threads: usize,
    ) -> PyResult<usize> {
        self.with_ids(py, text, allowed, replace, num_threads, <[u32]>::len)
    }

    /// Encodes each text on a thread of its own at a time; the lists are in the order of the texts.
    fn encode_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
        num_threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let objects: Vec<Bound<'py, PyAny>> = texts.try_iter()?.collect::<PyResult<_>>()?;
        let texts = texts_of(&objects, replace)?;
        let texts: Vec<&str> = texts.iter().map(Cow::as_ref).collect();
        let lists = self.lists(py, &texts, allowed, num_threads, |at| format!("document {at}: "))?;
        let list = |ids: Vec<u32>| self.ints.list(py, &ids, self.num_ids());
        PyList::new(py, lists.into_iter().map(list).collect::<PyResult<Vec<_>>>()?)
    }

    /// The ids of one word, not normalized.
    fn encode_piece(&self, py: Python<'_>, piece: &[u8]) -> PyResult<Vec<u32>> {
        guarded(py, || {
            let mut ids = Vec::new();
            self.model.longest().encode_into(piece, &mut ids).map(|()| ids)
        })
    }

    fn certificate(&self) -> Vec<(&'static str, &'static str)> {
        self.model.certificate().to_vec()
    }

    fn token_to_id(&self, token: &[u8]) -> Option<u32> {
        self.model.vocabulary().find(token).map(|(_, id)| id)
    }

    fn id_to_token<'py>(&self, py: Python<'py>, id: u32) -> Option<Bound<'py, PyBytes>> {
        self.model.decoder().token(id).map(|token| PyBytes::new(py, token))
    }

    fn num_ids(&self) -> usize {
        self.model.decoder().num_ids()
    }
}

impl WordPiece {
    /// Calls `work`, which holds the interpreter lock, with the ids of `text`.
    fn with_ids<T>(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
        num_threads: usize,
        work: impl FnOnce(&[u32]) -> T,
    ) -> PyResult<T> {
        let text = text_of(text, replace)?;
        let added = allowed.by_engine(py)?;
        if num_threads > 1 && text.len() > PART_BYTES {
            let parts = self.model.safe_parts(&text, added, PART_BYTES);
            return Ok(work(&self.lists(py, &parts, allowed, Some(num_threads), |_| String::new())?.concat()));
        }
        self.model.with_scratches(1, |scratches| {
            let mut other = Scratch::default();
            let scratch = scratches.first_mut().unwrap_or(&mut other);
            let mut ids = scratch.take_ids();
            if text.len() < SHORT_BYTES {
                guarded(py, || self.model.encode_into(&text, added, scratch, &mut ids, &mut || true))?;
            } else {
                let mut polling = Polling::new();
                let mut go_on = || polling.go_on();
                let mut encode = || self.model.encode_into(&text, added, scratch, &mut ids, &mut go_on);
                let done = guarded(py, || py.detach(&mut encode));
                polling.raise()?;
                done?;
            }
            let result = work(&ids);
            scratch.give_back(ids);
            Ok(result)
        })
    }

    /// The ids of each text, which `name` names in errors.
    fn lists(
        &self,
        py: Python<'_>,
        texts: &[&str],
        allowed: &Allowed,
        num_threads: Option<usize>,
        name: impl Fn(usize) -> String,
    ) -> PyResult<Vec<Vec<u32>>> {
        let added = allowed.by_engine(py)?;
        self.model.with_scratches(threads(num_threads, texts.len()), |scratches| {
            batch(py, texts, name, scratches, |_, text, scratch, go_on| {
                let mut ids = Vec::new();
                self.model.encode_into(text, added, scratch, &mut ids, go_on).map(|()| ids)
            })
        })
    }
}
