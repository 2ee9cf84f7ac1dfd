//! Transducer → the same one with fewer states and classes.
//!
//! Registers that no later piece needs are dropped (a backward fixed point), then states are merged by
//! Moore's refinement: two stay together while every class gives the same pieces, the same moves and
//! the same next block. Last, classes are merged that no state tells apart. O(states² · classes) at worst.

use std::collections::HashMap;

use super::determinise::{Piece, Position, Transducer, Transition};

/// Gives for each class its merged class, besides minimising in place.
pub(super) fn minimise(transducer: &mut Transducer) -> Vec<u8> {
    minimise_states(transducer);
    merge_classes(transducer)
}

pub(super) fn minimise_states(transducer: &mut Transducer) {
    drop_dead_registers(transducer);
    merge_states(transducer);
}

/// Set in a `Live` mask for the end of the piece before.
pub(super) const BASE: u32 = 1 << 31;

/// By state: the registers, and `BASE`, that some later piece may need.
pub(super) fn live_positions(transducer: &Transducer) -> Vec<u32> {
    let mut live: Vec<u32> = transducer.ends.iter().map(|pieces| mentioned(pieces)).collect();
    loop {
        let mut changed = false;
        for state in (0..live.len()).rev() {
            let mut needed = live[state];
            for transition in &transducer.transitions[state] {
                needed |= mentioned(&transition.pieces);
                let later = live[transition.next];
                let used = transition.moves.iter().filter(|(name, _)| later & (1 << name) != 0);
                needed |= used.fold(0, |mask, &(_, source)| mask | bit(source));
                let moved = transition.moves.iter().fold(0, |mask, (name, _)| mask | 1 << name);
                needed |= later & !BASE & !moved;
                if transition.pieces.is_empty() {
                    needed |= later & BASE;
                }
            }
            changed |= needed != live[state];
            live[state] = needed;
        }
        if !changed {
            return live;
        }
    }
}

/// What pieces are spelled with. Only the first can mean the piece before the transition by `Base`.
fn mentioned(pieces: &[Piece]) -> u32 {
    let registers = |piece: &Piece| (bit(piece.start) & !BASE) | (bit(piece.end) & !BASE);
    let base = pieces.first().map_or(0, |piece| (bit(piece.start) | bit(piece.end)) & BASE);
    pieces.iter().fold(base, |mask, piece| mask | registers(piece))
}

fn bit(position: Position) -> u32 {
    match position {
        Position::Register(name) => 1 << name,
        Position::Base => BASE,
        Position::Now | Position::Previous => 0,
    }
}

fn drop_dead_registers(transducer: &mut Transducer) {
    // Here every transition sets all registers of its next state, so one that keeps its value is no move.
    for transition in transducer.transitions.iter_mut().flatten() {
        transition.moves.retain(|&(name, source)| source != Position::Register(name));
    }
    let live = live_positions(transducer);
    for transition in transducer.transitions.iter_mut().flatten() {
        transition.moves.retain(|(name, _)| live[transition.next] & (1 << name) != 0);
    }
}

fn merge_states(transducer: &mut Transducer) {
    let mut block = vec![0; transducer.ends.len()];
    let mut num_blocks = 1;
    loop {
        // By end pieces and transitions into blocks: a refinement, since the old block is part of the key.
        let mut number_by_key: HashMap<(usize, &[Piece], Vec<Transition>), usize> = HashMap::new();
        let mut refined = Vec::with_capacity(block.len());
        for (state, row) in transducer.transitions.iter().enumerate() {
            let row = row.iter().map(|to| Transition { next: block[to.next], ..to.clone() }).collect();
            let fresh = number_by_key.len();
            refined.push(*number_by_key.entry((block[state], &transducer.ends[state], row)).or_insert(fresh));
        }
        let count = number_by_key.len();
        block = refined;
        if count == num_blocks {
            break;
        }
        num_blocks = count;
    }
    let mut transitions = Vec::with_capacity(num_blocks);
    let mut ends = Vec::with_capacity(num_blocks);
    for state in 0..block.len() {
        // Blocks are numbered in order of their first state.
        if block[state] == transitions.len() {
            let row = &transducer.transitions[state];
            transitions.push(row.iter().map(|to| Transition { next: block[to.next], ..to.clone() }).collect());
            ends.push(transducer.ends[state].clone());
        }
    }
    *transducer = Transducer { transitions, ends };
}

fn merge_classes(transducer: &mut Transducer) -> Vec<u8> {
    let num_classes = transducer.transitions.first().map_or(0, Vec::len);
    let mut kept: Vec<usize> = Vec::new();
    let mut merged = Vec::with_capacity(num_classes);
    for class in 0..num_classes {
        let same = |&other: &usize| transducer.transitions.iter().all(|row| row[class] == row[other]);
        let position = kept.iter().position(same).unwrap_or_else(|| {
            kept.push(class);
            kept.len() - 1
        });
        merged.push(position as u8);
    }
    for row in &mut transducer.transitions {
        *row = kept.iter().map(|&class| row[class].clone()).collect();
    }
    merged
}
