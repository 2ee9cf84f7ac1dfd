//! A transducer as a table, and the loop that runs it.
//!
//! Each character is read once: a class look-up, a table look-up, and a store that counts only where a piece
//! ends. Two ASCII characters go in one step, through a table of pairs of classes, since what limits the speed is
//! that each look-up waits for the one before. Where a boundary lies further behind the entry is marked, and a short
//! action resolves it from a few remembered positions. Linear for every input, constant memory.

use super::classes::Classes;
use super::determinise::{MAX_REGISTERS, Piece, Position, Transducer, Transition};
use super::dfa::{Span, Unsupported};

/// An entry of a table: the next row, how many pieces end here, and for two characters at once where: one place behind
/// the first, two bits each for the first end and the last.
const ROW: u32 = (1 << NUM_CUTS) - 1;
const NUM_CUTS: u32 = 24;
const FIRST_CUT: u32 = 26;
const LAST_CUT: u32 = 28;
/// In place of the cuts: an action must do what the entry cannot say.
const ACTS: u32 = 1 << 31;
/// Entries that a table of pairs may have.
const MAX_PAIRS: usize = 1 << 16;

#[derive(Debug, Clone)]
pub(super) struct OnePass {
    /// By row and class. A row is a state times the stride, so the way from row to row is one addition and one load.
    table: Vec<u32>,
    /// The same for two ASCII characters, by row and both classes. Empty where that would be too large.
    pairs: Vec<u32>,
    stride: usize,
    /// What a byte adds to a row of `pairs`, as the first of two and as the second. All that is not ASCII has one class,
    /// whose entries act.
    pair_offsets: [(u16, u16); 256],
    /// By the index of `table`: the action of entries that act.
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
    pub fn new(transducer: Transducer, classes: &Classes) -> Result<Self, Unsupported> {
        let num_states = transducer.ends.len();
        let (numbers, width) = ascii_classes(classes);
        let (other, width) = (width, width + 1);
        let has_pairs = num_states * width * width <= MAX_PAIRS;
        let stride = if has_pairs { classes.num_classes.max(width * width) } else { classes.num_classes };
        if num_states * stride > ROW as usize {
            return Err(Unsupported::TooLarge("over 2^24 transitions"));
        }
        let mut table = vec![0; num_states * stride];
        let mut action_by_entry = vec![0; table.len()];
        let mut actions: Vec<Action> = Vec::new();
        for (state, transitions) in transducer.transitions.iter().enumerate() {
            for (class, transition) in transitions.iter().enumerate() {
                let at = state * stride + class;
                table[at] = (transition.next * stride) as u32;
                match cuts(transition).as_deref() {
                    Some([]) => {}
                    Some([NOW]) => table[at] |= 1 << NUM_CUTS,
                    _ => {
                        let Transition { pieces, moves, .. } = transition.clone();
                        let action = Action { pieces, moves };
                        let number = actions.iter().position(|known| *known == action).unwrap_or_else(|| {
                            actions.push(action);
                            actions.len() - 1
                        });
                        table[at] |= ACTS;
                        action_by_entry[at] =
                            u16::try_from(number).map_err(|_| Unsupported::TooLarge("over 65536 actions"))?;
                    }
                }
            }
        }
        let mut pairs = vec![ACTS; if has_pairs { table.len() } else { 0 }];
        for (state, row) in pairs.chunks_exact_mut(stride).enumerate() {
            for (&offset, first) in numbers.iter().zip(&transducer.transitions[state]) {
                for (&next, second) in numbers.iter().zip(&transducer.transitions[first.next]) {
                    if offset != other && next != other {
                        row[offset * width + next] = (second.next * stride) as u32 | pair_of(first, second);
                    }
                }
            }
        }
        let pair_offsets = std::array::from_fn(|byte| {
            let offset = classes.ascii.get(byte).map_or(other, |&class| numbers[usize::from(class)]);
            ((offset * width) as u16, offset as u16)
        });
        Ok(OnePass { table, pairs, stride, pair_offsets, action_by_entry, actions, ends: transducer.ends })
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
            // The character before must be of one byte, for an end may lie in front of it.
            if at == previous + 1 {
                (at, row, base, count) = self.fill_by_two(bytes, (at, row, base, count), spans);
                previous = at.wrapping_sub(1);
                if count == spans.len() {
                    break;
                }
            }
            let Some(&byte) = bytes.get(at) else {
                if !run.at_end {
                    run.at_end = true;
                    let now = Now { at, previous, base };
                    (base, count) = emit(&self.ends[row / self.stride], now, spans, count, run);
                }
                break;
            };
            let (class, len) = match classes.ascii.get(usize::from(byte)) {
                Some(&class) => (class, 1),
                None => classes.of_multibyte(bytes, at),
            };
            let index = row + usize::from(class);
            let entry = self.table[index];
            if entry & ACTS == 0 {
                // Stored in any case and counted if it is one: cheaper than a branch that guesses wrong.
                spans[count] = Span { start: base, end: at };
                let num_cuts = (entry >> NUM_CUTS) as usize;
                count += num_cuts;
                base = if num_cuts > 0 { at } else { base };
            } else {
                let action = &self.actions[usize::from(self.action_by_entry[index])];
                let now = Now { at, previous, base };
                (base, count) = emit(&action.pieces, now, spans, count, run);
                let before = run.registers;
                for &(name, source) in &action.moves {
                    run.registers[usize::from(name)] = now.resolve(source, &before);
                }
            }
            row = (entry & ROW) as usize;
            previous = at;
            at += len;
        }
        (run.at, run.row, run.base, run.previous) = (at, row, base, previous);
        count
    }

    /// Reads two ASCII characters a step, up to the first step that is none or that acts.
    #[inline]
    fn fill_by_two(
        &self,
        bytes: &[u8],
        (mut at, mut row, mut base, mut count): (usize, usize, usize, usize),
        spans: &mut [Span],
    ) -> (usize, usize, usize, usize) {
        while let Some(&[first, second]) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            let offset = self.pair_offsets[usize::from(first)].0 + self.pair_offsets[usize::from(second)].1;
            let Some(&entry) = self.pairs.get(row + usize::from(offset)) else { break };
            let Some([one, other]) = spans.get_mut(count..).and_then(|free| free.first_chunk_mut()) else { break };
            if entry & ACTS != 0 {
                break;
            }
            // Stored in any case, and so many counted.
            let place = |shift: u32| at + (entry >> shift & 3) as usize - 1;
            let (first_end, last_end) = (place(FIRST_CUT), place(LAST_CUT));
            *one = Span { start: base, end: first_end };
            *other = Span { start: first_end, end: last_end };
            let num_cuts = (entry >> NUM_CUTS & 3) as usize;
            count += num_cuts;
            base = if num_cuts > 0 { last_end } else { base };
            row = (entry & ROW) as usize;
            at += 2;
        }
        (at, row, base, count)
    }
}

