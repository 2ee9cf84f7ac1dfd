//! A batch of pieces on its way through the stages of encoding.

use std::ops::Range;

use super::cache::{FEW, Key, WordTable, append};
use crate::split::Span;

/// Pieces that go through the stages together.
pub const SIZE: usize = 1024;
/// Pieces whose cache lines are asked for one group ahead of their look-up.
const GROUP: usize = 32;

#[derive(Debug)]
pub struct Batch {
    /// The keys of the pieces that are next and of those behind them.
    keys: [[Key; GROUP]; 2],
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
    pub key: Key,
    /// In which place of the other tables it is looked for.
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
    pub key: Key,
    /// Where in `made` its ids are; empty until they are found.
    pub ids: Range<usize>,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            keys: [[Key::default(); GROUP]; 2],
            found: vec![0; FEW * SIZE],
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
    /// Looks up all of `pieces`, `SIZE` at most. Those that are not found at once are `missed`.
    pub fn look_up(&mut self, text: &[u8], pieces: &[Span], words: &WordTable) {
        let Self { keys: [keys, next_keys], found, missed, .. } = self;
        let (mut keys, mut next_keys, mut num_found) = (keys, next_keys, 0);
        missed.clear();
        let mut groups = pieces.chunks(GROUP);
        let mut group = groups.next().unwrap_or_default();
        expect(text, group, keys, words);
        while !group.is_empty() {
            let next = groups.next().unwrap_or_default();
            expect(text, next, next_keys, words);
            let mut at = 0;
            while let Some(rest) = keys.get(at..group.len()) {
                let (num_pieces, num_ids) = words.find_few(rest, found.get_mut(num_found..).unwrap_or_default());
                (at, num_found) = (at + num_pieces, num_found + num_ids);
                let (Some(&piece), Some(&key)) = (group.get(at), keys.get(at)) else { break };
                missed.push(Missed {
                    piece,
                    key,
                    hash: key.hash,
                    num_before: num_found,
                    segments: 0..0,
                    is_kept: false,
                });
                at += 1;
            }
            std::mem::swap(&mut keys, &mut next_keys);
            group = next;
        }
        self.num_found = num_found;
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
        self.segments.push(Segment { span, key: Key::default(), ids: start..self.made.len() });
    }

    /// Looks for the segments that have a key, and notes those that are to merge.
    pub fn look_up_segments(&mut self, words: &WordTable) {
        self.new.clear();
        self.new_places.clear();
        for (place, segment) in self.segments.iter_mut().enumerate().filter(|(_, segment)| segment.ids.is_empty()) {
            let start = self.made.len();
            if words.append(segment.key, &mut self.made) {
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
        if !segment.key.is_of_none() {
            words.insert(segment.key, ids);
        }
    }
}

/// Works out the keys of `pieces`, and asks for their cache lines.
#[inline(never)] // A loop of its own keeps all it needs in registers: 2 % of all.
fn expect(text: &[u8], pieces: &[Span], keys: &mut [Key], words: &WordTable) {
    for (key, piece) in keys.iter_mut().zip(pieces) {
        *key = Key::new(text, piece.start, piece.end);
        words.expect(key.hash);
    }
}
