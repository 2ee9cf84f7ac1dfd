//! Piece counts: the distinct pieces of a corpus, how often each occurs and where it was first seen.
//!
//! An open-addressing index of 8-byte cells over a dense list of entries, one probe for most adds.
//! A piece of up to 15 bytes is kept inside its entry, so that it is compared as two words; longer
//! ones share one buffer. Equal to a map from piece to (count, smallest position): sums and minima
//! do not depend on the order of the adds, so counts of shards merge into the counts of the whole.

use std::cmp::Reverse;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::error::{Error, Result};
use crate::pieces::{Added, Part, Pipeline};
use crate::pulse::Pulse;

/// Where a piece starts: which document, and at which byte of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub document: u64,
    pub offset: u64,
}

/// One distinct piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedPiece<'a> {
    pub bytes: &'a [u8],
    pub count: u64,
    pub first_seen: Position,
}

/// Distinct pieces of a corpus with how often each occurs and where it was first seen.
#[derive(Clone)]
pub struct PieceCounts {
    /// Each cell is 0 or (upper half of the hash, entry number + 1); a power of two of them.
    cells: Vec<u64>,
    entries: Vec<Entry>,
    /// The bytes of the pieces that do not fit into a key.
    long_pieces: Vec<u8>,
    hasher: RandomState,
}

#[derive(Clone, Copy)]
struct Entry {
    key: Key,
    count: u64,
    first_seen: Position,
}

/// Up to 15 bytes and their number in the last one; or a place and a length in `long_pieces`, the
/// place in the lower eight bytes, the length in the next seven, and `LONG` in the last.
type Key = [u8; 16];

const SHORT: usize = 15;
const LONG: u8 = 0xFF;
const ENTRY_BITS: u64 = 0xFFFF_FFFF;

impl Default for PieceCounts {
    fn default() -> Self {
        Self::new()
    }
}

impl PieceCounts {
    pub fn new() -> Self {
        Self {
            cells: vec![0; 1024],
            entries: Vec::new(),
            long_pieces: Vec::new(),
            // Seeded at random against chosen collisions; no result depends on it, because the
            // entries are listed in the order of their first add.
            hasher: RandomState::default(),
        }
    }

    /// Number of distinct pieces.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Counts `piece` `count` times more, first seen at `seen` or earlier.
    #[inline] // once for every piece of the corpus
    pub fn add(&mut self, piece: &[u8], count: u64, seen: Position) -> Result<()> {
        if piece.len() <= SHORT {
            let key = short_key(piece);
            let hash = self.hasher.hash_one(u128::from_le_bytes(key));
            self.add_hashed(hash, count, seen, |entry, _| entry.key == key, |_| key)
        } else {
            self.add_long(piece, count, seen)
        }
    }

    /// Adds all of `other`: counts are summed, the earlier position is kept.
    pub fn merge(&mut self, other: PieceCounts) -> Result<()> {
        other.iter().try_for_each(|piece| self.add(piece.bytes, piece.count, piece.first_seen))
    }

