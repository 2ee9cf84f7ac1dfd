//! Texts encoded in parts that threads share.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::PART_BYTES;
use super::convert::{Ints, SHORT_BYTES};
use super::errors::guarded;
use super::text::Text;
use super::threads::{interruptible, parts_of, share, threads};
use crate::error::{Error, Result};
use crate::idle::Idle;

/// A tokenizer that encodes parts of texts, each with a scratch of its thread's.
pub(super) trait Encoder: Send + Sync + 'static {
    type Allowed: Send + Sync + 'static;
    type Scratch: Default + Send + 'static;

    fn idle(&self) -> &Idle<Self::Scratch>;

    /// Room for the ids of a call.
    fn room(scratch: &mut Self::Scratch) -> &mut Vec<u32>;

    /// `text` in parts of about `PART_BYTES`, with where they begin, whose ids are together those of the whole.
    fn parts<'t>(&self, text: &'t str, allowed: &Self::Allowed) -> Vec<(usize, &'t str)>;

    fn encode_into(
        &self,
        text: &str,
        allowed: &Self::Allowed,
        scratch: &mut Self::Scratch,
        ids: &mut Vec<u32>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<()>;
}

/// What one thread has made of the parts it took.
struct Encoded<S> {
    scratch: S,
    ids: Vec<u32>,
    /// Each part, with where its ids begin and end.
    parts: Vec<(usize, usize, usize)>,
}

/// The ids of a part of a text.
pub(super) struct PartIds {
    document: usize,
    start: usize,
    end: usize,
    ids: Arc<Vec<u32>>,
}

impl PartIds {
    fn ids(&self) -> &[u32] {
        self.ids.get(self.start..self.end).unwrap_or_default()
    }
}

/// Room for so many ids is kept from one call to the next: memory that is new costs more than the ids in it.
const MAX_KEPT_IDS: usize = 1 << 21;

/// What `make` makes of the ids of `text`, which several threads may share.
pub(super) fn with_ids<E: Encoder, T>(
    py: Python<'_>,
    encoder: &Arc<E>,
    allowed: &Arc<E::Allowed>,
    text: Text,
    num_threads: usize,
    make: impl FnOnce(&[u32]) -> PyResult<T>,
) -> PyResult<T> {
    if num_threads > 1 && text.len() > PART_BYTES {
        let parts = encode_parts(py, encoder, allowed, vec![text], Some(num_threads), |_| String::new())?;
        return make(&joined(py, &parts)?);
    }
    // The scratch is lent and given back with the interpreter lock held.
    let mut scratch = encoder.idle().lend();
    let mut ids = std::mem::take(E::room(&mut scratch));
    ids.clear();
    let done = if text.len() < SHORT_BYTES {
        guarded(py, || encoder.encode_into(&text, allowed, &mut scratch, &mut ids, &mut || true))
    } else {
        interruptible(py, |go_on| encoder.encode_into(&text, allowed, &mut scratch, &mut ids, go_on))
    };
    let made = done.and_then(|()| make(&ids));
    if ids.capacity() <= MAX_KEPT_IDS {
        *E::room(&mut scratch) = ids;
    }
    encoder.idle().give_back(scratch);
    made
}

/// The ids of the parts of each text, in order. An error names its text as `name` does.
pub(super) fn encode_parts<E: Encoder>(
    py: Python<'_>,
    encoder: &Arc<E>,
    allowed: &Arc<E::Allowed>,
    texts: Vec<Text>,
    num_threads: Option<usize>,
    name: impl Fn(usize) -> String,
) -> PyResult<Vec<PartIds>> {
    let parts = guarded(py, || py.detach(|| Ok(parts_of(&texts, |text| encoder.parts(text, allowed)))))?;
    let num_threads = threads(num_threads, parts.len());
    let states = (0..num_threads)
        .map(|_| Encoded { scratch: encoder.idle().lend(), ids: Vec::new(), parts: Vec::new() })
        .collect();
    let (texts, parts) = (Arc::new(texts), Arc::new(parts));
    let (working, looking) = (Arc::clone(encoder), Arc::clone(allowed));
    let work = move |at, text: &str, state: &mut Encoded<E::Scratch>, go_on: &mut dyn FnMut() -> bool| {
        let start = state.ids.len();
        working.encode_into(text, &looking, &mut state.scratch, &mut state.ids, go_on)?;
        state.parts.push((at, start, state.ids.len()));
        Ok(())
    };
    let (states, done) = share(py, (texts, Arc::clone(&parts)), name, states, work);
    let mut found = Vec::with_capacity(parts.len());
    for Encoded { scratch, ids, parts: encoded } in states {
        encoder.idle().give_back(scratch);
        let ids = Arc::new(ids);
        found.extend(encoded.into_iter().map(|(at, start, end)| (at, start, end, Arc::clone(&ids))));
    }
    done?;
    found.sort_unstable_by_key(|(at, ..)| *at);
    let of = |(at, start, end, ids): (usize, usize, usize, Arc<Vec<u32>>)| {
        let document = parts.get(at).map_or(0, |part| part.document);
        PartIds { document, start, end, ids }
    };
    Ok(found.into_iter().map(of).collect())
}

/// The ids of one text from those of its parts.
fn joined(py: Python<'_>, parts: &[PartIds]) -> PyResult<Vec<u32>> {
    interruptible(py, |go_on| {
        let mut ids = Vec::with_capacity(parts.iter().map(|part| part.ids().len()).sum());
        for part in parts {
            ids.extend_from_slice(part.ids());
            if !go_on() {
                return Err(Error::Interrupted);
            }
        }
        Ok(ids)
    })
}

/// A list of ids for each of `num_texts` texts.
pub(super) fn lists<'py>(
    py: Python<'py>,
    parts: &[PartIds],
    num_texts: usize,
    ints: &Ints,
) -> PyResult<Bound<'py, PyList>> {
    let mut lists = Vec::with_capacity(num_texts);
    let mut num_ids = 0;
    let mut parts = parts.iter().peekable();
    for document in 0..num_texts {
        let Some(first) = parts.next_if(|part| part.document == document) else { continue };
        let mut whole = Vec::new();
        while let Some(next) = parts.next_if(|part| part.document == document) {
            if whole.is_empty() {
                whole.extend_from_slice(first.ids());
            }
            whole.extend_from_slice(next.ids());
        }
        let ids = if whole.is_empty() { first.ids() } else { &whole };
        lists.push(ints.list(py, ids)?);
        num_ids += ids.len();
        if num_ids >= 1 << 20 {
            num_ids = 0;
            py.check_signals()?;
        }
    }
    PyList::new(py, lists)
}
