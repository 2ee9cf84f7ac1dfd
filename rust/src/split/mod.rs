//! Splitting: text → pieces.
//!
//! `parse` reads a pattern, `classes` and `nfa` make it a prioritised automaton over character classes,
//! `determinise` and `minimise` make that a transducer, `one_pass` runs it as a table. `two_pass` runs the
//! patterns that no bounded table can split, `regex` those that do not compile at all. `safe` says where a text may be cut, `dfa` is the door to all of
//! this, `patterns` holds the published patterns.

mod classes;
mod determinise;
pub mod dfa;
mod minimise;
mod nfa;
mod one_pass;
mod parse;
pub mod patterns;
mod regex;
mod safe;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod two_pass;

pub use dfa::{Cursor, Machine, Span, Unsupported};

use crate::error::{Error, Result};
use regex::RegexSplitter;

/// The Unicode version of the classes that patterns name: that of the pinned `regex-syntax`.
pub const UNICODE_VERSION: &str = "16.0.0";

/// Pieces handed on at a time: enough that the call is nothing, few enough to stay in the nearest cache.
const BATCH: usize = 256;

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

    /// Calls `batch` with the pieces of `text`, in order, up to a few hundred at a time.
    pub fn for_each_batch(&self, text: &str, batch: &mut dyn FnMut(&[Span]) -> Result<()>) -> Result<()> {
        let mut spans = [Span::default(); BATCH];
        let mut end = 0;
        match &self.engine {
            Engine::Machine(machine) => {
                let mut cursor = Cursor::default();
                while !cursor.is_done() {
                    let count = machine.fill(text, &mut cursor, &mut spans);
                    self.hand_on(text, &mut end, &spans[..count], batch)?;
                }
            }
            Engine::Regex(regex) => {
                let mut count = 0;
                regex.for_each(text, |start, end_of_match| {
                    spans[count] = Span { start, end: end_of_match };
                    count += 1;
                    if count < BATCH {
                        return Ok(());
                    }
                    count = 0;
                    self.hand_on(text, &mut end, &spans, batch)
                })?;
                self.hand_on(text, &mut end, &spans[..count], batch)?;
            }
        }
        if end < text.len() {
            let rest = Span { start: end, end: text.len() };
            match self.unmatched {
                Unmatched::Keep => batch(&[rest])?,
                Unmatched::Drop => {}
                Unmatched::Error => return Err(unmatched(text, rest)),
            }
        }
        Ok(())
    }

    /// Passes matches on, with the text between them as `unmatched` says. `end` is where the match before them ended.
    fn hand_on(
        &self,
        text: &str,
        end: &mut usize,
        spans: &[Span],
        batch: &mut dyn FnMut(&[Span]) -> Result<()>,
    ) -> Result<()> {
        let starts = spans.iter().map(|span| span.start);
        let ends = std::iter::once(*end).chain(spans.iter().map(|span| span.end));
        let is_whole = self.unmatched == Unmatched::Drop || starts.eq(ends.take(spans.len()));
        let mut last = std::mem::replace(end, spans.last().map_or(*end, |span| span.end));
        if is_whole {
            return batch(spans);
        }
        let mut with_gaps = Vec::with_capacity(spans.len() * 2);
        for span in spans {
            let gap = Span { start: last, end: span.start };
            if gap.start < gap.end {
                if self.unmatched == Unmatched::Error {
                    return Err(unmatched(text, gap));
                }
                with_gaps.push(gap);
            }
            with_gaps.push(*span);
            last = span.end;
        }
        batch(&with_gaps)
    }
}

fn unmatched(text: &str, gap: Span) -> Error {
    let found = text.get(gap.start..gap.end).unwrap_or_default().chars().take(16).collect();
    Error::Unmatched { offset: gap.start, found }
}
