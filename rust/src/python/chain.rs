//! `Chain`: a tokenizer that runs a tokenizer.json as it is written.

use std::collections::HashSet;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use super::PART_BYTES;
use super::convert::{AddedTokenFields, Ints, added_tokens, array, decoded, ids_of, listed, unpack};
use super::engine::{Allowed, allowed_by_chain};
use super::errors::guarded;
use super::parts::{Encoder, encode_parts, lists, with_ids};
use super::text::{Text, texts_of};
use super::threads::interruptible;
use crate::chain::{self, Encoding, Forbidden, Units};
use crate::decode::UnknownIds;
use crate::error::{Error, Result};
use crate::idle::Idle;
use crate::models::Model;
use crate::vocabulary::Vocabulary;

#[pyclass(frozen)]
pub(super) struct Chain(Arc<chain::Chain>, Ints);

impl Encoder for chain::Chain {
    type Allowed = Forbidden;
    type Scratch = chain::Scratch;

    fn idle(&self) -> &Idle<chain::Scratch> {
        self.idle()
    }

    fn room(scratch: &mut chain::Scratch) -> &mut Vec<u32> {
        &mut scratch.ids
    }

    fn parts<'t>(&self, text: &'t str, _allowed: &Forbidden) -> Vec<(usize, &'t str)> {
        self.safe_parts(text, PART_BYTES)
    }

    fn encode_into(
        &self,
        text: &str,
        allowed: &Forbidden,
        scratch: &mut chain::Scratch,
        ids: &mut Vec<u32>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        self.encode_into(text, allowed, scratch, ids, go_on)
    }
}

/// Ids, offsets, words.
type EncodingFields<'py> = (Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyList>);

/// Ids, offsets, words, spaces.
type UntrimmedFields<'py> = (Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyList>);

#[pymethods]
impl Chain {
    #[new]
    #[pyo3(signature = (*, components, model, data, ends, ids, scores, merges, added))]
    #[expect(clippy::too_many_arguments, reason = "one a part of the spec, by name")]
    fn new(
        py: Python<'_>,
        components: &str,
        model: &str,
        data: &[u8],
        ends: &[u8],
        ids: &[u8],
        scores: &[u8],
        merges: &[u8],
        added: Vec<AddedTokenFields>,
    ) -> PyResult<Self> {
        guarded(py, || {
            let vocabulary = Vocabulary::new(data, unpack(ends)?, unpack(ids)?)?;
            let model = Model::new(model, vocabulary, &unpack_scores(scores)?, unpack(merges)?.as_chunks().0)?;
            chain::Chain::new(components, model, added_tokens(added))
                .map(|chain| Self(Arc::new(chain), Ints::default()))
        })
    }

