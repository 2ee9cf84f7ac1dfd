//! Splitting: text → pieces.
//!
//! `parse` reads a pattern into an `ast`, `classes` and `nfa` make it a prioritised automaton over character classes,
//! `determinise` and `minimise` make that a transducer, `chain` makes those of a sequence one, `one_pass` runs it as a
//! table. `two_pass` runs the patterns that no bounded table can split, `regex` those that do not compile at all.
//! `safe` says where a text may be cut, `dfa` is the door to all of this, `patterns` holds the published patterns.

mod ast;
#[cfg(test)]
mod cards;
mod chain;
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
mod steps;
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

/// Pieces handed on at a time: enough that those new to the encoder wait for memory together, few enough to stay near.
const BATCH: usize = 1024;
const FEW: usize = 32;

/// What becomes of text that the pattern does not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmatched {
    /// It is a piece of its own, as in Hugging Face's `Isolated`.
    Keep,
    /// It is left out, as in tiktoken.
    Drop,
    Error,
}

/// Cuts text into the matches of a pattern, or of several one after another.
#[derive(Debug, Clone)]
pub struct Splitter {
    patterns: Vec<String>,
    engine: Engine,
    unmatched: Unmatched,
}

#[derive(Debug, Clone)]
enum Engine {
    Machine(Box<Machine>),
    /// And why there is no machine.
    Regex(RegexSplitter, Unsupported),
    /// At least two, each of every piece of the one before, and why there is no machine for all.
    Steps(Vec<Splitter>, Unsupported),
}

impl Splitter {
    /// `pattern` is in the `rust` dialect. One that does not compile to a machine runs on the regex engine.
    pub fn new(pattern: &str, unmatched: Unmatched) -> Result<Self> {
        let engine = match Machine::compile(pattern) {
            Ok(machine) => Engine::Machine(Box::new(machine)),
            Err(reason) => Engine::Regex(RegexSplitter::new(pattern)?, reason),
        };
        Ok(Self { patterns: vec![pattern.into()], engine, unmatched })
    }

    /// Each of `steps` splits every piece of the one before as a text of its own. One machine for all where there is one.
    pub fn sequence(steps: Vec<Splitter>) -> Self {
        let patterns: Vec<String> = steps.iter().flat_map(|step| step.patterns.iter().cloned()).collect();
        let machine = if steps.iter().all(|step| step.unmatched == Unmatched::Keep) {
            Machine::compile_sequence(&patterns.iter().map(String::as_str).collect::<Vec<_>>())
        } else {
            Err(Unsupported::Dropped)
        };
        let engine = match machine {
            Ok(machine) => Engine::Machine(Box::new(machine)),
            Err(reason) => Engine::Steps(steps, reason),
        };
        Self { patterns, engine, unmatched: Unmatched::Keep }
    }

    /// How each step is run, or all of them as one, and where that is not the fast way, why.
    pub fn certificate(&self) -> Vec<String> {
        match &self.engine {
            Engine::Machine(machine) => {
                let passes = if machine.is_one_pass() { "one pass" } else { "two passes" };
                let (num_states, num_classes) = (machine.num_states(), machine.num_classes());
                let steps = match self.patterns.len() {
                    1 => String::new(),
                    count => format!("{count} steps as one: "),
                };
                let table = format!("a table of {num_states} states by {num_classes} classes");
                vec![format!("{steps}{table}, {passes}, linear on every text")]
            }
            Engine::Regex(_, reason) => vec![format!("fancy-regex, with a work limit: {reason}")],
            Engine::Steps(steps, reason) => {
                let mut accounts: Vec<String> = steps.iter().flat_map(Splitter::certificate).collect();
                if let Some(last) = accounts.last_mut() {
                    last.push_str(&format!(
                        "; on each piece of the step before, since there is no table for all: {reason}"
                    ));
                }
                accounts
            }
        }
    }

