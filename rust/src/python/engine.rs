//! `Engine`: a tokenizer that encodes and decodes.

use std::collections::HashSet;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use super::PART_BYTES;
use super::convert::{
    AddedTokenFields, Ints, SHORT_BYTES, added_tokens, array, decoded, ids_of, in_units, listed, steps, unpack,
};
use super::errors::guarded;
use super::parts::{Encoder, encode_parts, lists, with_ids};
use super::text::{Text, texts_of};
use super::threads::interruptible;
use crate::bpe::encode::Bpe;
use crate::chain::Forbidden;
use crate::decode::UnknownIds;
use crate::error::{Error, Result};
use crate::idle::Idle;
use crate::pieces::{Added, Pipeline};
use crate::tokenizer::{Scratch, Tokenizer};
use crate::vocabulary::Vocabulary;

/// The added tokens that one call looks for.
#[pyclass(frozen)]
pub(super) struct Allowed(AllowedBy);

/// What an engine or a chain has prepared.
enum AllowedBy {
    Engine(Arc<Added>),
    Chain(Arc<Forbidden>),
}

impl Allowed {
    fn by_engine(&self, py: Python<'_>) -> PyResult<&Arc<Added>> {
        guarded(py, || match &self.0 {
            AllowedBy::Engine(added) => Ok(added),
            AllowedBy::Chain(_) => Err(Error::Spec("allowed: expected what this engine allows".into())),
        })
    }

    pub(super) fn by_chain(&self) -> Option<&Arc<Forbidden>> {
        match &self.0 {
            AllowedBy::Chain(forbidden) => Some(forbidden),
            AllowedBy::Engine(_) => None,
        }
    }
}

pub(super) fn allowed_by_chain(forbidden: Forbidden) -> Allowed {
    Allowed(AllowedBy::Chain(Arc::new(forbidden)))
}

#[pyclass(frozen)]
pub(super) struct Engine {
    tokenizer: Arc<Tokenizer>,
    ints: Ints,
}

impl Encoder for Tokenizer {
    type Allowed = Added;
    type Scratch = Scratch;

    fn idle(&self) -> &Idle<Scratch> {
        self.idle()
    }

    fn room(scratch: &mut Scratch) -> &mut Vec<u32> {
        &mut scratch.ids
    }

