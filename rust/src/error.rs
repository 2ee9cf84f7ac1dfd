//! Everything that can go wrong in the engine: one variant a fault, one message a variant.
//!
//! A message says where, what was expected and what was found. `hint` says what to do next.

use thiserror::Error;

/// A fault of the input or of the spec, never of the engine itself.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum Error {
    #[error("pattern {pattern:?}: expected a regex this dialect knows, found: {reason}")]
    PatternSyntax { pattern: String, reason: String },
    #[error(
        "byte {offset}: expected the split pattern to find the next piece within its work limit, found text it gives up on: {reason}"
    )]
    PatternLimit { offset: usize, reason: String },
    #[error("byte {offset}: expected text that the split pattern covers, found {found:?} which no alternative matches")]
    Unmatched { offset: usize, found: String },
    #[error("byte {offset}: expected UTF-8, found byte 0x{byte:02X}")]
    InvalidUtf8 { offset: usize, byte: u8 },
    #[error("byte 0x{byte:02X}: expected a token for every byte of the text, found none in this vocabulary")]
    NoByteToken { byte: u8 },
    #[error("{found:?}: expected a token for it, found none, and no unknown token, in this vocabulary")]
    NoUnknownToken { found: String },
    #[error("text: expected under 4 GiB, found {size} bytes")]
    TextTooLong { size: usize },
    #[error("expected an id of this vocabulary, 0 to {max_id}, found {id}")]
    UnknownId { id: i128, max_id: u32 },
    #[error("spec: {0}")]
    Spec(String),
    #[error("{0}")]
    Training(String),
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// The same fault, with `place` of the offset it has in place of it.
    pub fn with_offset(mut self, place: impl FnOnce(usize) -> usize) -> Self {
        if let Self::PatternLimit { offset, .. } | Self::Unmatched { offset, .. } | Self::InvalidUtf8 { offset, .. } =
            &mut self
        {
            *offset = place(*offset);
        }
        self
    }

    /// What to do about it, where there is something to say.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::PatternLimit { .. } => {
                Some("cut the text into documents, or shorten the run of spaces at that place")
            }
            Self::InvalidUtf8 { .. } => {
                Some("pass errors=\"replace\", here or to bytes.decode, to read such bytes as U+FFFD")
            }
            Self::Unmatched { .. } => Some("a split with unmatched=\"keep\" gives such text a piece of its own"),
            Self::UnknownId { .. } => Some("pass unknown_ids=\"skip\" or \"replace\" to decode around it"),
            Self::NoByteToken { .. } => {
                Some("a byte-level vocabulary holds all 256 bytes: was the tokenizer's file cut short?")
            }
            _ => None,
        }
    }
}

pub type Result<T> = std::result::Result<T, Error>;
