//! Where a text may be cut: pairs of classes between which splitting may start afresh.
//!
//! A pair (x, y) is safe if, from every state that reading an x leads to, the end of the text followed by
//! a fresh start on y gives the same pieces, the same next state and the same remembered positions as
//! going on with y. Checked state by state on the machine, O(states · classes); so for every text and
//! every cut, pieces(text) = pieces(text[..p]) and then pieces(text[p..]).

use super::classes::Classes;
use super::determinise::{Piece, Position, Transducer};
use super::minimise::{BASE, live_positions};

#[derive(Debug, Clone)]
pub(super) struct SafePairs {
    /// By class before and class behind the cut.
    safe: Vec<bool>,
}

impl SafePairs {
    pub fn of(transducer: &Transducer) -> Self {
        let num_classes = transducer.transitions.first().map_or(0, Vec::len);
        let live = live_positions(transducer);
        let mut safe = vec![true; num_classes * num_classes];
        let mut seen = vec![false; transducer.ends.len() * num_classes];
        for row in &transducer.transitions {
            for (before, transition) in row.iter().enumerate() {
                if std::mem::replace(&mut seen[transition.next * num_classes + before], true) {
                    continue;
                }
                for behind in 0..num_classes {
                    safe[before * num_classes + behind] &= restarts(transducer, &live, transition.next, behind);
                }
            }
        }
        SafePairs { safe }
    }

    pub fn count(&self) -> usize {
        self.safe.iter().filter(|&&safe| safe).count()
    }

    /// Whether a text may be cut between these two ASCII characters.
    #[inline]
    pub fn is_safe(&self, classes: &Classes, before: u8, behind: u8) -> bool {
        let class = |byte: u8| classes.ascii.get(usize::from(byte)).copied().map(usize::from);
        let pair = class(before).zip(class(behind)).map(|(before, behind)| before * classes.num_classes + behind);
        pair.and_then(|pair| self.safe.get(pair)).copied().unwrap_or(false)
    }

    pub fn find(&self, classes: &Classes, text: &str, from: usize, window: usize) -> Option<usize> {
        let last = from.saturating_add(window).min(text.len().checked_sub(1)?);
        let first = (from.max(1)..=last).find(|&at| text.is_char_boundary(at))?;
        let mut before = classes.of(text[..first].chars().next_back()?);
        for (offset, c) in text[first..].char_indices() {
            let at = first + offset;
            if at > last {
                return None;
            }
            let class = classes.of(c);
            if self.safe[usize::from(before) * classes.num_classes + usize::from(class)] {
                return Some(at);
            }
            before = class;
        }
        None
    }
}

/// Whether going on from `state` with `class` equals an end of text there and a fresh start.
fn restarts(transducer: &Transducer, live: &[u32], state: usize, class: usize) -> bool {
    let (on, fresh) = (&transducer.transitions[state][class], &transducer.transitions[0][class]);
    let (pieces, base) = resolve(&on.pieces);
    // A fresh start finds no piece before its second character, so the end must have given them all.
    let (ended, _) = resolve(&transducer.ends[state]);
    let needed = live[on.next];
    let kept = needed & !BASE & !on.moves.iter().fold(0, |mask, (name, _)| mask | 1 << name);
    on.next == fresh.next
        && fresh.pieces.is_empty()
        && pieces == ended
        && (needed & BASE == 0 || base == Position::Now)
        && kept == 0
        && on.moves == fresh.moves
}

/// Pieces with their starts spelled out, and the end of the last one.
fn resolve(pieces: &[Piece]) -> (Vec<Piece>, Position) {
    let mut base = Position::Base;
    let mut resolved = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let start = if piece.start == Position::Base { base } else { piece.start };
        base = piece.end;
        resolved.push(Piece { start, end: piece.end });
    }
    (resolved, base)
}