    /// What to look for: every added token that is not special, and the special ones of these names (None: all).
    fn allow(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Allowed> {
        guarded(py, || {
            let names: Option<HashSet<String>> = names.map(HashSet::from_iter);
            let is_allowed = |content: &str| names.as_ref().is_none_or(|names| names.contains(content));
            Ok(allowed_by_chain(self.0.forbid(is_allowed)))
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
        self.with_ids(py, text, allowed, replace, num_threads, |ids| self.1.list(py, ids))
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
        let (num_texts, forbidden) = (texts.len(), forbidden(py, allowed)?);
        let name = |at| format!("document {at}: ");
        let parts = encode_parts(py, &self.0, forbidden, texts, num_threads, name)?;
        lists(py, &parts, num_texts, &self.1)
    }

    /// Ids, offsets in characters and words, as Hugging Face's Encoding has them before templates. A list is a text that
    /// comes in words: offsets are within each, and words are places in the list.
    fn encoding<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
    ) -> PyResult<EncodingFields<'py>> {
        let Encoding { ids, offsets, words, .. } = self.traced(py, text, allowed, replace, true)?;
        Ok((self.1.list(py, &ids)?, listed(py, offsets)?, listed(py, words)?))
    }

    /// As `encoding`, but before the post-processor trims offsets; with the white space at the two ends of each token,
    /// empty where the post-processor trims nothing.
    fn untrimmed<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
    ) -> PyResult<UntrimmedFields<'py>> {
        let Encoding { ids, offsets, words, spaces } = self.traced(py, text, allowed, replace, false)?;
        Ok((self.1.list(py, &ids)?, listed(py, offsets)?, listed(py, words)?, listed(py, spaces)?))
    }

    /// (id, spelled token, start, end) of each token; `unit` is "character", "byte" or "utf16".
    fn tokens<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
        unit: &str,
    ) -> PyResult<Bound<'py, PyList>> {
        let text = Text::new(text, replace.into())?;
        let forbidden = forbidden(py, allowed)?;
        let (spans, units) = interruptible(py, |go_on| {
            let size = |c: char| if unit == "utf16" { c.len_utf16() } else { 1 };
            let units = (unit != "byte").then(|| Units::new(&text, size, go_on)).transpose()?;
            Ok((self.0.spans(&text, forbidden, go_on)?, units))
        })?;
        let token = |id| PyBytes::new(py, self.0.spelled(id).unwrap_or_default().as_bytes());
        let place = |start, end| units.as_ref().map_or((start, end), |units| units.touched(start, end));
        listed(
            py,
            spans.into_iter().map(|(id, start, end)| {
                let (start, end) = place(start, end);
                (id, token(id), start, end)
            }),
        )
    }

    /// The pieces of `text`, added tokens among them, as the original text that they come from.
    fn pieces<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
    ) -> PyResult<Bound<'py, PyList>> {
        let text = Text::new(text, replace.into())?;
        let forbidden = forbidden(py, allowed)?;
        let pieces = interruptible(py, |go_on| self.0.pieces(&text, forbidden, go_on))?;
        listed(py, pieces.into_iter().map(|(start, end)| PyString::new(py, text.get(start..end).unwrap_or_default())))
    }

    /// No place is known where a text may be cut.
    fn last_safe_cut(&self, _text: &Bound<'_, PyString>, _allowed: &Allowed) -> Option<usize> {
        None
    }

    /// The ids of one spelled piece, by the model alone.
    fn encode_piece(&self, py: Python<'_>, piece: &[u8]) -> PyResult<Vec<u32>> {
        guarded(py, || {
            let text = std::str::from_utf8(piece).map_err(|error| {
                let offset = error.valid_up_to();
                Error::InvalidUtf8 { offset, byte: piece.get(offset).copied().unwrap_or(0) }
            })?;
            self.0.encode_piece(text, &mut || true)
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
        self.0.certificate()
    }

    fn token_to_id(&self, token: &[u8]) -> Option<u32> {
        self.0.id(token)
    }

    /// How the token with this id is spelled.
    fn id_to_token<'py>(&self, py: Python<'py>, id: u32) -> Option<Bound<'py, PyBytes>> {
        self.0.spelled(id).map(|token| PyBytes::new(py, token.as_bytes()))
    }

    fn num_ids(&self) -> usize {
        self.0.num_ids()
    }

    fn byte_lengths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let lengths = guarded(py, || self.0.byte_lengths())?;
        array(py, &lengths, "uint32")
    }
}

impl Chain {
    /// The encoding of a text, or of a list of words, with its offsets trimmed or not.
    fn traced(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        allowed: &Allowed,
        replace: (bool, bool),
        trims: bool,
    ) -> PyResult<Encoding> {
        let forbidden = forbidden(py, allowed)?;
        if let Ok(list) = text.cast::<PyList>() {
            let objects: Vec<_> = list.iter().collect();
            let texts = texts_of(&objects, replace.into(), 0)?;
            let words: Vec<&str> = texts.iter().map(|text| &**text).collect();
            return interruptible(py, |go_on| match trims {
                true => self.0.encoding_of_words(&words, forbidden, go_on),
                false => self.0.untrimmed_of_words(&words, forbidden, go_on),
            });
        }
        let text = Text::new(text, replace.into())?;
        interruptible(py, |go_on| match trims {
            true => self.0.encoding(&text, forbidden, go_on),
            false => self.0.untrimmed(&text, forbidden, go_on),
        })
    }

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
        with_ids(py, &self.0, forbidden(py, allowed)?, text, num_threads, make)
    }

    fn bytes(
        &self,
        py: Python<'_>,
        ids: &Bound<'_, PyAny>,
        unknown_ids: &str,
        skip_special_tokens: bool,
    ) -> PyResult<Vec<u8>> {
        let unknown: UnknownIds = unknown_ids.into();
        let ids = ids_of(ids, self.0.num_ids().saturating_sub(1) as u32, unknown)?;
        guarded(py, || py.detach(|| self.0.decode(&ids, unknown, skip_special_tokens)))
    }
}

fn forbidden<'a>(py: Python<'_>, allowed: &'a Allowed) -> PyResult<&'a Arc<Forbidden>> {
    guarded(py, || allowed.by_chain().ok_or_else(|| Error::Spec("allowed: expected what this chain allows".into())))
}

fn unpack_scores(packed: &[u8]) -> Result<Vec<f64>> {
    let (numbers, rest) = packed.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(Error::Spec(format!("packed scores: expected a multiple of 8 bytes, found {}", packed.len())));
    }
    Ok(numbers.iter().map(|&number| f64::from_le_bytes(number)).collect())
}
