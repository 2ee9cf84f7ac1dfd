//! The Python module `merganser._core`: translates, and decides nothing.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyInt, PyList, PyString};

use crate::bpe::encode::{Bpe, Scratch};
use crate::bpe::train::{TieBreak, TrainOptions, train};
use crate::count::{self, PieceCounts, Position};
use crate::decode::UnknownIds;
use crate::error::{Error, Result};
use crate::pieces::{Added, Pipeline, Step};
use crate::special::AddedToken;
use crate::split::{Splitter, Unmatched};
use crate::tokenizer::{TokenSpan, Tokenizer};
use crate::vocabulary::Vocabulary;

/// Texts shorter than this are encoded without letting go of the interpreter lock: that costs more than they do.
const SHORT_BYTES: usize = 8 << 10;

/// Long texts are cut into parts of about this size where threads share them.
const PART_BYTES: usize = 256 << 10;

/// How often a long call asks whether Ctrl-C was pressed.
const POLL: Duration = Duration::from_millis(50);

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::{Allowed, Engine, PieceCounter, patterns, unicode_version};

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::PyModuleMethods;
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
fn patterns() -> std::collections::HashMap<&'static str, &'static str> {
    crate::split::patterns::WHOLE.iter().map(|published| (published.name, published.pattern)).collect()
}

/// The added tokens that one call looks for.
#[pyclass(frozen)]
struct Allowed(Added);

#[pyclass(frozen)]
struct Engine {
    tokenizer: Tokenizer,
    /// The `int` of each id that was in a list: a list shares them, which is ten times as fast as making new ones.
    ints: Mutex<Vec<Option<Py<PyInt>>>>,
}

/// Id, bytes, start, end.
type Token<'py> = (u32, Bound<'py, PyBytes>, usize, usize);

