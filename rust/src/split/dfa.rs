//! Patterns as class DFAs: the fast splitter.
//!
//! A pattern is compiled once (`parse`, `classes`, `nfa`, `determinise`, `minimise`) into one table by
//! state and character class. Running it reads each byte once: a class look-up, a table look-up, and a
//! store that counts only where a piece ends. Where a boundary lies behind the current character, the
//! entry is marked and a short action sets it from a few remembered positions. Linear in the text for
//! every input, no recursion, no backtracking, constant memory.
//!
//! Equals repeated `fancy_regex::Regex::find_from_pos`, the mathematical answer where that engine gives
//! up; see `pieces_equal_fancy_regex`. What cannot be proven equal does not compile.

use thiserror::Error;

use super::classes::Classes;
use super::determinise::{self, MAX_REGISTERS, Piece, Position, Transducer};
use super::nfa::Nfa;
use super::safe::SafePairs;
use super::{minimise, parse};

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
    /// By row (a state times the number of classes) and class: the next row and what to do.
    table: Vec<u32>,
    /// By the same index: the action of entries marked `ACT`.
    action_by_entry: Vec<u16>,
    actions: Vec<Action>,
    /// By state: the pieces that the end of the text brings.
    ends: Vec<Vec<Piece>>,
    classes: Classes,
    safe_pairs: SafePairs,
}

/// How far a text has been split. Belongs to one text and one machine.
#[derive(Debug, Clone, Default)]
pub struct Cursor {
    at: usize,
    row: usize,
    /// The end of the last piece.
    base: usize,
    /// The start of the character before `at`.
    previous: usize,
    registers: [usize; MAX_REGISTERS],
    /// Pieces found that the caller had no room for.
    queued: Vec<Span>,
    done: bool,
}

