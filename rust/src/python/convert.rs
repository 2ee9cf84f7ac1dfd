//! Ids, arrays and packed buffers, in and out.

use std::sync::Mutex;

use pyo3::buffer::{Element, PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyInt, PyList, PyString};

use super::errors::raise;
use crate::decode::UnknownIds;
use crate::error::{Error, Result};
use crate::pieces::Step;
use crate::special::AddedToken;
use crate::split::{Splitter, Unmatched};
use crate::tokenizer::TokenSpan;

/// Texts shorter than this are encoded without letting go of the interpreter lock: that costs more than they do.
pub(super) const SHORT_BYTES: usize = 8 << 10;

/// An `AddedToken` of Python's.
#[derive(FromPyObject)]
pub(super) struct AddedTokenFields {
    pub content: String,
    pub id: u32,
    pub special: bool,
    pub normalized: bool,
    pub single_word: bool,
    pub lstrip: bool,
    pub rstrip: bool,
}

/// The ids of a buffer or a sequence of integers.
pub(super) fn ids_of(object: &Bound<'_, PyAny>, max_id: u32, unknown: UnknownIds) -> PyResult<Vec<u32>> {
    let no_ids = || match object.get_type().name() {
        Ok(name) => PyTypeError::new_err(format!("ids: expected a sequence of integers, found {name}")),
        Err(error) => error,
    };
    if object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyByteArray>()
    {
        return Err(no_ids());
    }
    let py = object.py();
    if let Ok(list) = object.cast::<PyList>() {
        let mut ids = Vec::with_capacity(list.len());
        for (at, item) in list.iter().enumerate() {
            check_signals(py, at)?;
            ids.push(id_of(&item, max_id, unknown)?);
        }
        return Ok(ids);
    }
    if let Ok(shape) = object.getattr("ndim").and_then(|ndim| ndim.extract::<usize>())
        && shape != 1
    {
        return Err(PyTypeError::new_err(format!("ids: expected one dimension, found {shape}")));
    }
    let in_order = is_in_order(object);
    if in_order && let Ok(buffer) = PyBuffer::<u32>::get(object) {
        return buffer.to_vec(py);
    }
    let wide = from_buffer(object, |number: u32| if in_order { number } else { number.swap_bytes() })
        .or_else(|| from_buffer(object, |number: u16| if in_order { number } else { number.swap_bytes() }))
        .or_else(|| from_buffer(object, |number: i64| if in_order { number } else { number.swap_bytes() }))
        .or_else(|| from_buffer(object, |number: i32| if in_order { number } else { number.swap_bytes() }))
        .or_else(|| from_buffer(object, |number: u64| if in_order { number } else { number.swap_bytes() }))
        .or_else(|| from_buffer(object, |number: i16| if in_order { number } else { number.swap_bytes() }))
        .or_else(|| from_buffer(object, |number: u8| number))
        .or_else(|| from_buffer(object, |number: i8| number));
    match wide {
        Some(numbers) => numbers.into_iter().map(|number| checked(py, number, max_id, unknown)).collect(),
        None => object.try_iter().map_err(|_| no_ids())?.map(|item| id_of(&item?, max_id, unknown)).collect(),
    }
}

/// Whether the numbers of a buffer have the byte order of this machine.
fn is_in_order(object: &Bound<'_, PyAny>) -> bool {
    let order = PyUntypedBuffer::get(object).ok().and_then(|buffer| buffer.format().to_bytes().first().copied());
    match order {
        Some(b'>' | b'!') => cfg!(target_endian = "big"),
        Some(b'<') => cfg!(target_endian = "little"),
        _ => true,
    }
}

fn from_buffer<T: Element, N: Into<i128>>(object: &Bound<'_, PyAny>, number: impl Fn(T) -> N) -> Option<Vec<i128>> {
    let buffer = PyBuffer::<T>::get(object).ok()?;
    Some(buffer.to_vec(object.py()).ok()?.into_iter().map(|item| number(item).into()).collect())
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

/// Raises what a signal raised, asked for once every so many items.
#[inline]
pub(super) fn check_signals(py: Python<'_>, at: usize) -> PyResult<()> {
    if at & 0xF_FFFF == 0 { py.check_signals() } else { Ok(()) }
}

/// The items as a list. Asks for signals meanwhile.
pub(super) fn listed<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    items: impl IntoIterator<Item = T>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for (at, item) in items.into_iter().enumerate() {
        check_signals(py, at << 3)?;
        list.append(item)?;
    }
    Ok(list)
}

/// Bytes as text; None where they are not UTF-8 and `replace` is off.
pub(super) fn decoded<'py>(py: Python<'py>, bytes: &[u8], replace: bool) -> Option<Bound<'py, PyString>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(PyString::new(py, text)),
        Err(_) if replace => Some(PyString::new(py, &String::from_utf8_lossy(bytes))),
        Err(_) => None,
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
    let token = |fields: AddedTokenFields| {
        let AddedTokenFields { content, id, special, normalized, single_word, lstrip, rstrip } = fields;
        AddedToken { content, id, special, normalized, single_word, lstrip, rstrip }
    };
    fields.into_iter().map(token).collect()
}
