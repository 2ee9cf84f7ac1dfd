//! Merges short pieces side by side, each by looking for the lowest rank among all that it has.
//!
//! A step takes the lowest rank of a piece and asks for the two ranks that come of it; while these are fetched from far,
//! the other pieces take their steps. What can be foreseen is a branch; what cannot, is arithmetic: the tokens of a piece
//! are a ring, closed by a place whose token merges with none.

use super::pairs::{NEVER, Pairs, Ranks};
use crate::error::Result;

/// Pieces merged in turns.
const SIDE_BY_SIDE: usize = 8;
/// Room for the place of a pair under its rank.
const PLACE_BITS: u32 = 6;
/// Ranks compared together.
const LANES: usize = 16;
/// The least float that is stored in full: a processor may take lesser ones for zero.
const LEAST: u32 = f32::MIN_POSITIVE.to_bits();

/// Pieces of fewer than `SIZE` bytes. A power of two, 16 to 64.
#[derive(Debug)]
pub struct Scans<const SIZE: usize>([Scan<SIZE>; SIDE_BY_SIDE]);

/// The tokens of a piece, by the place of their first byte. The last place closes the ring.
#[derive(Debug)]
struct Scan<const SIZE: usize> {
    ids: [u32; SIZE],
    /// Rank and place of the pair that begins here, in one number: the least is the leftmost of lowest rank. As the bits of
    /// a float, whose order is theirs, since every processor finds the least floats of many at once.
    ranked: [f32; SIZE],
    next: [u8; SIZE],
    previous: [u8; SIZE],
    length: usize,
    /// Where the last merge took place: the ranks beside it are under way.
    at: usize,
}

impl<const SIZE: usize> Scans<SIZE> {
    pub fn new() -> Self {
        Self(std::array::from_fn(|_| Scan::new()))
    }

    /// Merges `pieces`, each of fewer than `SIZE` bytes and with a number, and gives number and tokens of each to `done`,
    /// in any order. `ids` is room for the tokens of one.
    pub fn merge<'p>(
        &mut self,
        pairs: &Pairs,
        ranks: &impl Ranks,
        mut pieces: impl Iterator<Item = (usize, &'p [u8])>,
        ids: &mut Vec<u32>,
        mut done: impl FnMut(usize, &[u32]),
    ) -> Result<()> {
        let mut at_work = [None; SIDE_BY_SIDE];
        let mut num_at_work = 0;
        for (scan, at_work) in self.0.iter_mut().zip(&mut at_work) {
            let Some((number, piece)) = pieces.next() else { break };
            scan.start(pairs, piece)?;
            (*at_work, num_at_work) = (Some((number, piece)), num_at_work + 1);
        }
        while num_at_work > 0 {
            for (scan, at_work) in self.0.iter_mut().zip(&at_work) {
                if let Some((_, piece)) = at_work {
                    scan.learn(ranks, piece);
                }
            }
            for (scan, at_work) in self.0.iter_mut().zip(&mut at_work) {
                if let Some((number, _)) = *at_work
                    && !scan.step(pairs, ranks)
                {
                    scan.finish(ids);
                    done(number, ids);
                    *at_work = pieces.next();
                    match at_work {
                        Some((_, piece)) => scan.start(pairs, piece)?,
                        None => num_at_work -= 1,
                    }
                }
            }
        }
        Ok(())
    }
}

impl<const SIZE: usize> Scan<SIZE> {
    const END: usize = SIZE - 1;

    fn new() -> Self {
        Self {
            ids: [0; SIZE],
            ranked: [ranked(NEVER, 0); SIZE],
            next: [0; SIZE],
            previous: [0; SIZE],
            length: 0,
            at: Self::END,
        }
    }

    /// Takes up a piece: its bytes are its tokens.
    #[inline]
    fn start(&mut self, pairs: &Pairs, piece: &[u8]) -> Result<()> {
        let piece = piece.get(..Self::END).unwrap_or(piece);
        self.length = piece.len();
        self.next = std::array::from_fn(|at| at as u8 + 1);
        self.previous = std::array::from_fn(|at| (at as u8).wrapping_sub(1));
        self.ranked = [ranked(NEVER, 0); SIZE];
        for (at, &byte) in piece.iter().enumerate() {
            self.ids[at] = pairs.of_byte(byte)?;
        }
        for (at, pair) in piece.windows(2).enumerate() {
            self.ranked[at] = ranked(pairs.rank_of_bytes(pair[0], pair[1]), at);
        }
        let (first, last) = if piece.is_empty() { (Self::END, Self::END) } else { (0, piece.len() - 1) };
        (self.ids[Self::END], self.at) = (pairs.no_id(), Self::END);
        (self.next[Self::END], self.previous[first]) = (first as u8, Self::END as u8);
        (self.next[last], self.previous[Self::END]) = (Self::END as u8, last as u8);
        Ok(())
    }

    /// Takes up the ranks of the pairs beside the last merge.
    #[inline]
    fn learn(&mut self, ranks: &impl Ranks, piece: &[u8]) {
        let at = self.at % SIZE;
        for left in [usize::from(self.previous[at]) % SIZE, at] {
            let right = usize::from(self.next[left]) % SIZE;
            let joined = || {
                let end = usize::from(self.next[right]).min(piece.len());
                piece.get(left..end).filter(|_| right != Self::END).unwrap_or_default()
            };
            self.ranked[left] = ranked(ranks.rank(self.ids[left], self.ids[right], joined), left);
        }
    }

    /// Merges the leftmost pair of lowest rank; false where no pair has one.
    #[inline]
    fn step(&mut self, pairs: &Pairs, ranks: &impl Ranks) -> bool {
        let least = self.lowest().to_bits() - LEAST;
        if least >> PLACE_BITS == NEVER {
            return false;
        }
        let at = least as usize % SIZE;
        let gone = usize::from(self.next[at]) % SIZE;
        let right = usize::from(self.next[gone]) % SIZE;
        let left = usize::from(self.previous[at]) % SIZE;
        let merged = pairs.merged(least >> PLACE_BITS);
        ranks.expect(self.ids[left], merged);
        ranks.expect(merged, self.ids[right]);
        (self.ids[at], self.at) = (merged, at);
        (self.next[at], self.previous[right]) = (right as u8, at as u8);
        self.ranked[gone] = ranked(NEVER, 0);
        true
    }

    #[inline]
    fn lowest(&self) -> f32 {
        let mut least = [ranked(NEVER, 0); LANES];
        for lanes in self.ranked.as_chunks::<LANES>().0.iter().take(self.length.div_ceil(LANES)) {
            least = std::array::from_fn(|lane| lesser(lanes[lane], least[lane]));
        }
        let least: [f32; 8] = std::array::from_fn(|lane| lesser(least[lane], least[lane + 8]));
        let least: [f32; 4] = std::array::from_fn(|lane| lesser(least[lane], least[lane + 4]));
        lesser(lesser(least[0], least[2]), lesser(least[1], least[3]))
    }

    fn finish(&self, ids: &mut Vec<u32>) {
        ids.clear();
        let mut at = usize::from(self.next[Self::END]) % SIZE;
        while at != Self::END {
            ids.push(self.ids[at]);
            at = usize::from(self.next[at]) % SIZE;
        }
    }
}

/// Rank and place in one number.
#[inline]
fn ranked(rank: u32, at: usize) -> f32 {
    f32::from_bits((rank << PLACE_BITS | at as u32) + LEAST)
}

#[inline]
fn lesser(one: f32, other: f32) -> f32 {
    if one < other { one } else { other }
}
