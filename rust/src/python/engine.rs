//! `Engine`: a tokenizer that encodes and decodes.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use super::PART_BYTES;
use super::convert::{
    AddedTokenFields, Ints, SHORT_BYTES, added_tokens, array, ids_of, in_units, steps, text_of, texts_of, unpack,
};
use super::errors::guarded;
use super::threads::{Polling, batch, threads};
use crate::bpe::encode::{Bpe, Scratch};
use crate::chain::Forbidden;
use crate::decode::UnknownIds;
use crate::error::{Error, Result};
use crate::pieces::{Added, Pipeline};
use crate::tokenizer::Tokenizer;
use crate::vocabulary::Vocabulary;

/// The added tokens that one call looks for.
#[pyclass(frozen)]
pub(super) struct Allowed(AllowedBy);

/// What an engine or a chain has prepared.
enum AllowedBy {
    Engine(Added),
    Chain(Forbidden),
}

impl Allowed {
    fn by_engine(&self, py: Python<'_>) -> PyResult<&Added> {
        guarded(py, || match &self.0 {
            AllowedBy::Engine(added) => Ok(added),
            AllowedBy::Chain(_) => Err(Error::Spec("allowed: expected what this engine allows".into())),
        })
    }

    pub(super) fn by_chain(&self) -> Option<&Forbidden> {
        match &self.0 {
            AllowedBy::Chain(forbidden) => Some(forbidden),
            AllowedBy::Engine(_) => None,
        }
    }
}

pub(super) fn allowed_by_chain(forbidden: Forbidden) -> Allowed {
    Allowed(AllowedBy::Chain(forbidden))
}

#[pyclass(frozen)]
pub(super) struct Engine {
    tokenizer: Tokenizer,
    ints: Ints,
}

/// Id, bytes, start, end.
type Token<'py> = (u32, Bound<'py, PyBytes>, usize, usize);

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (*, data, ends, ids, semantics, ranks, merges, ignore_merges, normalizers, splits, added))]
    #[expect(clippy::too_many_arguments, reason = "one a part of the spec, by name")]
    fn new(
        py: Python<'_>,
        data: &[u8],
        ends: &[u8],
        ids: &[u8],
        semantics: &str,
        ranks: &[u8],
        merges: &[u8],
        ignore_merges: bool,
        normalizers: Vec<String>,
        splits: Vec<(String, String)>,
        added: Vec<AddedTokenFields>,
    ) -> PyResult<Self> {
        guarded(py, || {
            let vocabulary = Vocabulary::new(data, unpack(ends)?, unpack(ids)?)?;
            let model = match semantics {
                "rank" => Bpe::by_rank(vocabulary, unpack(ranks)?)?,
                _ => Bpe::by_merges(vocabulary, unpack(merges)?.as_chunks().0, ignore_merges)?,
            };
            let normalizers = normalizers.iter().map(|name| name.parse()).collect::<Result<_>>()?;
            Tokenizer::new(Pipeline::new(normalizers, steps(&splits)?)?, model, added_tokens(added))
                .map(|tokenizer| Self { tokenizer, ints: Ints::default() })
        })
    }

    /// What to look for: every added token that is not special, and the special ones of these names (None: all).
    fn allow(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Allowed> {
        guarded(py, || {
            let is_allowed =
                |content: &str| names.as_ref().is_none_or(|names| names.iter().any(|name| name == content));
            self.tokenizer.allow(is_allowed).map(|added| Allowed(AllowedBy::Engine(added)))
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
        self.list(py, &self.ids(py, text, allowed, replace, num_threads)?)
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
        array(py, &self.ids(py, text, allowed, replace, num_threads)?, dtype)
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
        Ok(self.ids(py, text, allowed, replace, num_threads)?.len())
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
        let lists: Vec<Bound<'py, PyList>> =
            lists.into_iter().map(|ids| self.list(py, &ids)).collect::<PyResult<_>>()?;
        PyList::new(py, lists)
    }

    /// (id, bytes, start, end) of each token; `unit` is "character", "byte" or "utf16".
    fn tokens<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
        unit: &str,
    ) -> PyResult<Vec<Token<'py>>> {
        let text = text_of(text, replace)?;
        let allowed = allowed.by_engine(py)?;
        let mut spans = guarded(py, || py.detach(|| self.tokenizer.spans(&text, allowed)))?;
        in_units(&text, &mut spans, unit);
        let token = |id| PyBytes::new(py, self.tokenizer.decoder().token(id).unwrap_or_default());
        Ok(spans.into_iter().map(|span| (span.id, token(span.id), span.start, span.end)).collect())
    }

    /// The pieces of `text`, added tokens among them, as text.
    fn pieces<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
    ) -> PyResult<Vec<Bound<'py, PyString>>> {
        let text = text_of(text, replace)?;
        let allowed = allowed.by_engine(py)?;
        let pieces = guarded(py, || py.detach(|| self.tokenizer.pieces(&text, allowed)))?;
        Ok(pieces.into_iter().map(|(start, end)| PyString::new(py, text.get(start..end).unwrap_or_default())).collect())
    }

    /// The last place, in characters, where `text` may be cut and encoded in two, whatever text follows.
    fn last_safe_cut(&self, py: Python<'_>, text: &Bound<'_, PyString>, allowed: &Allowed) -> PyResult<Option<usize>> {
        let text = text_of(text.as_any(), (false, true))?;
        let allowed = allowed.by_engine(py)?;
        let cut = guarded(py, || Ok(self.tokenizer.last_safe_cut(&text, allowed)))?;
        Ok(cut.and_then(|cut| text.get(..cut)).map(|before| before.chars().count()))
    }

    /// The ids of one piece, not split.
    fn encode_piece(&self, py: Python<'_>, piece: &[u8]) -> PyResult<Vec<u32>> {
        guarded(py, || {
            let mut ids = Vec::new();
            py.detach(|| self.tokenizer.encode_piece_into(piece, &mut Scratch::default(), &mut ids))?;
            Ok(ids)
        })
    }

    fn decode_bytes<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        unknown_ids: &str,
        skip_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.bytes(py, ids, unknown_ids, skip_special_tokens)?))
    }

    /// None where the bytes are not UTF-8 and `replace` is off.
    fn decode<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        unknown_ids: &str,
        skip_special_tokens: bool,
        replace: bool,
    ) -> PyResult<Option<Bound<'py, PyString>>> {
        let bytes = self.bytes(py, ids, unknown_ids, skip_special_tokens)?;
        Ok(match std::str::from_utf8(&bytes) {
            Ok(text) => Some(PyString::new(py, text)),
            Err(_) if replace => Some(PyString::new(py, &String::from_utf8_lossy(&bytes))),
            Err(_) => None,
        })
    }

    fn certificate(&self) -> Vec<(String, String)> {
        self.tokenizer.certificate()
    }

    fn token_to_id(&self, token: &[u8]) -> Option<u32> {
        self.tokenizer.model().vocabulary().find(token).map(|(_, id)| id)
    }

    fn id_to_token<'py>(&self, py: Python<'py>, id: u32) -> Option<Bound<'py, PyBytes>> {
        self.tokenizer.decoder().token(id).map(|token| PyBytes::new(py, token))
    }

    fn num_ids(&self) -> usize {
        self.tokenizer.decoder().num_ids()
    }

    fn byte_lengths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, &self.tokenizer.decoder().byte_lengths().collect::<Vec<u32>>(), "uint32")
    }
}

