//! Pre-tokenizers: what cuts normalized text into pieces. One variant a component of tokenizer.json.

use serde::Deserialize;

use super::aligned::Aligned;
use super::patterns::{Pattern, PatternText, bytes_of};
use super::pieces::{Behavior, Pieces, split_at};
use super::scripts;
use crate::error::{Error, Result};
use crate::pulse::Pulse;
use crate::split::{Splitter, Unmatched, patterns};
use crate::unicode::is_punctuation;

/// A pre-tokenizer as tokenizer.json writes it. Regexes are in the `rust` dialect.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub enum Component {
    Sequence {
        pretokenizers: Vec<Component>,
    },
    ByteLevel {
        add_prefix_space: bool,
        #[serde(default = "yes")]
        use_regex: bool,
    },
    Split {
        pattern: PatternText,
        behavior: Behavior,
        invert: bool,
    },
    Metaspace {
        replacement: char,
        add_prefix_space: Option<bool>,
        prepend_scheme: Option<PrependScheme>,
        split: Option<bool>,
    },
    Digits {
        individual_digits: bool,
    },
    Punctuation {
        #[serde(default = "isolated")]
        behavior: Behavior,
    },
    Whitespace,
    WhitespaceSplit,
    BertPreTokenizer,
    #[serde(alias = "Delimiter")]
    CharDelimiterSplit {
        delimiter: char,
    },
    UnicodeScripts,
    FixedLength {
        #[serde(default = "five")]
        length: usize,
    },
}

fn yes() -> bool {
    true
}

fn isolated() -> Behavior {
    Behavior::Isolated
}

