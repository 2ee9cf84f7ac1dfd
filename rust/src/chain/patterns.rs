//! What `Split` and `Replace` look for: a string, or a regex in the `rust` dialect.

use memchr::memmem::Finder;
use serde::Deserialize;

use crate::error::Result;
use crate::pulse::Pulse;
use crate::split::{Span, Splitter, Unmatched};

/// A pattern as tokenizer.json writes it.
#[derive(Debug, Clone, Deserialize)]
pub enum PatternText {
    String(String),
    Regex(String),
}

#[derive(Debug)]
pub enum Pattern {
    Literal(Box<Finder<'static>>),
    Regex(Splitter),
}

impl Pattern {
    pub fn new(text: PatternText) -> Result<Self> {
        Ok(match text {
            PatternText::String(text) => Self::Literal(Box::new(Finder::new(&text).into_owned())),
            PatternText::Regex(pattern) => Self::Regex(Splitter::new(&pattern, Unmatched::Drop)?),
        })
    }

    /// Appends the matches in `text`, in order. The empty string matches in front of every character and at the end.
    pub fn find(&self, text: &str, matches: &mut Vec<(usize, usize)>, pulse: &mut Pulse) -> Result<()> {
        match self {
            Self::Literal(finder) if finder.needle().is_empty() => {
                let places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
                matches.extend(pulse.each(places).map(|at| (at, at)));
                pulse.check()
            }
            Self::Literal(finder) => {
                let size = finder.needle().len();
                matches.extend(pulse.each(finder.find_iter(text.as_bytes())).map(|at| (at, at + size)));
                pulse.check()
            }
            Self::Regex(splitter) => splitter.for_each_batch(text, &mut |spans| {
                matches.extend(spans.iter().map(|span| (span.start, span.end)));
                pulse.beat(bytes_of(spans))
            }),
        }
    }

    pub fn may_match_nothing(&self) -> bool {
        matches!(self, Self::Literal(finder) if finder.needle().is_empty())
    }

    /// How the pattern is run.
    pub fn certificate(&self) -> String {
        match self {
            Self::Literal(_) => "a string, searched for".into(),
            Self::Regex(splitter) => splitter.certificate().join("; "),
        }
    }
}

/// How much of the text a batch of a splitter's is.
pub fn bytes_of(batch: &[Span]) -> usize {
    batch.first().zip(batch.last()).map_or(0, |(first, last)| last.end - first.start)
}