    /// The pieces in the order of their first add.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = CountedPiece<'_>> {
        self.entries.iter().map(|entry| CountedPiece {
            bytes: bytes_of(&entry.key, &self.long_pieces),
            count: entry.count,
            first_seen: entry.first_seen,
        })
    }

    /// The pieces from the most to the least frequent, equal counts by their bytes.
    pub fn sorted_by_count(&self) -> Vec<CountedPiece<'_>> {
        let mut pieces: Vec<_> = self.iter().collect();
        // The first eight bytes, as a number kept beside, decide nearly always.
        pieces.sort_by_cached_key(|piece| (Reverse(piece.count), prefix(piece.bytes), piece.bytes));
        pieces
    }

    /// The pieces in the order of the corpus, whatever the order of the adds.
    pub fn sorted_by_first_seen(&self) -> Vec<CountedPiece<'_>> {
        let mut pieces: Vec<_> = self.iter().collect();
        pieces.sort_unstable_by_key(|piece| (piece.first_seen, piece.bytes));
        pieces
    }

    #[cold]
    fn add_long(&mut self, piece: &[u8], count: u64, seen: Position) -> Result<()> {
        let hash = self.hasher.hash_one(piece);
        let is_piece = |entry: &Entry, long_pieces: &[u8]| bytes_of(&entry.key, long_pieces) == piece;
        self.add_hashed(hash, count, seen, is_piece, |long_pieces| {
            let mut key = [0; 16];
            key[..8].copy_from_slice(&(long_pieces.len() as u64).to_le_bytes());
            key[8..].copy_from_slice(&(piece.len() as u64).to_le_bytes());
            key[SHORT] = LONG;
            long_pieces.extend_from_slice(piece);
            key
        })
    }

    #[inline]
    fn add_hashed(
        &mut self,
        hash: u64,
        count: u64,
        seen: Position,
        is_piece: impl Fn(&Entry, &[u8]) -> bool,
        new_key: impl FnOnce(&mut Vec<u8>) -> Key,
    ) -> Result<()> {
        let mask = self.cells.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let cell = self.cells[place];
            if cell == 0 {
                break;
            }
            if (cell ^ hash) & !ENTRY_BITS == 0 {
                let entry = &mut self.entries[(cell & ENTRY_BITS) as usize - 1];
                if is_piece(entry, &self.long_pieces) {
                    entry.count = entry.count.checked_add(count).ok_or_else(count_overflow)?;
                    entry.first_seen = entry.first_seen.min(seen);
                    return Ok(());
                }
            }
            place = (place + 1) & mask;
        }
        if self.entries.len() as u64 >= ENTRY_BITS - 1 {
            return Err(Error::Training("piece counts: expected fewer than 2^32 distinct pieces, found more".into()));
        }
        let key = new_key(&mut self.long_pieces);
        self.entries.push(Entry { key, count, first_seen: seen });
        self.cells[place] = hash & !ENTRY_BITS | self.entries.len() as u64;
        if self.entries.len() * 2 > self.cells.len() {
            self.grow();
        }
        Ok(())
    }

    #[cold]
    fn grow(&mut self) {
        let mask = self.cells.len() * 4 - 1;
        self.cells = vec![0; mask + 1];
        for (number, entry) in self.entries.iter().enumerate() {
            let hash = match entry.key[SHORT] {
                LONG => self.hasher.hash_one(bytes_of(&entry.key, &self.long_pieces)),
                _ => self.hasher.hash_one(u128::from_le_bytes(entry.key)),
            };
            let mut place = hash as usize & mask;
            while self.cells[place] != 0 {
                place = (place + 1) & mask;
            }
            self.cells[place] = hash & !ENTRY_BITS | (number as u64 + 1);
        }
    }
}

fn count_overflow() -> Error {
    Error::Training("piece counts: expected each count to stay below 2^64, found a larger one".into())
}

/// Packs a piece of at most 15 bytes with two overlapping loads instead of a copy of unknown length.
#[inline]
fn short_key(piece: &[u8]) -> Key {
    let length = piece.len();
    let bytes = match (piece.first_chunk::<8>(), piece.last_chunk::<8>()) {
        (Some(first), Some(last)) => {
            let high = u128::from(u64::from_le_bytes(*last)) << (8 * (length - 8));
            u128::from(u64::from_le_bytes(*first)) | high
        }
        _ => u128::from(prefix(piece).swap_bytes()),
    };
    (bytes | (length as u128) << (8 * SHORT)).to_le_bytes()
}

/// The first eight bytes as a number that sorts as they do; a shorter piece is filled up with zeros.
#[inline]
pub(crate) fn prefix(bytes: &[u8]) -> u64 {
    if let Some(first) = bytes.first_chunk::<8>() {
        return u64::from_be_bytes(*first);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let low = u64::from(u32::from_be_bytes(*last)) << (8 * (8 - bytes.len()));
        return u64::from(u32::from_be_bytes(*first)) << 32 | low;
    }
    bytes.iter().rev().fold(0, |number, &byte| number >> 8 | u64::from(byte) << 56)
}

fn bytes_of<'a>(key: &'a Key, long_pieces: &'a [u8]) -> &'a [u8] {
    match key[SHORT] {
        LONG => {
            let number = u128::from_le_bytes(*key);
            let start = number as u64 as usize;
            let length = (number << 8 >> 72) as usize;
            &long_pieces[start..start + length]
        }
        length => &key[..usize::from(length)],
    }
}