impl Cursor {
    /// Whether the text has been split to its end.
    pub fn is_done(&self) -> bool {
        self.done && self.queued.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Action {
    pieces: Vec<Piece>,
    moves: Vec<(u8, Position)>,
}

/// In a table entry: a piece ends in front of the current character.
const CUT: u32 = 1 << 30;
/// In a table entry: there is an action to run instead.
const ACT: u32 = 1 << 31;
const ROW: u32 = CUT - 1;

impl Machine {
    /// Compiles a pattern in the syntax of fancy-regex, or says why not.
    pub fn compile(pattern: &str) -> Result<Self, Unsupported> {
        let parsed = parse::parse(pattern)?;
        if parsed.ast.nullable() {
            return Err(Unsupported::EmptyMatch);
        }
        let (mut classes, contains) = Classes::partition(&parsed.sets)?;
        let nfa = Nfa::build(&parsed.ast, &contains, classes.num_classes)?;
        let mut transducer = determinise::determinise(&nfa)?;
        classes.remap(&minimise::minimise(&mut transducer));
        Self::tabulate(transducer, classes)
    }

    pub fn num_states(&self) -> usize {
        self.ends.len()
    }

    pub fn num_classes(&self) -> usize {
        self.classes.num_classes
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

    /// Writes the next matches into `spans` and says how many; fewer than fit only at the end of the text.
    pub fn fill(&self, text: &str, cursor: &mut Cursor, spans: &mut [Span]) -> usize {
        let bytes = text.as_bytes();
        let mut count = spans.len().min(cursor.queued.len());
        for (span, queued) in spans.iter_mut().zip(cursor.queued.drain(..count)) {
            *span = queued;
        }
        let Cursor { mut at, mut row, mut base, mut previous, .. } = *cursor;
        while count < spans.len() {
            let Some(&byte) = bytes.get(at) else {
                if !cursor.done {
                    cursor.done = true;
                    let now = Now { at, previous, base };
                    let pieces = &self.ends[row / self.classes.num_classes];
                    (base, count) = emit(pieces, now, spans, count, cursor);
                }
                break;
            };
            let (class, len) = match self.classes.ascii.get(usize::from(byte)) {
                Some(&class) => (class, 1),
                None => self.class_of_multibyte(bytes, at),
            };
            let index = row + usize::from(class);
            let entry = self.table[index];
            if entry & ACT == 0 {
                // Stored in any case and counted if it is one: cheaper than a branch that guesses wrong.
                spans[count] = Span { start: base, end: at };
                let cut = entry & CUT != 0;
                count += usize::from(cut);
                base = if cut { at } else { base };
            } else {
                let action = &self.actions[usize::from(self.action_by_entry[index])];
                let now = Now { at, previous, base };
                (base, count) = emit(&action.pieces, now, spans, count, cursor);
                let before = cursor.registers;
                for &(name, source) in &action.moves {
                    cursor.registers[usize::from(name)] = now.resolve(source, &before);
                }
            }
            row = (entry & ROW) as usize;
            previous = at;
            at += len;
        }
        (cursor.at, cursor.row, cursor.base, cursor.previous) = (at, row, base, previous);
        count
    }

    /// A position `p` in `from..=from + window` where the text may be cut: the pieces of `text` are those of
    /// `text[..p]` and then those of `text[p..]`. None if the machine knows of none there.
    pub fn safe_split(&self, text: &str, from: usize, window: usize) -> Option<usize> {
        self.safe_pairs.find(&self.classes, text, from, window)
    }

    /// How many pairs of classes are safe to cut between, of `num_classes²`.
    pub fn num_safe_pairs(&self) -> usize {
        self.safe_pairs.count()
    }

    /// A character of each class: texts over these reach every transition.
    pub fn representatives(&self) -> &[char] {
        &self.classes.representatives
    }

    fn tabulate(transducer: Transducer, classes: Classes) -> Result<Self, Unsupported> {
        let safe_pairs = SafePairs::of(&transducer);
        let num_entries = transducer.ends.len() * classes.num_classes;
        let mut table = Vec::with_capacity(num_entries);
        let mut action_by_entry = Vec::with_capacity(num_entries);
        let mut actions: Vec<Action> = Vec::new();
        let cut = [Piece { start: Position::Base, end: Position::Now }];
        for transition in transducer.transitions.into_iter().flatten() {
            let row = (transition.next * classes.num_classes) as u32;
            let action = Action { pieces: transition.pieces, moves: transition.moves };
            let (flag, number) = match action {
                Action { pieces, moves } if moves.is_empty() && pieces.is_empty() => (0, 0),
                Action { pieces, moves } if moves.is_empty() && pieces == cut => (CUT, 0),
                action => {
                    let number = actions.iter().position(|known| *known == action).unwrap_or_else(|| {
                        actions.push(action);
                        actions.len() - 1
                    });
                    (ACT, u16::try_from(number).map_err(|_| Unsupported::TooLarge("over 65536 actions"))?)
                }
            };
            table.push(row | flag);
            action_by_entry.push(number);
        }
        Ok(Machine { table, action_by_entry, actions, ends: transducer.ends, classes, safe_pairs })
    }

    /// The class of the character of two to four bytes at `at`, and its length.
    fn class_of_multibyte(&self, bytes: &[u8], at: usize) -> (u8, usize) {
        let byte = |offset: usize| bytes.get(at + offset).map_or(0, |&byte| u32::from(byte));
        let tail = |offset: usize| byte(offset) & 0x3F;
        let (code_point, len) = match byte(0) {
            lead @ ..0xE0 => ((lead & 0x1F) << 6 | tail(1), 2),
            lead @ 0xE0..0xF0 => ((lead & 0x0F) << 12 | tail(1) << 6 | tail(2), 3),
            lead => ((lead & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4),
        };
        (self.classes.of_code_point(code_point), len)
    }
}

/// What positions mean at a transition, besides the registers.
#[derive(Debug, Clone, Copy)]
struct Now {
    at: usize,
    previous: usize,
    base: usize,
}

impl Now {
    fn resolve(&self, position: Position, registers: &[usize; MAX_REGISTERS]) -> usize {
        match position {
            Position::Base => self.base,
            Position::Now => self.at,
            Position::Previous => self.previous,
            Position::Register(name) => registers[usize::from(name)],
        }
    }
}

/// Resolves `pieces` in order; those that do not fit into `spans` are queued. Gives the new base and count.
fn emit(pieces: &[Piece], mut now: Now, spans: &mut [Span], mut count: usize, cursor: &mut Cursor) -> (usize, usize) {
    for piece in pieces {
        let start = now.resolve(piece.start, &cursor.registers);
        let end = now.resolve(piece.end, &cursor.registers);
        now.base = end;
        match spans.get_mut(count) {
            Some(free) => {
                *free = Span { start, end };
                count += 1;
            }
            None => cursor.queued.push(Span { start, end }),
        }
    }
    (now.base, count)
}