/// Content, id, special, normalized, single_word, lstrip, rstrip.
type AddedTokenFields = (String, u32, bool, bool, bool, bool, bool);

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
                .map(|tokenizer| Self { tokenizer, ints: Mutex::default() })
        })
    }

    /// What to look for: every added token that is not special, and the special ones of these names (None: all).
    fn allow(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Allowed> {
        guarded(py, || match &names {
            None => self.tokenizer.allow(|_| true).map(Allowed),
            Some(names) => self.tokenizer.allow(|content| names.iter().any(|name| name == content)).map(Allowed),
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
        let mut spans = guarded(py, || py.detach(|| self.tokenizer.spans(&text, &allowed.0)))?;
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
        let pieces = guarded(py, || py.detach(|| self.tokenizer.pieces(&text, &allowed.0)))?;
        Ok(pieces.into_iter().map(|(start, end)| PyString::new(py, text.get(start..end).unwrap_or_default())).collect())
    }

    /// The last place, in characters, where `text` may be cut and encoded in two, whatever text follows.
    fn last_safe_cut(&self, py: Python<'_>, text: &Bound<'_, PyString>, allowed: &Allowed) -> PyResult<Option<usize>> {
        let text = text_of(text.as_any(), (false, true))?;
        let cut = guarded(py, || Ok(self.tokenizer.last_safe_cut(&text, &allowed.0)))?;
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
        // Taken where it is free: making a list may collect garbage, and a finalizer may come back here.
        let Ok(mut ints) = self.ints.try_lock() else { return PyList::new(py, ids) };
        ints.resize_with(self.tokenizer.decoder().num_ids(), || None);
        let int = |&id: &u32| match ints.get_mut(id as usize) {
            Some(Some(int)) => int.bind(py).clone(),
            Some(free) => {
                let int = PyInt::new(py, id);
                *free = Some(int.clone().unbind());
                int
            }
            None => PyInt::new(py, id),
        };
        PyList::new(py, ids.iter().map(int))
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
        if num_threads > 1 && text.len() > PART_BYTES {
            let parts = self.tokenizer.safe_parts(&text, &allowed.0, PART_BYTES);
            return Ok(self.lists(py, &parts, allowed, Some(num_threads), |_| String::new())?.concat());
        }
        let mut ids = Vec::new();
        if text.len() < SHORT_BYTES {
            return guarded(py, || {
                self.tokenizer.with_scratch(|scratch| {
                    self.tokenizer.encode_into(&text, &allowed.0, scratch, &mut ids, &mut || true)
                })?;
                Ok(ids)
            });
        }
        ids.reserve(text.len() / 4);
        let mut polling = Polling::new();
        let mut go_on = || polling.go_on();
        let done = guarded(py, || {
            py.detach(|| {
                self.tokenizer.with_scratch(|scratch| {
                    self.tokenizer.encode_into(&text, &allowed.0, scratch, &mut ids, &mut go_on)
                })
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
        self.tokenizer.with_scratches(threads(num_threads, texts.len()), |scratches| {
            batch(py, texts, name, scratches, |_, text, scratch, go_on| {
                let mut ids = Vec::new();
                self.tokenizer.encode_into(text, &allowed.0, scratch, &mut ids, go_on).map(|()| ids)
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
        let unknown = match unknown_ids {
            "replace" => UnknownIds::Replace,
            "skip" => UnknownIds::Skip,
            _ => UnknownIds::Error,
        };
        let max_id = self.tokenizer.decoder().num_ids().saturating_sub(1) as u32;
        let ids = ids_of(ids, max_id, unknown)?;
        guarded(py, || {
            let mut bytes = Vec::with_capacity(ids.len() * 4);
            py.detach(|| self.tokenizer.decoder().decode_into(&ids, unknown, skip_special_tokens, &mut bytes))?;
            Ok(bytes)
        })
    }
}

/// Counts the pieces of documents and learns merges from them.
#[pyclass]
struct PieceCounter {
    pipeline: Pipeline,
    special: Added,
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
            let special = special_tokens.into_iter().map(|content| (content, 0, true, false, false, false, false));
            let special = pipeline.added(&added_tokens(special.collect()))?;
            Ok(Self { pipeline, special, num_documents: 0, counts: Vec::new() })
        })
    }

    fn add(&mut self, py: Python<'_>, documents: &Bound<'_, PyList>, num_threads: Option<usize>) -> PyResult<()> {
        let objects: Vec<Bound<'_, PyAny>> = documents.iter().collect();
        let texts = texts_of(&objects, (false, true))?;
        let Self { pipeline, special, num_documents, counts } = self;
        // A long document is several parts, so that one alone has work for all threads.
        let mut parts = Vec::new();
        let mut seen = Vec::new();
        for (document, text) in (*num_documents..).zip(&texts) {
            for (start, part) in pipeline.safe_parts(text, special, PART_BYTES) {
                parts.push(part);
                seen.push(Position { document, offset: start as u64 });
            }
        }
        *num_documents += texts.len() as u64;
        let num_threads = threads(num_threads, parts.len());
        if counts.len() < num_threads {
            counts.resize_with(num_threads, PieceCounts::new);
        }
        let document =
            |at| seen.get(at).map_or(String::new(), |seen: &Position| format!("document {}: ", seen.document));
        batch(py, &parts, document, counts.get_mut(..num_threads).unwrap_or_default(), |at, part, counts, go_on| {
            let seen = seen.get(at).copied().unwrap_or_default();
            count::add_document(counts, pipeline, special, part, seen, go_on)
        })?;
        Ok(())
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

/// Asks the interpreter now and then whether a signal came in, and keeps the exception it raised.
struct Polling {
    asked: Instant,
    raised: Option<PyErr>,
}

impl Polling {
    fn new() -> Self {
        Self { asked: Instant::now(), raised: None }
    }

    fn go_on(&mut self) -> bool {
        if self.asked.elapsed() >= POLL {
            self.raised = Python::attach(|py| py.check_signals()).err();
            self.asked = Instant::now();
        }
        self.raised.is_none()
    }

    fn raise(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}

/// Runs `work` over all texts, on one thread a state, while this thread watches for signals.
fn batch<S: Send, T: Send>(
    py: Python<'_>,
    texts: &[&str],
    name: impl Fn(usize) -> String,
    states: &mut [S],
    work: impl Fn(usize, &str, &mut S, &mut dyn FnMut() -> bool) -> Result<T> + Sync,
) -> PyResult<Vec<T>> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let mut polling = Polling::new();
    let worker = |state: &mut S| {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(text) = texts.get(at).filter(|_| !stop.load(Ordering::Relaxed)) else { return done };
            match work(at, text, state, &mut || !stop.load(Ordering::Relaxed)) {
                Ok(result) => done.push((at, result)),
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    if error != Error::Interrupted && failed.as_ref().is_none_or(|(other, _)| at < *other) {
                        *failed = Some((at, error));
                    }
                }
            }
        }
    };
    let mut done = guarded(py, || {
        let done = py.detach(|| {
            std::thread::scope(|scope| {
                let worker = &worker;
                let threads: Vec<_> = states.iter_mut().map(|state| scope.spawn(move || worker(state))).collect();
                while threads.iter().any(|thread| !thread.is_finished()) {
                    std::thread::sleep(Duration::from_micros(200));
                    if !polling.go_on() {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
                threads.into_iter().map(|thread| thread.join()).collect::<std::thread::Result<Vec<_>>>()
            })
        });
        match done {
            Ok(done) => Ok(done.into_iter().flatten().collect::<Vec<_>>()),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })?;
    polling.raise()?;
    if let Some((at, error)) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(raise(py, &error, &name(at)));
    }
    done.sort_unstable_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

/// As many threads as asked for, else as many as affinity and cgroup allow; never more than texts.
fn threads(asked: Option<usize>, num_texts: usize) -> usize {
    let allowed = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.unwrap_or_else(allowed).clamp(1, num_texts.max(1))
}

/// Calls `work`; its error becomes the Python exception of its kind, and a panic an `InternalError`.
fn guarded<T>(py: Python<'_>, work: impl FnOnce() -> Result<T>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| raise(py, &error, "")),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
            let message = format!("the engine failed: {}", text.unwrap_or("no message"));
            Err(exception(py, "InternalError", &message, Some("please report this with the text and the tokenizer")))
        }
    }
}

fn raise(py: Python<'_>, error: &Error, place: &str) -> PyErr {
    let class = match error {
        Error::PatternSyntax { .. } | Error::Spec(_) => "FormatError",
        Error::PatternLimit { .. }
        | Error::Unmatched { .. }
        | Error::InvalidUtf8 { .. }
        | Error::NoByteToken { .. } => "TextError",
        Error::UnknownId { .. } => "TokenIdError",
        Error::Training(_) => "TrainingError",
        Error::Interrupted => "InternalError",
    };
    exception(py, class, &format!("{place}{error}"), error.hint())
}

fn exception(py: Python<'_>, class: &str, message: &str, hint: Option<&str>) -> PyErr {
    let build = || {
        let keywords = pyo3::types::PyDict::new(py);
        keywords.set_item("hint", hint)?;
        py.import("merganser.errors")?.getattr(class)?.call((message,), Some(&keywords))
    };
    build().map_or_else(|error| error, PyErr::from_value)
}

/// The text of a `str` or of UTF-8 bytes. `replace` is for invalid bytes and for lone surrogates.
fn text_of<'a>(
    object: &'a Bound<'_, PyAny>,
    (replace_bytes, replace_surrogates): (bool, bool),
) -> PyResult<Cow<'a, str>> {
    let py = object.py();
    if let Ok(text) = object.cast::<PyString>() {
        return match text.to_str() {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(_) if replace_surrogates => {
                let units = text.call_method1("encode", ("utf-16", "surrogatepass"))?;
                Ok(Cow::Owned(units.call_method1("decode", ("utf-16", "replace"))?.extract()?))
            }
            Err(error) => {
                let at: usize = error.value(py).getattr("start")?.extract()?;
                let message = format!("character {at}: expected text, found half of a surrogate pair");
                Err(exception(py, "TextError", &message, Some("pass surrogates=\"replace\" to read it as U+FFFD")))
            }
        };
    }
    let bytes: Cow<'a, [u8]> = if let Ok(bytes) = object.cast::<PyBytes>() {
        Cow::Borrowed(bytes.as_bytes())
    } else if let Ok(bytes) = object.cast::<PyByteArray>() {
        Cow::Owned(bytes.to_vec())
    } else if let Ok(buffer) = PyBuffer::<u8>::get(object) {
        Cow::Owned(buffer.to_vec(py)?)
    } else {
        return Err(PyTypeError::new_err(format!(
            "text: expected str or UTF-8 bytes, found {}",
            object.get_type().name()?
        )));
    };
    let error = match &bytes {
        Cow::Borrowed(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => return Ok(Cow::Borrowed(text)),
            Err(error) => error,
        },
        Cow::Owned(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => return Ok(Cow::Owned(text.to_owned())),
            Err(error) => error,
        },
    };
    if replace_bytes {
        return Ok(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()));
    }
    let offset = error.valid_up_to();
    Err(raise(py, &Error::InvalidUtf8 { offset, byte: bytes.get(offset).copied().unwrap_or(0) }, ""))
}

/// The text of each document; an error names the document.
fn texts_of<'a>(objects: &'a [Bound<'_, PyAny>], replace: (bool, bool)) -> PyResult<Vec<Cow<'a, str>>> {
    let text = |(at, object): (usize, &'a Bound<'_, PyAny>)| {
        text_of(object, replace).map_err(|error| {
            let (py, value) = (object.py(), error.value(object.py()));
            match value.getattr("hint").and_then(|hint| hint.extract::<Option<String>>()) {
                Ok(hint) => exception(py, "TextError", &format!("document {at}: {value}"), hint.as_deref()),
                Err(_) => error,
            }
        })
    };
    objects.iter().enumerate().map(text).collect()
}

/// The ids of a buffer or a sequence of integers.
fn ids_of(object: &Bound<'_, PyAny>, max_id: u32, unknown: UnknownIds) -> PyResult<Vec<u32>> {
    if object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyByteArray>()
    {
        return Err(PyTypeError::new_err(format!(
            "ids: expected a sequence of integers, found {}",
            object.get_type().name()?
        )));
    }
    let py = object.py();
    if let Ok(list) = object.cast::<PyList>() {
        return list.iter().map(|item| id_of(&item, max_id, unknown)).collect();
    }
    if let Ok(buffer) = PyBuffer::<u32>::get(object) {
        return buffer.to_vec(py);
    }
    let wide = from_buffer::<u16>(object)
        .or_else(|| from_buffer::<i64>(object))
        .or_else(|| from_buffer::<i32>(object))
        .or_else(|| from_buffer::<u64>(object))
        .or_else(|| from_buffer::<u8>(object))
        .or_else(|| from_buffer::<i16>(object))
        .or_else(|| from_buffer::<i8>(object));
    match wide {
        Some(numbers) => numbers.into_iter().map(|number| checked(py, number, max_id, unknown)).collect(),
        None => object.try_iter()?.map(|item| id_of(&item?, max_id, unknown)).collect(),
    }
}

fn from_buffer<T: Element + Into<i128> + Copy>(object: &Bound<'_, PyAny>) -> Option<Vec<i128>> {
    let buffer = PyBuffer::<T>::get(object).ok()?;
    Some(buffer.to_vec(object.py()).ok()?.into_iter().map(Into::into).collect())
}

fn id_of(item: &Bound<'_, PyAny>, max_id: u32, unknown: UnknownIds) -> PyResult<u32> {
    let py = item.py();
    if item.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err("ids: expected integers, found bool"));
    }
    if let Ok(id) = item.extract::<u32>()
        && item.is_instance_of::<PyInt>()
    {
        return Ok(id);
    }
    let Ok(index) = item.call_method0("__index__") else {
        return Err(PyTypeError::new_err(format!("ids: expected integers, found {}", item.get_type().name()?)));
    };
    match index.extract::<i128>() {
        Ok(number) => checked(py, number, max_id, unknown),
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
            checked(py, if index.lt(0)? { i128::MIN } else { i128::MAX }, max_id, unknown)
        }
        Err(error) => Err(error),
    }
}

/// A number that is an id, or one that no token has where those are replaced or skipped.
fn checked(py: Python<'_>, number: i128, max_id: u32, unknown: UnknownIds) -> PyResult<u32> {
    match u32::try_from(number) {
        Ok(id) => Ok(id),
        Err(_) if number > 0 && unknown != UnknownIds::Error => Ok(u32::MAX),
        Err(_) => Err(raise(py, &Error::UnknownId { id: number, max_id }, "")),
    }
}

/// `ids` as a NumPy array of its own.
fn array<'py>(py: Python<'py>, ids: &[u32], dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    let array = py.import("numpy")?.call_method1("empty", (ids.len(), dtype))?;
    if dtype == "uint16" {
        let narrow: Vec<u16> = ids.iter().map(|&id| id as u16).collect();
        PyBuffer::<u16>::get(&array)?.copy_from_slice(py, &narrow)?;
    } else {
        PyBuffer::<u32>::get(&array)?.copy_from_slice(py, ids)?;
    }
    Ok(array)
}

/// Turns byte offsets into characters or UTF-16 units; a token covers every character that it touches.
fn in_units(text: &str, spans: &mut [TokenSpan], unit: &str) {
    if unit == "byte" || text.is_ascii() {
        return;
    }
    let size = |c: char| if unit == "utf16" { c.len_utf16() } else { 1 };
    // Starts and ends each only go forward, so one walk over the text serves each.
    let walk = |to_end: bool| {
        let (mut at, mut units, mut chars) = (0, 0, text.chars());
        move |byte: usize| {
            loop {
                let rest = chars.clone().next();
                match rest {
                    Some(c) if at + c.len_utf8() <= byte || (to_end && at < byte) => {
                        at += c.len_utf8();
                        units += size(c);
                        chars.next();
                    }
                    _ => return units,
                }
            }
        }
    };
    let (mut start_of, mut end_of) = (walk(false), walk(true));
    for span in spans {
        (span.start, span.end) = (start_of(span.start), end_of(span.end));
    }
}

fn unpack(packed: &[u8]) -> Result<Vec<u32>> {
    let (numbers, rest) = packed.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(Error::Spec(format!("packed numbers: expected a multiple of 4 bytes, found {}", packed.len())));
    }
    Ok(numbers.iter().map(|&number| u32::from_le_bytes(number)).collect())
}

/// ("prefix_space", "") or (what becomes of unmatched text, pattern in the rust dialect).
fn steps(splits: &[(String, String)]) -> Result<Vec<Step>> {
    let step = |(kind, pattern): &(String, String)| match kind.as_str() {
        "prefix_space" => Ok(Step::PrefixSpace),
        "keep" => Splitter::new(pattern, Unmatched::Keep).map(Step::Split),
        "drop" => Splitter::new(pattern, Unmatched::Drop).map(Step::Split),
        "error" => Splitter::new(pattern, Unmatched::Error).map(Step::Split),
        _ => Err(Error::Spec(format!("split: expected unmatched keep, drop or error, found {kind:?}"))),
    };
    splits.iter().map(step).collect()
}

fn added_tokens(fields: Vec<AddedTokenFields>) -> Vec<AddedToken> {
    let token = |(content, id, special, normalized, single_word, lstrip, rstrip)| AddedToken {
        content,
        id,
        special,
        normalized,
        single_word,
        lstrip,
        rstrip,
    };
    fields.into_iter().map(token).collect()
}
