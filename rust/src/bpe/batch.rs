//! A batch of pieces on its way through the stages of encoding.

use std::ops::Range;

use super::cache::{WordTable, append};
use crate::packed::{hash, key};
use crate::split::Span;

/// Pieces that go through the stages together.
pub const SIZE: usize = 1024;
/// So far ahead of its look-up a piece's cache line is asked for.
pub const AHEAD: usize = 16;

#[derive(Debug)]
pub struct Batch {
    /// Keys and their hashes, by place, of the pieces that are next.
    keys: [(u128, usize); AHEAD],
    /// The ids of the pieces found at once, end to end, of which `num_found` count: stored four at a time, of which so many
    /// count, which is cheaper than to ask how many there are.
    found: Vec<u32>,
    num_found: usize,
    pub missed: Vec<Missed>,
    pub segments: Vec<Segment>,
    /// The ids of the segments, in the order in which they were found.
    pub made: Vec<u32>,
    /// The segments to merge: where they stand in the text, and in `segments`.
    pub new: Vec<Span>,
    pub new_places: Vec<usize>,
}

/// A piece that was not found at once.
#[derive(Debug, Clone)]
pub struct Missed {
    pub piece: Span,
    pub key: u128,
    pub hash: usize,
    /// So many ids found at once come before it.
    pub num_before: usize,
    pub segments: Range<usize>,
    /// Whether a table takes its ids.
    pub is_kept: bool,
}

/// A part of a missed piece that no token reaches out of.
#[derive(Debug, Clone)]
pub struct Segment {
    pub span: Span,
    /// 0 where no table takes its ids.
    pub key: u128,
    pub hash: usize,
    /// Where in `made` its ids are; empty until they are found.
    pub ids: Range<usize>,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            keys: [(0, 0); AHEAD],
            found: vec![0; 4 * SIZE],
            num_found: 0,
            missed: Vec::new(),
            segments: Vec::new(),
            made: Vec::new(),
            new: Vec::new(),
            new_places: Vec::new(),
        }
    }
}

impl Batch {
    pub fn clear(&mut self) {
        self.num_found = 0;
        self.missed.clear();
    }

    /// Works out the key of the piece at `place`, and asks for its cache line.
    #[inline]
    pub fn expect(&mut self, place: usize, text: &str, piece: Span, words: &WordTable) {
        let key = key(text.as_bytes(), piece.start, piece.end);
        let hash = hash(key);
        words.expect(hash);
        if let Some(slot) = self.keys.get_mut(place % AHEAD) {
            *slot = (key, hash);
        }
    }

    /// Key and hash of the piece at `place`, which was expected.
    #[inline]
    pub fn key(&self, place: usize) -> (u128, usize) {
        self.keys.get(place % AHEAD).copied().unwrap_or_default()
    }

    /// A piece that was found at once: the first `num_ids` of `few`.
    #[inline]
    pub fn find(&mut self, few: [u32; 4], num_ids: usize) {
        if let Some(free) = self.found.get_mut(self.num_found..self.num_found + 4) {
            free.copy_from_slice(&few);
            self.num_found += num_ids;
        }
    }

    #[cold]
    pub fn miss(&mut self, piece: Span, key: u128, hash: usize) {
        self.missed.push(Missed { piece, key, hash, num_before: self.num_found, segments: 0..0, is_kept: false });
    }

    /// The ids found at once, from one place to another or to their end.
    pub fn found(&self, start: usize, end: usize) -> &[u32] {
        self.found.get(start..end.min(self.num_found)).unwrap_or_default()
    }

    /// The ids of some segments, one by one.
    pub fn ids(&self, segments: Range<usize>) -> impl Iterator<Item = &[u32]> {
        let segments = self.segments.get(segments).unwrap_or_default();
        segments.iter().map(|segment| self.made.get(segment.ids.clone()).unwrap_or_default())
    }

    /// Adds a segment whose ids are those in `made` from `start` on.
    pub fn add_made(&mut self, start: usize) {
        let span = Span::default();
        self.segments.push(Segment { span, key: 0, hash: 0, ids: start..self.made.len() });
    }

    /// Looks for the segments that have a key, and notes those that are to merge.
    pub fn look_up_segments(&mut self, words: &WordTable) {
        self.new.clear();
        self.new_places.clear();
        for (place, segment) in self.segments.iter_mut().enumerate().filter(|(_, segment)| segment.ids.is_empty()) {
            let start = self.made.len();
            if segment.key != 0 && words.append(segment.key, segment.hash, &mut self.made) {
                segment.ids = start..self.made.len();
            } else {
                self.new.push(segment.span);
                self.new_places.push(place);
            }
        }
    }

    /// The ids of the segment that is the `number`th to merge.
    pub fn make(&mut self, number: usize, ids: &[u32], words: &mut WordTable) {
        let place = self.new_places.get(number).copied().unwrap_or_default();
        let Some(segment) = self.segments.get_mut(place) else { return };
        segment.ids = self.made.len()..self.made.len() + ids.len();
        append(&mut self.made, ids);
        if segment.key != 0 {
            words.insert(segment.key, segment.hash, ids);
        }
    }
}