/// Adds the pieces of `text`, which begins at `seen`; added tokens cut it and are not counted. `go_on` is asked now
/// and then; when it says no, `Error::Interrupted`.
pub fn add_document(
    counts: &mut PieceCounts,
    pipeline: &Pipeline,
    added: &Added,
    text: &str,
    seen: Position,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<()> {
    let mut pulse = Pulse::new(go_on);
    pipeline.for_each(text, added, &mut |part| {
        pulse.beat(part.length())?;
        let Part::Pieces { run, pieces } = part else { return Ok(()) };
        let text = run.text().as_bytes();
        pieces.iter().try_for_each(|piece| {
            let seen = Position { document: seen.document, offset: seen.offset + run.offset(piece.start) };
            counts.add(&text[piece.start..piece.end], 1, seen)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(document: u64, offset: u64) -> Position {
        Position { document, offset }
    }

    fn pieces_of_every_length() -> Vec<Vec<u8>> {
        (0..300).map(|length| (0..length).map(|i| (i * 7 + length) as u8).collect()).collect()
    }

    #[test]
    fn a_piece_of_any_length_comes_back_unchanged() {
        let mut counts = PieceCounts::new();
        for piece in pieces_of_every_length() {
            counts.add(&piece, 1, at(0, 0)).expect("small counts");
        }
        assert!(counts.iter().map(|piece| piece.bytes.to_vec()).eq(pieces_of_every_length()));
    }

    #[test]
    fn counts_are_summed_and_the_earliest_position_is_kept() {
        let mut counts = PieceCounts::new();
        for (count, seen) in [(2, at(3, 5)), (1 << 40, at(1, 9)), (3, at(1, 20))] {
            counts.add(b"word", count, seen).expect("small counts");
        }
        let word = CountedPiece { bytes: b"word", count: (1 << 40) + 5, first_seen: at(1, 9) };
        assert_eq!(counts.iter().collect::<Vec<_>>(), [word]);
    }

    #[test]
    fn pieces_that_differ_in_zeros_at_the_end_are_different() {
        let mut counts = PieceCounts::new();
        for piece in [&b""[..], b"\0", b"\0\0", b"a", b"a\0", b"a\0\0\0\0\0\0\0\0"] {
            counts.add(piece, 1, at(0, 0)).expect("small counts");
        }
        assert_eq!(counts.len(), 6);
    }

    #[test]
    fn shards_in_any_order_sum_to_the_counts_of_the_whole() {
        let mut shards: Vec<_> = (0..3).map(|_| PieceCounts::new()).collect();
        let mut whole = PieceCounts::new();
        for i in 0..20_000u64 {
            let piece = "x".repeat((i % 40) as usize) + &(i % 1009).to_string();
            let piece = piece.as_bytes();
            shards[(i % 3) as usize].add(piece, i, at(i, i)).expect("small counts");
            whole.add(piece, i, at(i, i)).expect("small counts");
        }
        let mut sum = PieceCounts::new();
        for shard in shards.into_iter().rev() {
            sum.merge(shard).expect("small counts");
        }
        assert_eq!(sum.sorted_by_first_seen(), whole.sorted_by_first_seen());
        assert_eq!(sum.sorted_by_count(), whole.sorted_by_count());
    }

    #[test]
    fn sorting_by_count_puts_frequent_pieces_first_and_equal_ones_by_bytes() {
        let mut counts = PieceCounts::new();
        for (piece, count) in [("b", 1), ("12345678b", 1), ("12345678a", 1), ("a", 1), ("c", 9)] {
            counts.add(piece.as_bytes(), count, at(0, 0)).expect("small counts");
        }
        let order: Vec<_> = counts.sorted_by_count().iter().map(|piece| piece.bytes).collect();
        assert_eq!(order, [&b"c"[..], b"12345678a", b"12345678b", b"a", b"b"]);
    }

    #[test]
    fn a_count_past_64_bits_is_an_error() {
        let mut counts = PieceCounts::new();
        counts.add(b"a", u64::MAX, at(0, 0)).expect("the largest count");
        let fault = counts.add(b"a", 1, at(0, 0)).expect_err("one too many").to_string();
        assert_eq!(fault, "piece counts: expected each count to stay below 2^64, found a larger one");
    }
}