fn five() -> usize {
    5
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrependScheme {
    First,
    Never,
    Always,
}

impl PrependScheme {
    /// As a Metaspace writes it, now or in older files.
    pub fn of(scheme: Option<Self>, add_prefix_space: Option<bool>) -> Self {
        if add_prefix_space == Some(false) { Self::Never } else { scheme.unwrap_or(Self::Always) }
    }
}

#[derive(Debug)]
pub enum PreTokenizer {
    PrefixSpace,
    /// Every match is a piece, and so is what lies between where the splitter keeps it.
    Matches(Splitter),
    ByteLevel,
    Split {
        pattern: Pattern,
        behavior: Behavior,
        invert: bool,
    },
    Metaspace {
        replacement: char,
        scheme: PrependScheme,
    },
    Characters {
        class: fn(char) -> bool,
        behavior: Behavior,
    },
    Character {
        character: char,
        behavior: Behavior,
    },
    Scripts,
    FixedLength(usize),
}

impl Component {
    /// The steps of this component, in order.
    fn into_steps(self) -> Result<Vec<PreTokenizer>> {
        let class = |class, behavior| PreTokenizer::Characters { class, behavior };
        Ok(match self {
            Self::Sequence { pretokenizers } => {
                let steps: Vec<_> = pretokenizers.into_iter().map(Self::into_steps).collect::<Result<_>>()?;
                steps.into_iter().flatten().collect()
            }
            Self::ByteLevel { add_prefix_space, use_regex } => {
                let mut steps = Vec::new();
                steps.extend(add_prefix_space.then_some(PreTokenizer::PrefixSpace));
                if use_regex {
                    steps.push(PreTokenizer::Matches(Splitter::new(patterns::GPT2, Unmatched::Keep)?));
                }
                steps.push(PreTokenizer::ByteLevel);
                steps
            }
            Self::Split { pattern, behavior, invert } => {
                vec![PreTokenizer::Split { pattern: Pattern::new(pattern)?, behavior, invert }]
            }
            Self::Metaspace { replacement, add_prefix_space, prepend_scheme, split } => {
                let scheme = PrependScheme::of(prepend_scheme, add_prefix_space);
                let mut steps = vec![PreTokenizer::Metaspace { replacement, scheme }];
                if split.unwrap_or(true) {
                    let behavior = Behavior::MergedWithNext;
                    steps.push(PreTokenizer::Character { character: replacement, behavior });
                }
                steps
            }
            Self::Digits { individual_digits: true } => vec![class(char::is_numeric, Behavior::Isolated)],
            Self::Digits { individual_digits: false } => vec![class(char::is_numeric, Behavior::Contiguous)],
            Self::Punctuation { behavior } => vec![class(is_punctuation, behavior)],
            Self::Whitespace => vec![PreTokenizer::Matches(Splitter::new(r"\w+|[^\w\s]+", Unmatched::Drop)?)],
            Self::WhitespaceSplit => vec![class(char::is_whitespace, Behavior::Removed)],
            Self::BertPreTokenizer => {
                vec![class(char::is_whitespace, Behavior::Removed), class(is_punctuation, Behavior::Isolated)]
            }
            Self::CharDelimiterSplit { delimiter } => {
                vec![PreTokenizer::Character { character: delimiter, behavior: Behavior::Removed }]
            }
            Self::UnicodeScripts => vec![PreTokenizer::Scripts],
            Self::FixedLength { length: 0 } => {
                return Err(Error::Spec("FixedLength: expected a length of 1 or more, found 0".into()));
            }
            Self::FixedLength { length } => vec![PreTokenizer::FixedLength(length)],
        })
    }
}

/// The steps of a component, or none.
pub fn parse(component: Option<Component>) -> Result<Vec<PreTokenizer>> {
    component.map_or(Ok(Vec::new()), Component::into_steps).map_err(|error| match error {
        Error::Spec(message) => Error::Spec(format!("pre-tokenizer: {message}")),
        other => other,
    })
}

impl PreTokenizer {
    pub fn apply(&self, pieces: &mut Pieces, pulse: &mut Pulse) -> Result<()> {
        match self {
            Self::PrefixSpace => pieces.change(pulse, |text, _| {
                if !text.text().starts_with(' ') {
                    text.prepend(" ");
                }
            }),
            Self::ByteLevel => pieces.change(pulse, Aligned::byte_level),
            Self::Metaspace { replacement, scheme } => metaspace(pieces, *replacement, *scheme, pulse),
            Self::Matches(splitter) => pieces.split(pulse, |text, spans, pulse| {
                splitter.for_each_batch(text, &mut |batch| {
                    spans.extend(batch.iter().map(|span| (span.start, span.end)));
                    pulse.beat(bytes_of(batch))
                })
            }),
            Self::Split { pattern, behavior, invert } => {
                let mut matches = Vec::new();
                pieces.split(pulse, |text, spans, pulse| {
                    matches.clear();
                    pattern.find(text, &mut matches, pulse)?;
                    split_at(text.len(), &matches, *invert, *behavior, spans, pulse)
                })
            }
            Self::Characters { class, behavior } => split_at_characters(pieces, class, *behavior, pulse),
            Self::Character { character, behavior } => {
                split_at_characters(pieces, |c| c == *character, *behavior, pulse)
            }
            Self::Scripts => pieces.split(pulse, scripts::split),
            Self::FixedLength(length) => pieces.split(pulse, |text, spans, pulse| {
                let starts = pulse.each(text.char_indices()).map(|(at, _)| at).step_by(*length);
                let ends = text.char_indices().map(|(at, _)| at).step_by(*length).skip(1).chain([text.len()]);
                spans.extend(starts.zip(ends));
                pulse.check()
            }),
        }
    }

    /// Whether what it does depends on where in the original text a piece begins.
    pub fn asks_for_origins(&self) -> bool {
        matches!(self, Self::Metaspace { scheme: PrependScheme::First, .. })
    }

    /// How it runs, where that differs by pattern.
    pub fn certificate(&self) -> Option<String> {
        match self {
            Self::Matches(splitter) => Some(splitter.certificate().join("; ")),
            Self::Split { pattern, .. } => Some(pattern.certificate()),
            _ => None,
        }
    }
}

fn split_at_characters(
    pieces: &mut Pieces,
    class: impl Fn(char) -> bool,
    behavior: Behavior,
    pulse: &mut Pulse,
) -> Result<()> {
    let mut matches = Vec::new();
    pieces.split(pulse, |text, spans, pulse| {
        matches.clear();
        let found = pulse.each(text.char_indices()).filter(|&(_, c)| class(c)).map(|(at, c)| (at, at + c.len_utf8()));
        matches.extend(found);
        split_at(text.len(), &matches, false, behavior, spans, pulse)
    })
}

fn metaspace(pieces: &mut Pieces, replacement: char, scheme: PrependScheme, pulse: &mut Pulse) -> Result<()> {
    let mut buffer = [0; 4];
    let mark: &str = replacement.encode_utf8(&mut buffer);
    pieces.change(pulse, |text, pulse| {
        let spaces = memchr::memchr_iter(b' ', text.text().as_bytes());
        let spaces: Vec<_> = pulse.each(spaces).map(|at| (at, at + 1)).collect();
        text.replace(&spaces, mark, pulse);
        let is_wanted = match scheme {
            PrependScheme::Always => true,
            PrependScheme::First => text.range().start == 0,
            PrependScheme::Never => false,
        };
        if is_wanted && !text.text().starts_with(replacement) {
            text.prepend(mark);
        }
    })
}