    /// The machine that decides where text may be cut: a cut of the first step is one of all.
    pub fn machine(&self) -> Option<&Machine> {
        match &self.engine {
            Engine::Machine(machine) => Some(machine),
            Engine::Regex(..) => None,
            Engine::Steps(steps, _) => steps.first().and_then(Splitter::machine),
        }
    }

    /// Whether there are places where every text may be cut.
    pub fn can_cut(&self) -> bool {
        self.machine().is_some_and(|machine| machine.num_safe_pairs() > 0)
    }

    /// A place from `from` on where `text` may be cut: the pieces of both parts are those of the whole.
    pub fn next_safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        let machine = self.machine()?;
        let end = from + (1 << 14);
        let mut from = from;
        while let Some(cut) = machine.safe_split(text, from, end.saturating_sub(from)) {
            if self.unmatched == Unmatched::Drop || first_match(machine, text, cut).is_some_and(|(start, _)| start == 0)
            {
                return Some(cut);
            }
            from = cut + 1;
        }
        None
    }

    /// The last place in `text`, before `limit`, where it may be cut: the pieces of both parts are those of the whole,
    /// whatever text follows. None where no such place is known in the last few thousand bytes.
    pub fn last_safe_cut(&self, text: &str, limit: usize) -> Option<usize> {
        const WINDOW: usize = 256;
        let machine = self.machine()?;
        let mut from = limit.min(text.len());
        for _ in 0..64 {
            let end = from;
            from = end.saturating_sub(WINDOW);
            let mut last = None;
            let mut next = from;
            while let Some(cut) = machine.safe_split(text, next, end.saturating_sub(next)).filter(|&cut| cut < end) {
                let is_open = |(start, is_settled)| start == 0 && is_settled;
                if self.unmatched == Unmatched::Drop || first_match(machine, text, cut).is_some_and(is_open) {
                    last = Some(cut);
                }
                next = cut + 1;
            }
            if last.is_some() || from == 0 {
                return last;
            }
        }
        None
    }

    /// Calls `batch` with the pieces of `text`, in order, up to a few hundred at a time.
    pub fn for_each_batch(&self, text: &str, batch: &mut dyn FnMut(&[Span]) -> Result<()>) -> Result<()> {
        // A short text is not to pay for the room that a long one needs.
        let (mut few, mut some, mut many);
        let spans = if text.len() <= 4 * FEW {
            few = [Span::default(); FEW];
            few.as_mut_slice()
        } else if text.len() <= 4 * BATCH {
            some = [Span::default(); BATCH / 8];
            some.as_mut_slice()
        } else {
            many = [Span::default(); BATCH];
            many.as_mut_slice()
        };
        let mut end = 0;
        match &self.engine {
            Engine::Steps(steps, _) => return steps::for_each_batch(steps, text, batch),
            Engine::Machine(machine) => {
                let mut cursor = Cursor::default();
                while !cursor.is_done() {
                    let count = machine.fill(text, &mut cursor, spans);
                    self.hand_on(text, &mut end, &spans[..count], batch)?;
                }
            }
            Engine::Regex(regex, _) => {
                let mut count = 0;
                regex.for_each(text, |start, end_of_match| {
                    spans[count] = Span { start, end: end_of_match };
                    count += 1;
                    if count < spans.len() {
                        return Ok(());
                    }
                    count = 0;
                    self.hand_on(text, &mut end, spans, batch)
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

/// Where the first match of `text[at..]` starts, and whether that holds whatever text follows. Text that no match covers
/// is one piece, so it must not be cut within: a cut wants a match to start there.
fn first_match(machine: &Machine, text: &str, at: usize) -> Option<(usize, bool)> {
    let (mut cursor, mut found) = (Cursor::default(), [Span::default()]);
    let count = machine.fill(text.get(at..)?, &mut cursor, &mut found);
    if count == 1 { Some((found[0].start, !cursor.is_done())) } else { None }
}

fn unmatched(text: &str, gap: Span) -> Error {
    let found = text.get(gap.start..gap.end).unwrap_or_default().chars().take(16).collect();
    Error::Unmatched { offset: gap.start, found }
}
