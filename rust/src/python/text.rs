//! Text that comes in: a `str` or UTF-8 bytes.
//!
//! A text is held by its Python object and read without the interpreter lock: `str` and `bytes` never change. What Python
//! keeps in another form is written out as UTF-8 beside it, for as long as the call takes. Python would do that too, a
//! character at a time, and keep the copy in the `str` for life.

use std::ops::Deref;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::string::PyStringData;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use super::errors::{exception, raise};
use crate::error::Error;
use crate::utf8::utf8;

/// What becomes of invalid bytes and of lone surrogates: an error, or U+FFFD.
#[derive(Debug, Clone, Copy)]
pub(super) struct Policy {
    pub(super) replace_bytes: bool,
    pub(super) replace_surrogates: bool,
}

impl From<(bool, bool)> for Policy {
    fn from((replace_bytes, replace_surrogates): (bool, bool)) -> Self {
        Self { replace_bytes, replace_surrogates }
    }
}

#[derive(Debug)]
pub(super) enum Text {
    Ascii(PyBackedStr),
    Utf8(Utf8),
    Own(String),
}

/// Bytes that are UTF-8. Only `of_bytes` makes them.
#[derive(Debug)]
pub(super) struct Utf8(PyBackedBytes);

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Ascii(text) => text,
            Self::Utf8(text) => text,
            Self::Own(text) => text,
        }
    }
}

impl Deref for Utf8 {
    type Target = str;

    #[allow(unsafe_code)]
    fn deref(&self) -> &str {
        // SAFETY: checked by `of_bytes`, and a `bytes` never changes.
        unsafe { std::str::from_utf8_unchecked(&self.0) }
    }
}

impl Text {
    pub(super) fn new(object: &Bound<'_, PyAny>, policy: Policy) -> PyResult<Self> {
        Self::of_object(object, policy, None)
    }

    /// The text that `object` is, which is a document of this number or alone.
    fn of_object(object: &Bound<'_, PyAny>, policy: Policy, number: Option<u64>) -> PyResult<Self> {
        if let Ok(text) = object.cast::<PyString>() {
            return Self::of_str(text, policy);
        }
        let py = object.py();
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Self::of_bytes(bytes, policy);
        }
        match PyBuffer::<u8>::get(object) {
            Ok(buffer) => Self::of_bytes(&PyBytes::new(py, &buffer.to_vec(py)?), policy),
            Err(_) => Err(no_text(object, number)?),
        }
    }

    fn of_str(text: &Bound<'_, PyString>, policy: Policy) -> PyResult<Self> {
        match written(text) {
            Some(Written::Ascii) => return text.clone().try_into().map(Self::Ascii),
            Some(Written::Utf8(text)) => return Ok(Self::Own(text)),
            None => {}
        }
        match text.encode_utf8() {
            Ok(bytes) => Self::of_bytes(&bytes, policy),
            Err(_) if policy.replace_surrogates => {
                let units = text.call_method1("encode", ("utf-16", "surrogatepass"))?;
                Ok(Self::Own(units.call_method1("decode", ("utf-16", "replace"))?.extract()?))
            }
            Err(error) => {
                let at: usize = error.value(text.py()).getattr("start")?.extract()?;
                let message = format!("character {at}: expected text, found half of a surrogate pair");
                let hint = "pass surrogates=\"replace\" to read it as U+FFFD";
                Err(exception(text.py(), "TextError", &message, Some(hint)))
            }
        }
    }

    fn of_bytes(bytes: &Bound<'_, PyBytes>, policy: Policy) -> PyResult<Self> {
        match std::str::from_utf8(bytes.as_bytes()) {
            Ok(_) => Ok(Self::Utf8(Utf8(bytes.clone().into()))),
            Err(_) if policy.replace_bytes => Ok(Self::Own(String::from_utf8_lossy(bytes.as_bytes()).into_owned())),
            Err(error) => {
                let offset = error.valid_up_to();
                let byte = bytes.as_bytes().get(offset).copied().unwrap_or(0);
                Err(raise(bytes.py(), &Error::InvalidUtf8 { offset, byte }, ""))
            }
        }
    }
}

fn no_text(object: &Bound<'_, PyAny>, number: Option<u64>) -> PyResult<PyErr> {
    let is_many = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
    let hint = if is_many && number.is_none() { "; `encode_batch` takes many texts" } else { "" };
    let place = number.map_or(String::new(), |number| format!("document {number}: "));
    let found = object.get_type().name()?;
    Ok(PyTypeError::new_err(format!("{place}text: expected str or UTF-8 bytes, found {found}{hint}")))
}

/// A `str` in UTF-8.
enum Written {
    /// Python keeps it as these bytes.
    Ascii,
    Utf8(String),
}

/// `text` in UTF-8; None where it has none, or cannot be read in place.
#[allow(unsafe_code)]
fn written(text: &Bound<'_, PyString>) -> Option<Written> {
    // SAFETY: the characters of a `str` never change, and they are read before `text` is let go.
    let bytes = match unsafe { text.data() }.ok()? {
        PyStringData::Ucs1(bytes) if bytes.is_ascii() => return Some(Written::Ascii),
        PyStringData::Ucs1(characters) => utf8(characters),
        PyStringData::Ucs2(characters) => utf8(characters),
        PyStringData::Ucs4(characters) => utf8(characters),
    };
    // SAFETY: `utf8` writes nothing but UTF-8: see its tests.
    bytes.map(|bytes| Written::Utf8(unsafe { String::from_utf8_unchecked(bytes) }))
}

/// The text of each document; an error names the document, the first of which has the number `first`.
pub(super) fn texts_of(objects: &[Bound<'_, PyAny>], policy: Policy, first: u64) -> PyResult<Vec<Text>> {
    let text = |(at, object): (u64, &Bound<'_, PyAny>)| {
        Text::of_object(object, policy, Some(at)).map_err(|error| {
            let (py, value) = (object.py(), error.value(object.py()));
            match value.getattr("hint").and_then(|hint| hint.extract::<Option<String>>()) {
                Ok(hint) => exception(py, "TextError", &format!("document {at}: {value}"), hint.as_deref()),
                Err(_) => error,
            }
        })
    };
    (first..).zip(objects).map(text).collect()
}
