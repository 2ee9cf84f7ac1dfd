//! Splitting: text → pieces.
//!
//! `parse` reads a pattern, `classes` and `nfa` turn it into a prioritised automaton over character
//! classes, `determinise` and `minimise` into a machine, `dfa` runs it, `safe` says where a text may
//! be cut. What does not compile runs on `regex`. `patterns` holds the published patterns.

mod classes;
mod determinise;
pub mod dfa;
mod minimise;
mod nfa;
mod parse;
pub mod patterns;
mod regex;
mod safe;

pub use dfa::{Cursor, Machine, Span, Unsupported};

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
    engine: Engine,
    unmatched: Unmatched,
}

#[derive(Debug, Clone)]
enum Engine {
    Machine(Box<Machine>),
    Regex(RegexSplitter),
}

impl Splitter {
    /// `pattern` is in the `rust` dialect. One that does not compile to a machine runs on the regex engine.
    pub fn new(pattern: &str, unmatched: Unmatched) -> Result<Self> {
        let engine = match Machine::compile(pattern) {
            Ok(machine) => Engine::Machine(Box::new(machine)),
            Err(_) => Engine::Regex(RegexSplitter::new(pattern)?),
        };
        Ok(Self { engine, unmatched })
    }

    /// The machine, where the pattern compiled to one.
    pub fn machine(&self) -> Option<&Machine> {
        match &self.engine {
            Engine::Machine(machine) => Some(machine),
            Engine::Regex(_) => None,
        }
    }

    /// Calls `piece(start, end)` for each piece of `text`, in order.
    pub fn for_each(&self, text: &str, mut piece: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
        let mut end = 0;
        let mut found = |from: usize, to: usize| {
            if from > end {
                self.gap(text, end, from, &mut piece)?;
            }
            end = to;
            piece(from, to)
        };
        match &self.engine {
            Engine::Regex(regex) => regex.for_each(text, found)?,
            Engine::Machine(machine) => {
                let mut cursor = Cursor::default();
                let mut spans = [Span::default(); 256];
                while !cursor.is_done() {
                    let count = machine.fill(text, &mut cursor, &mut spans);
                    spans[..count].iter().try_for_each(|span| found(span.start, span.end))?;
                }
            }
        }
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
