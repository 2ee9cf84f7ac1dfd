//! Splitting: text → pieces.

pub mod dfa;
pub mod patterns;
mod regex;

use crate::error::{Error, Result};
use regex::RegexSplitter;

/// The Unicode version of the classes that patterns name: that of the pinned `regex-syntax`.
pub const UNICODE_VERSION: &str = "16.0.0";

/// What becomes of text that the pattern does not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmatched {
    /// It is a piece of its own, as in Hugging Face's `Isolated`.
    Keep,
    /// It is left out, as in tiktoken.
    Drop,
    Error,
}

/// Cuts text into the matches of a pattern.
#[derive(Debug, Clone)]
pub struct Splitter {
    regex: RegexSplitter,
    unmatched: Unmatched,
}

impl Splitter {
    /// `pattern` is in the `rust` dialect.
    pub fn new(pattern: &str, unmatched: Unmatched) -> Result<Self> {
        Ok(Self { regex: RegexSplitter::new(pattern)?, unmatched })
    }

    /// Calls `piece(start, end)` for each piece of `text`, in order.
    pub fn for_each(&self, text: &str, mut piece: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
        let mut end = 0;
        self.regex.for_each(text, |from, to| {
            if from > end {
                self.gap(text, end, from, &mut piece)?;
            }
            end = to;
            piece(from, to)
        })?;
        if end < text.len() { self.gap(text, end, text.len(), &mut piece) } else { Ok(()) }
    }

    fn gap(
        &self,
        text: &str,
        start: usize,
        end: usize,
        piece: &mut impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        match self.unmatched {
            Unmatched::Keep => piece(start, end),
            Unmatched::Drop => Ok(()),
            Unmatched::Error => {
                let found = text.get(start..end).unwrap_or_default().chars().take(16).collect();
                Err(Error::Unmatched { offset: start, found })
            }
        }
    }
}
