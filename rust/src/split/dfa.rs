//! Patterns as class DFAs: the fast splitter.
//!
//! A pattern is compiled once: `parse` → `classes` → `nfa` → `determinise` → `minimise` → a table that
//! `one_pass` runs at one look-up a byte. Where pieces depend on text arbitrarily far ahead no such table
//! exists, and `two_pass` first reads the text backwards. Both are linear in the text for every input and
//! neither recurses or backtracks.
//!
//! Equals repeated `fancy_regex::Regex::find_from_pos`, and the mathematical answer where that engine gives
//! up: see `tests` and `examples/split_campaign.rs`. What is not known to be equal does not compile.

use thiserror::Error;

use super::ast::Ast;
use super::chain::chain;
use super::classes::{CharSet, Classes};
use super::determinise::{Transducer, determinise};
use super::minimise::{minimise, minimise_states};
use super::nfa::Nfa;
use super::one_pass::{self, OnePass};
use super::parse::parse;
use super::safe::SafePairs;
use super::two_pass::{self, TwoPass};

/// Why a pattern has no machine; fancy-regex may still run it.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum Unsupported {
    #[error("byte {offset} of the pattern: found {found}")]
    Syntax { offset: usize, found: String },
    #[error("byte {offset} of the pattern: {what} has no machine")]
    Feature { offset: usize, what: String },
    #[error("byte {offset} of the pattern: a loop over what may match nothing has no machine")]
    EmptyLoop { offset: usize },
    #[error("a pattern that may match nothing has no machine")]
    EmptyMatch,
    #[error("a sequence with a step that drops or refuses text has no machine")]
    Dropped,
    #[error("no machine of bounded size: {0}")]
    TooLarge(&'static str),
}

/// The bytes `start..end` of a text: one match of the pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct Machine {
    classes: Classes,
    engine: Engine,
}

#[derive(Debug, Clone)]
enum Engine {
    OnePass(Box<OnePass>, SafePairs),
    TwoPass(TwoPass),
}

/// How far a text has been split. Belongs to one text and one machine.
#[derive(Debug, Clone, Default)]
pub struct Cursor {
    one_pass: one_pass::Run,
    two_pass: two_pass::Run,
}

impl Cursor {
    /// Whether the text has been split to its end.
    pub fn is_done(&self) -> bool {
        self.one_pass.is_done() || self.two_pass.is_done()
    }
}

impl Machine {
    /// Compiles a pattern in the syntax of fancy-regex, or says why not.
    pub fn compile(pattern: &str) -> Result<Self, Unsupported> {
        let mut sets = Vec::new();
        let ast = parse_piece(pattern, &mut sets)?;
        let (classes, contains) = Classes::partition(&sets)?;
        let nfa = Nfa::build(&ast, &contains, classes.num_classes)?;
        match determinise(&nfa) {
            Ok(transducer) => Self::one_pass(classes, transducer),
            Err(_) => Ok(Machine { classes, engine: Engine::TwoPass(TwoPass::new(&nfa)?) }),
        }
    }

    /// One machine for splits one after another, each of every piece of the one before as a text of its own. Text
    /// that a pattern does not match is a piece too, so the matches of the machine cover a text.
    pub fn compile_sequence(patterns: &[&str]) -> Result<Self, Unsupported> {
        let mut sets = Vec::new();
        let asts =
            patterns.iter().map(|pattern| parse_piece(pattern, &mut sets)).collect::<Result<Vec<_>, Unsupported>>()?;
        let (classes, contains) = Classes::partition(&sets)?;
        let step = |ast: &Ast| {
            let mut transducer = determinise(&Nfa::build(ast, &contains, classes.num_classes)?)?;
            minimise_states(&mut transducer);
            Ok(transducer)
        };
        let steps = asts.iter().map(step).collect::<Result<Vec<_>, Unsupported>>()?;
        Self::one_pass(classes, chain(&steps)?)
    }

    fn one_pass(mut classes: Classes, mut transducer: Transducer) -> Result<Self, Unsupported> {
        classes.remap(&minimise(&mut transducer));
        let safe_pairs = SafePairs::of(&transducer);
        let engine = Engine::OnePass(Box::new(OnePass::new(transducer, &classes)?), safe_pairs);
        Ok(Machine { classes, engine })
    }

    /// Calls `piece(start, end)` for each match in order; gaps between the calls are unmatched text.
    pub fn for_each(&self, text: &str, mut piece: impl FnMut(usize, usize)) {
        let mut cursor = Cursor::default();
        let mut spans = [Span::default(); 256];
        while !cursor.is_done() {
            let count = self.fill(text, &mut cursor, &mut spans);
            for span in &spans[..count] {
                piece(span.start, span.end);
            }
        }
    }

    /// Writes the next matches into `spans` and says how many: none only at the end of the text.
    ///
    /// Work is in proportion to the text covered, but for a pattern that is not `is_one_pass`, where the first
    /// call reads the whole text once and keeps two bytes a character in the cursor.
    pub fn fill(&self, text: &str, cursor: &mut Cursor, spans: &mut [Span]) -> usize {
        match &self.engine {
            Engine::OnePass(engine, safe_pairs) => {
                engine.fill(&self.classes, safe_pairs, text, &mut cursor.one_pass, spans)
            }
            Engine::TwoPass(engine) => engine.fill(&self.classes, text, &mut cursor.two_pass, spans),
        }
    }

    /// A position `p` in `from..=from + window` where the text may be cut: the pieces of `text` are those of
    /// `text[..p]` and then those of `text[p..]`. None if the machine knows of none there.
    pub fn safe_split(&self, text: &str, from: usize, window: usize) -> Option<usize> {
        match &self.engine {
            Engine::OnePass(_, safe_pairs) => safe_pairs.find(&self.classes, text, from, window),
            Engine::TwoPass(_) => None,
        }
    }

    pub fn num_states(&self) -> usize {
        match &self.engine {
            Engine::OnePass(engine, _) => engine.num_states(),
            Engine::TwoPass(engine) => engine.num_states(),
        }
    }

    pub fn num_classes(&self) -> usize {
        self.classes.num_classes
    }

    /// How many pairs of classes are safe to cut between, of `num_classes²`.
    pub fn num_safe_pairs(&self) -> usize {
        match &self.engine {
            Engine::OnePass(_, safe_pairs) => safe_pairs.count(),
            Engine::TwoPass(_) => 0,
        }
    }

    /// Whether one pass over the text is enough.
    pub fn is_one_pass(&self) -> bool {
        matches!(self.engine, Engine::OnePass(..))
    }

    /// A character of each class: texts over these reach every transition.
    pub fn representatives(&self) -> &[char] {
        &self.classes.representatives
    }
}

/// The tree of a pattern of pieces, none of which may be empty.
fn parse_piece(pattern: &str, sets: &mut Vec<CharSet>) -> Result<Ast, Unsupported> {
    let ast = parse(pattern, sets)?;
    if ast.nullable() { Err(Unsupported::EmptyMatch) } else { Ok(ast) }
}