/// By class a number, the lowest for those of ASCII characters, and how many of these there are: the number of others.
fn ascii_classes(classes: &Classes) -> (Vec<usize>, usize) {
    let mut is_ascii = vec![false; classes.num_classes];
    classes.ascii.iter().for_each(|&class| is_ascii[usize::from(class)] = true);
    let count = is_ascii.iter().filter(|&&is_ascii| is_ascii).count();
    let mut numbers = 0..count;
    (is_ascii.iter().map(|&is_ascii| if is_ascii { numbers.next().unwrap_or(count) } else { count }).collect(), count)
}

/// Ends of pieces relative to the character before the one that is read, where that has one byte.
const PREVIOUS: u32 = 0;
const NOW: u32 = 1;

/// Where pieces end at a transition that does nothing else and leaves out no text. None for others.
fn cuts(transition: &Transition) -> Option<Vec<u32>> {
    let is_end = |piece: &Piece| match piece {
        Piece { start: Position::Base, end: Position::Previous } => Some(PREVIOUS),
        Piece { start: Position::Base, end: Position::Now } => Some(NOW),
        _ => None,
    };
    if transition.moves.is_empty() { transition.pieces.iter().map(is_end).collect() } else { None }
}

/// What an entry says of two transitions in turn, besides the row.
fn pair_of(first: &Transition, second: &Transition) -> u32 {
    let Some((mut ends, later)) = cuts(first).zip(cuts(second)) else { return ACTS };
    ends.extend(later.iter().map(|end| end + 1));
    match ends[..] {
        [] => 0,
        [end] => 1 << NUM_CUTS | end << FIRST_CUT | end << LAST_CUT,
        [end, last] => 2 << NUM_CUTS | end << FIRST_CUT | last << LAST_CUT,
        _ => ACTS,
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
