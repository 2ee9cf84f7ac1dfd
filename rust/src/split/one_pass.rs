//! A transducer as a table, and the loop that runs it.
//!
//! Each character is read once: a class look-up, a table look-up, and a store that counts only where a piece
//! ends. Two ASCII characters go in one step, through a table of pairs of classes, since what limits the speed is
//! that each look-up waits for the one before; the ends of some steps are bits of a number, so that a step costs the same
//! whether it has any. Where a boundary lies further behind the entry is marked, and a short
//! action resolves it from a few remembered positions. Linear for every input, constant memory.

use super::classes::Classes;
use super::determinise::{MAX_REGISTERS, Piece, Position, Transducer, Transition};
use super::dfa::{Span, Unsupported};
use super::safe::SafePairs;

/// An entry of a table: the next row, and a bit for each place where a piece ends: in front of the character before, of
/// this one, and where two are read, of the second.
const ROW: u32 = (1 << ENDS) - 1;
const ENDS: u32 = 24;
/// In place of the ends: an action must do what the entry cannot say.
const ACTS: u32 = 1 << 31;
/// Characters that are read before their ends are stored.
const WINDOW: usize = 60;
/// The most pieces of two windows.
const MOST: usize = 2 * WINDOW + 2;
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
                match ends(transition).filter(|ends| ends & !(1 << NOW) == 0) {
                    Some(ends) => table[at] |= ends << ENDS,
                    None => {
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
        let ends: Vec<Vec<_>> = transducer.transitions.iter().map(|row| row.iter().map(ends).collect()).collect();
        let mut pairs = vec![ACTS; if has_pairs { table.len() } else { 0 }];
        for (state, row) in pairs.chunks_exact_mut(stride).enumerate() {
            for (first, &offset) in numbers.iter().enumerate() {
                let then = transducer.transitions[state][first].next;
                for (second, &next) in numbers.iter().enumerate() {
                    if offset != other && next != other {
                        let both = ends[state][first].zip(ends[then][second]);
                        let bits = both.map_or(ACTS, |(first, second)| (first | second << 1) << ENDS);
                        let end = transducer.transitions[then][second].next;
                        row[offset * width + next] = (end * stride) as u32 | bits;
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

    pub fn fill(
        &self,
        classes: &Classes,
        safe_pairs: &SafePairs,
        text: &str,
        run: &mut Run,
        spans: &mut [Span],
    ) -> usize {
        let bytes = text.as_bytes();
        let mut count = spans.len().min(run.queued.len());
        for (span, queued) in spans.iter_mut().zip(run.queued.drain(..count)) {
            *span = queued;
        }
        // Plain locals, so that the loop keeps them in the processor's registers.
        let Run { mut at, mut row, mut base, mut previous, .. } = *run;
        // From where on to go by two stretches, and how far to wait where that led nowhere.
        let (mut next_try, mut wait) = (at, WINDOW);
        while count < spans.len() {
            if at == previous + 1 && at >= next_try {
                if spans.len() - count < MOST && spans.len() > 4 * MOST {
                    break;
                }
                let before = at;
                let state = (at, row, base, count);
                (at, row, base, count, next_try) =
                    self.fill_side_by_side((classes, safe_pairs), bytes, state, spans, run);
                previous = at - 1;
                wait = if at - before < WINDOW / 4 { (wait * 2).clamp(WINDOW, 1 << 16) } else { 0 };
                next_try += wait;
                continue;
            }
            // The character before must be of one byte, for an end may lie in front of it.
            if at == previous + 1 {
                (at, row, base, count) = self.fill_by_two(bytes, (at, row, base, count), spans, next_try);
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
                let is_end = entry >> ENDS != 0;
                count += usize::from(is_end);
                base = if is_end { at } else { base };
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

    /// Reads two stretches of ASCII in turns, two characters of each a step: while the look-up of one is under way, the other
    /// goes on. Says in the end from where on to do so again.
    #[inline(never)] // A loop of its own keeps all it needs in registers.
    fn fill_side_by_side(
        &self,
        (classes, safe_pairs): (&Classes, &SafePairs),
        bytes: &[u8],
        (at, row, mut base, mut count): (usize, usize, usize, usize),
        spans: &mut [Span],
        run: &mut Run,
    ) -> (usize, usize, usize, usize, usize) {
        let nothing = (at, row, base, count, at);
        let Some(window) = bytes.get(at..).and_then(|rest| rest.first_chunk::<{ 2 * WINDOW }>()) else {
            return nothing;
        };
        if spans.len() - count < MOST || self.pairs.is_empty() {
            return nothing;
        }
        let is_safe = |&cut: &usize| safe_pairs.is_safe(classes, window[cut - 1], window[cut]);
        let Some(cut) = (WINDOW / 4..=WINDOW / 2).rev().map(|step| 2 * step).find(is_safe) else { return nothing };
        let (mut rows, mut ends, mut size) = ([row, 0], [0; 2], 0);
        let next = |row: usize, &[first, second]: &[u8; 2]| {
            let offset = self.pair_offsets[usize::from(first)].0 + self.pair_offsets[usize::from(second)].1;
            self.pairs[row + usize::from(offset)]
        };
        let mut acts = [false; 2];
        for (one, other) in window[..cut].as_chunks().0.iter().zip(window[cut..2 * cut].as_chunks().0) {
            let entries = [next(rows[0], one), next(rows[1], other)];
            if (entries[0] | entries[1]) & ACTS != 0 {
                acts = entries.map(|entry| entry & ACTS != 0);
                break;
            }
            rows = entries.map(|entry| (entry & ROW) as usize);
            ends = [0, 1].map(|at| ends[at] | u64::from(entries[at] >> ENDS) << size);
            size += 2;
        }
        (base, count) = store(ends[0], at, base, count, spans);
        if size < cut {
            // Of the other stretch nothing counts. What acts in it is to be met alone.
            let next_try = at + size + if acts[0] { 1 } else { cut + 1 };
            return (at + size, rows[0], base, count, next_try);
        }
        let now = Now { at: at + cut, previous: at + cut - 1, base };
        (base, count) = emit(&self.ends[rows[0] / self.stride], now, spans, count, run);
        (base, count) = store(ends[1], at + cut, base, count, spans);
        (at + 2 * cut, rows[1], base, count, at + 2 * cut)
    }

    /// Reads two ASCII characters a step, up to the first step that is none or that acts, or to about `until`.
    #[inline(never)] // As above.
    fn fill_by_two(
        &self,
        bytes: &[u8],
        (mut at, mut row, mut base, mut count): (usize, usize, usize, usize),
        spans: &mut [Span],
        until: usize,
    ) -> (usize, usize, usize, usize) {
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            // A piece may end in front of each character, and of the one before.
            let size = WINDOW.min((spans.len() - count).saturating_sub(1));
            let (steps, _) = rest.get(..size).unwrap_or(rest).as_chunks();
            let (mut ends, mut num_read) = (0u64, 0);
            for &[first, second] in steps {
                let offset = self.pair_offsets[usize::from(first)].0 + self.pair_offsets[usize::from(second)].1;
                let Some(&entry) = self.pairs.get(row + usize::from(offset)).filter(|&&entry| entry & ACTS == 0) else {
                    break;
                };
                ends |= u64::from(entry >> ENDS) << num_read;
                row = (entry & ROW) as usize;
                num_read += 2;
            }
            (base, count) = store(ends, at, base, count, spans);
            at += num_read;
            if num_read < WINDOW || at >= until {
                return (at, row, base, count);
            }
        }
    }
}

/// Stores the pieces whose ends are bits, the lowest for one place in front of `at`. Gives the new base and count.
#[inline]
fn store(mut ends: u64, at: usize, mut base: usize, mut count: usize, spans: &mut [Span]) -> (usize, usize) {
    while ends != 0 {
        let end = at + ends.trailing_zeros() as usize - 1;
        spans[count] = Span { start: base, end };
        (base, count) = (end, count + 1);
        ends &= ends - 1;
    }
    (base, count)
}

/// By class a number, the lowest for those of ASCII characters, and how many of these there are: the number of others.
fn ascii_classes(classes: &Classes) -> (Vec<usize>, usize) {
    let mut is_ascii = vec![false; classes.num_classes];
    classes.ascii.iter().for_each(|&class| is_ascii[usize::from(class)] = true);
    let count = is_ascii.iter().filter(|&&is_ascii| is_ascii).count();
    let mut numbers = 0..count;
    (is_ascii.iter().map(|&is_ascii| if is_ascii { numbers.next().unwrap_or(count) } else { count }).collect(), count)
}

/// Ends of pieces relative to the character before the one that is read, where that has one byte: bits of `ENDS`.
const PREVIOUS: u32 = 0;
const NOW: u32 = 1;

/// Bits of the places where pieces end, at a transition that does nothing else and leaves out no text. None for others.
fn ends(transition: &Transition) -> Option<u32> {
    let place = |piece: &Piece| match piece {
        Piece { start: Position::Base, end: Position::Previous } => Some(PREVIOUS),
        Piece { start: Position::Base, end: Position::Now } => Some(NOW),
        _ => None,
    };
    let ends = transition.pieces.iter().try_fold(0, |ends, piece| Some(ends | 1 << place(piece)?));
    ends.filter(|_| transition.moves.is_empty())
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
