//! Text, ids, arrays and packed buffers, in and out.

use std::borrow::Cow;
use std::sync::Mutex;

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyInt, PyList, PyString};

use super::errors::{exception, raise};
use crate::decode::UnknownIds;
use crate::error::{Error, Result};
use crate::pieces::Step;
use crate::special::AddedToken;
use crate::split::{Splitter, Unmatched};
use crate::tokenizer::TokenSpan;

/// Texts shorter than this are encoded without letting go of the interpreter lock: that costs more than they do.
pub(super) const SHORT_BYTES: usize = 8 << 10;

/// Content, id, special, normalized, single_word, lstrip, rstrip.
pub(super) type AddedTokenFields = (String, u32, bool, bool, bool, bool, bool);

/// The text of a `str` or of UTF-8 bytes. `replace` is for invalid bytes and for lone surrogates.
pub(super) fn text_of<'a>(
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
pub(super) fn texts_of<'a>(objects: &'a [Bound<'_, PyAny>], replace: (bool, bool)) -> PyResult<Vec<Cow<'a, str>>> {
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
pub(super) fn ids_of(object: &Bound<'_, PyAny>, max_id: u32, unknown: UnknownIds) -> PyResult<Vec<u32>> {
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
    if let Ok(shape) = object.getattr("ndim").and_then(|ndim| ndim.extract::<usize>())
        && shape != 1
    {
        return Err(PyTypeError::new_err(format!("ids: expected one dimension, found {shape}")));
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

pub(super) fn from_buffer<T: Element + Into<i128> + Copy>(object: &Bound<'_, PyAny>) -> Option<Vec<i128>> {
    let buffer = PyBuffer::<T>::get(object).ok()?;
    Some(buffer.to_vec(object.py()).ok()?.into_iter().map(Into::into).collect())
}

pub(super) fn id_of(item: &Bound<'_, PyAny>, max_id: u32, unknown: UnknownIds) -> PyResult<u32> {
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
pub(super) fn checked(py: Python<'_>, number: i128, max_id: u32, unknown: UnknownIds) -> PyResult<u32> {
    match u32::try_from(number) {
        Ok(id) => Ok(id),
        Err(_) if number > 0 && unknown != UnknownIds::Error => Ok(u32::MAX),
        Err(_) => Err(raise(py, &Error::UnknownId { id: number, max_id }, "")),
    }
}

/// The `int` of each id that was in a list: a list shares them, which is ten times as fast as making new ones.
#[derive(Default)]
pub(super) struct Ints(Mutex<Vec<Option<Py<PyInt>>>>);

impl Ints {
    /// `ids` as a list.
    pub(super) fn list<'py>(&self, py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
        // Taken where it is free: making a list may collect garbage, and a finalizer may come back here.
        let Ok(mut ints) = self.0.try_lock() else { return PyList::new(py, ids) };
        let greatest = ids.iter().max().map_or(0, |&id| id as usize);
        if ints.len() <= greatest {
            ints.resize_with((greatest + 1).next_power_of_two(), || None);
        }
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
}

/// `ids` as a NumPy array of its own.
pub(super) fn array<'py>(py: Python<'py>, ids: &[u32], dtype: &str) -> PyResult<Bound<'py, PyAny>> {
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
pub(super) fn in_units(text: &str, spans: &mut [TokenSpan], unit: &str) {
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

pub(super) fn unpack(packed: &[u8]) -> Result<Vec<u32>> {
    let (numbers, rest) = packed.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(Error::Spec(format!("packed numbers: expected a multiple of 4 bytes, found {}", packed.len())));
    }
    Ok(numbers.iter().map(|&number| u32::from_le_bytes(number)).collect())
}

/// ("prefix_space", "") or (what becomes of unmatched text, pattern in the rust dialect).
pub(super) fn steps(splits: &[(String, String)]) -> Result<Vec<Step>> {
    let step = |(kind, pattern): &(String, String)| match kind.as_str() {
        "prefix_space" => Ok(Step::PrefixSpace),
        "keep" => Splitter::new(pattern, Unmatched::Keep).map(Step::Split),
        "drop" => Splitter::new(pattern, Unmatched::Drop).map(Step::Split),
        "error" => Splitter::new(pattern, Unmatched::Error).map(Step::Split),
        _ => Err(Error::Spec(format!("split: expected unmatched keep, drop or error, found {kind:?}"))),
    };
    splits.iter().map(step).collect()
}

pub(super) fn added_tokens(fields: Vec<AddedTokenFields>) -> Vec<AddedToken> {
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