impl Engine {
    fn list<'py>(&self, py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
        self.ints.list(py, ids)
    }

    fn ids(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
        num_threads: usize,
    ) -> PyResult<Vec<u32>> {
        let text = text_of(text, replace)?;
        let added = allowed.by_engine(py)?;
        if num_threads > 1 && text.len() > PART_BYTES {
            let parts = self.tokenizer.safe_parts(&text, added, PART_BYTES);
            return Ok(self.lists(py, &parts, allowed, Some(num_threads), |_| String::new())?.concat());
        }
        let mut ids = Vec::new();
        if text.len() < SHORT_BYTES {
            return guarded(py, || {
                self.tokenizer.with_scratch(|scratch| {
                    self.tokenizer.encode_into(&text, added, scratch, &mut ids, &mut || true)
                })?;
                Ok(ids)
            });
        }
        ids.reserve(text.len() / 4);
        let mut polling = Polling::new();
        let mut go_on = || polling.go_on();
        let done = guarded(py, || {
            py.detach(|| {
                self.tokenizer
                    .with_scratch(|scratch| self.tokenizer.encode_into(&text, added, scratch, &mut ids, &mut go_on))
            })
        });
        polling.raise()?;
        done.map(|()| ids)
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
        self.tokenizer.with_scratches(threads(num_threads, texts.len()), |scratches| {
            batch(py, texts, name, scratches, |_, text, scratch, go_on| {
                let mut ids = Vec::new();
                self.tokenizer.encode_into(text, added, scratch, &mut ids, go_on).map(|()| ids)
            })
        })
    }

    fn bytes(
        &self,
        py: Python<'_>,
        ids: &Bound<'_, PyAny>,
        unknown_ids: &str,
        skip_special_tokens: bool,
    ) -> PyResult<Vec<u8>> {
        let unknown: UnknownIds = unknown_ids.into();
        let max_id = self.tokenizer.decoder().num_ids().saturating_sub(1) as u32;
        let ids = ids_of(ids, max_id, unknown)?;
        guarded(py, || {
            let mut bytes = Vec::with_capacity(ids.len() * 4);
            py.detach(|| self.tokenizer.decoder().decode_into(&ids, unknown, skip_special_tokens, &mut bytes))?;
            Ok(bytes)
        })
    }
}