    fn parts<'t>(&self, text: &'t str, allowed: &Added) -> Vec<(usize, &'t str)> {
        self.safe_parts(text, allowed, PART_BYTES)
    }

    fn encode_into(
        &self,
        text: &str,
        allowed: &Added,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        self.encode_into(text, allowed, scratch, ids, go_on)
    }
}

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
                "rank" => Bpe::by_rank(vocabulary, &unpack(ranks)?)?,
                _ => Bpe::by_merges(vocabulary, unpack(merges)?.as_chunks().0, ignore_merges)?,
            };
            let normalizers = normalizers.iter().map(|name| name.parse()).collect::<Result<_>>()?;
            Tokenizer::new(Pipeline::new(normalizers, steps(&splits)?)?, model, added_tokens(added))
                .map(|tokenizer| Self { tokenizer: Arc::new(tokenizer), ints: Ints::default() })
        })
    }

    /// What to look for: every added token that is not special, and the special ones of these names (None: all).
    fn allow(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Allowed> {
        guarded(py, || {
            let names: Option<HashSet<&str>> = names.as_ref().map(|names| names.iter().map(String::as_str).collect());
            let added = self.tokenizer.allow(|content| names.as_ref().is_none_or(|names| names.contains(content)));
            Ok(Allowed(AllowedBy::Engine(Arc::new(added?))))
        })
    }

    #[pyo3(signature = (text, allowed, replace=(false, true), num_threads=1))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
        num_threads: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        self.with_ids(py, text, allowed, replace, num_threads, |ids| self.ints.list(py, ids))
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
        self.with_ids(py, text, allowed, replace, num_threads, |ids| array(py, ids, dtype))
    }

    #[pyo3(signature = (text, allowed, replace=(false, true), num_threads=1))]
    fn count(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
        num_threads: usize,
    ) -> PyResult<usize> {
        self.with_ids(py, text, allowed, replace, num_threads, |ids| Ok(ids.len()))
    }

    /// The ids of each text, in the order of the texts. Threads share the texts, and the parts of long ones.
    fn encode_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
        num_threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let objects: Vec<Bound<'py, PyAny>> = texts.try_iter()?.collect::<PyResult<_>>()?;
        let texts = texts_of(&objects, replace.into(), 0)?;
        let (num_texts, allowed) = (texts.len(), allowed.by_engine(py)?);
        let name = |at| format!("document {at}: ");
        let parts = encode_parts(py, &self.tokenizer, allowed, texts, num_threads, name)?;
        lists(py, &parts, num_texts, &self.ints)
    }

    /// (id, bytes, start, end) of each token; `unit` is "character", "byte" or "utf16".
    fn tokens<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
        unit: &str,
    ) -> PyResult<Bound<'py, PyList>> {
        let text = Text::new(text, replace.into())?;
        let allowed = allowed.by_engine(py)?;
        let mut scratch = self.tokenizer.idle().lend();
        let spans = interruptible(py, |go_on| {
            let mut spans = self.tokenizer.spans(&text, allowed, &mut scratch, go_on)?;
            in_units(&text, &mut spans, unit);
            Ok(spans)
        });
        self.tokenizer.idle().give_back(scratch);
        let token = |id| PyBytes::new(py, self.tokenizer.decoder().token(id).unwrap_or_default());
        listed(py, spans?.into_iter().map(|span| (span.id, token(span.id), span.start, span.end)))
    }

    /// The pieces of `text`, added tokens among them, as text.
    fn pieces<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
    ) -> PyResult<Bound<'py, PyList>> {
        let text = Text::new(text, replace.into())?;
        let allowed = allowed.by_engine(py)?;
        let found = interruptible(py, |go_on| self.tokenizer.pieces(&text, allowed, go_on))?;
        listed(py, found.into_iter().map(|(start, end)| PyString::new(py, text.get(start..end).unwrap_or_default())))
    }

    /// The last place, in characters, where `text` may be cut and encoded in two, whatever text follows.
    fn last_safe_cut(&self, py: Python<'_>, text: &Bound<'_, PyString>, allowed: &Allowed) -> PyResult<Option<usize>> {
        let text = Text::new(text.as_any(), (false, true).into())?;
        let allowed = allowed.by_engine(py)?;
        let cut = guarded(py, || Ok(self.tokenizer.last_safe_cut(&text, allowed)))?;
        Ok(cut.and_then(|cut| text.get(..cut)).map(|before| before.chars().count()))
    }

    /// The ids of one piece, not split.
    fn encode_piece(&self, py: Python<'_>, piece: &[u8]) -> PyResult<Vec<u32>> {
        interruptible(py, |go_on| {
            let mut ids = Vec::new();
            self.tokenizer.encode_piece_into(piece, &mut Scratch::default(), &mut ids, go_on)?;
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
        Ok(decoded(py, &self.bytes(py, ids, unknown_ids, skip_special_tokens)?, replace))
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
    /// What `make` makes of the ids of `text`.
    fn with_ids<T>(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
        num_threads: usize,
        make: impl FnOnce(&[u32]) -> PyResult<T>,
    ) -> PyResult<T> {
        let text = Text::new(text, replace.into())?;
        with_ids(py, &self.tokenizer, allowed.by_engine(py)?, text, num_threads, make)
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
        let decoder = self.tokenizer.decoder();
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        if ids.len() < SHORT_BYTES {
            guarded(py, || decoder.decode_into(&ids, unknown, skip_special_tokens, &mut bytes))?;
            return Ok(bytes);
        }
        interruptible(py, |go_on| {
            for ids in ids.chunks(1 << 16) {
                decoder.decode_into(ids, unknown, skip_special_tokens, &mut bytes)?;
                if !go_on() {
                    return Err(Error::Interrupted);
                }
            }
            Ok(bytes)
        })
    }
}
