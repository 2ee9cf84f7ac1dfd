//! A transducer as a table, and the loop that runs it.
//!
//! Each byte is read once: a class look-up, a table look-up, and a store that counts only where a piece
//! ends. Where a boundary lies behind the current character the entry is marked, and a short action
//! resolves it from a few remembered positions. Linear for every input, constant memory.

use super::classes::Classes;
use super::determinise::{MAX_REGISTERS, Piece, Position, Transducer};
use super::dfa::{Span, Unsupported};

#[derive(Debug, Clone)]
pub(super) struct OnePass {
    /// By row and class: the next row. A row is a state times the number of classes; all rows are there
    /// three times, and which copy an entry leads to says what to do on the way: nothing, cut, act. So the
    /// way from row to row, which decides the speed, is one addition and one load.
    table: Vec<u32>,
    /// Where the copies for cutting and for acting begin.
    cutting: u32,
    acting: u32,
    /// By the same index: the action of entries that lead to the last copy.
    action_by_entry: Vec<u16>,
    actions: Vec<Action>,
    /// By state: the pieces that the end of the text brings.
    ends: Vec<Vec<Piece>>,
}

/// Where a run has come to.
#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    at: usize,
    row: usize,
    /// The end of the last piece.
    base: usize,
    /// The start of the character before `at`.
    previous: usize,
    registers: [usize; MAX_REGISTERS],
    /// Pieces found that the caller had no room for.
    queued: Vec<Span>,
    at_end: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Action {
    pieces: Vec<Piece>,
    moves: Vec<(u8, Position)>,
}

impl Run {
    pub fn is_done(&self) -> bool {
        self.at_end && self.queued.is_empty()
    }
}

impl OnePass {
    pub fn new(transducer: Transducer, num_classes: usize) -> Result<Self, Unsupported> {
        let num_entries = (transducer.ends.len() * num_classes) as u32;
        let (cutting, acting) = (num_entries, 2 * num_entries);
        let mut table = Vec::with_capacity(3 * num_entries as usize);
        let mut action_by_entry = Vec::with_capacity(3 * num_entries as usize);
        let mut actions: Vec<Action> = Vec::new();
        let cut = [Piece { start: Position::Base, end: Position::Now }];
        for transition in transducer.transitions.into_iter().flatten() {
            let row = (transition.next * num_classes) as u32;
            let action = Action { pieces: transition.pieces, moves: transition.moves };
            let (copy, number) = match action {
                Action { pieces, moves } if moves.is_empty() && pieces.is_empty() => (0, 0),
                Action { pieces, moves } if moves.is_empty() && pieces == cut => (cutting, 0),
                action => {
                    let number = actions.iter().position(|known| *known == action).unwrap_or_else(|| {
                        actions.push(action);
                        actions.len() - 1
                    });
                    (acting, u16::try_from(number).map_err(|_| Unsupported::TooLarge("over 65536 actions"))?)
                }
            };
            table.push(copy + row);
            action_by_entry.push(number);
        }
        let (table, action_by_entry) = (table.repeat(3), action_by_entry.repeat(3));
        Ok(OnePass { table, cutting, acting, action_by_entry, actions, ends: transducer.ends })
    }

    pub fn num_states(&self) -> usize {
        self.ends.len()
    }

    pub fn fill(&self, classes: &Classes, text: &str, run: &mut Run, spans: &mut [Span]) -> usize {
        let bytes = text.as_bytes();
        let mut count = spans.len().min(run.queued.len());
        for (span, queued) in spans.iter_mut().zip(run.queued.drain(..count)) {
            *span = queued;
        }
        // Plain locals, so that the loop keeps them in the processor's registers.
        let Run { mut at, mut row, mut base, mut previous, .. } = *run;
        while count < spans.len() {
            let Some(&byte) = bytes.get(at) else {
                if !run.at_end {
                    run.at_end = true;
                    let now = Now { at, previous, base };
                    (base, count) =
                        emit(&self.ends[row / classes.num_classes % self.ends.len()], now, spans, count, run);
                }
                break;
            };
            let (class, len) = match classes.ascii.get(usize::from(byte)) {
                Some(&class) => (class, 1),
                None => classes.of_multibyte(bytes, at),
            };
            let index = row + usize::from(class);
            let entry = self.table[index];
            if entry < self.acting {
                // Stored in any case and counted if it is one: cheaper than a branch that guesses wrong.
                spans[count] = Span { start: base, end: at };
                let cut = entry >= self.cutting;
                count += usize::from(cut);
                base = if cut { at } else { base };
            } else {
                let action = &self.actions[usize::from(self.action_by_entry[index])];
                let now = Now { at, previous, base };
                (base, count) = emit(&action.pieces, now, spans, count, run);
                let before = run.registers;
                for &(name, source) in &action.moves {
                    run.registers[usize::from(name)] = now.resolve(source, &before);
                }
            }
            row = entry as usize;
            previous = at;
            at += len;
        }
        (run.at, run.row, run.base, run.previous) = (at, row, base, previous);
        count
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
fn emit(pieces: &[Piece], mut now: Now, spans: &mut [Span], mut count: usize, run: &mut Run) -> (usize, usize) {
    for piece in pieces {
        let start = now.resolve(piece.start, &run.registers);
        let end = now.resolve(piece.end, &run.registers);
        now.base = end;
        match spans.get_mut(count) {
            Some(free) => {
                *free = Span { start, end };
                count += 1;
            }
            None => run.queued.push(Span { start, end }),
        }
    }
    (now.base, count)
}
