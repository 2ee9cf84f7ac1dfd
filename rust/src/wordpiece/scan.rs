//! Text → words, normalized, in one pass: 64 bytes at a time where they are ASCII, else character by character.
//!
//! The words lie in one buffer as the vocabulary spells them. Equal to `Bert::normalize` and then `bert::words`: see
//! `a_scan_equals_the_plain_rules`.

use super::bert::{Action, Actions, words};
use super::block::{BLOCK, Masks, classify};
use crate::error::Result;

/// Words that are handed on at once.
const BATCH: usize = 1024;
/// Bytes of the buffer after which words are handed on though they are few.
const BATCH_BYTES: usize = 1 << 15;
/// What one step writes at most, and room to read 16 bytes at every word.
const ROOM: usize = 2 * BLOCK;
/// Places that are written at once, though there may be fewer: no branch to foresee.
const STEP: usize = 8;

/// Where words begin and where they end in the buffer, as many of the one as of the other.
#[derive(Debug, Clone, Copy)]
pub struct Places<'p> {
    starts: &'p [u32],
    ends: &'p [u32],
}

impl<'p> Places<'p> {
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = (usize, usize)> + 'p {
        self.starts.iter().zip(self.ends).map(|(&start, &end)| (start as usize, end as usize))
    }

    pub fn count(self) -> usize {
        self.starts.len()
    }

    pub fn chunks(self, size: usize) -> impl Iterator<Item = Self> {
        self.starts.chunks(size).zip(self.ends.chunks(size)).map(|(starts, ends)| Self { starts, ends })
    }
}

/// Words that were found and not yet handed on.
#[derive(Debug)]
pub struct Words {
    buffer: Vec<u8>,
    end: usize,
    /// Of the words that have ended, and where the open one begins.
    starts: Vec<u32>,
    ends: Vec<u32>,
    num_words: usize,
    /// A word goes on.
    is_open: bool,
    /// Where it begins in the text.
    source: usize,
    /// A character of it depends on its neighbours.
    is_hard: bool,
}

impl Default for Words {
    fn default() -> Self {
        let places = vec![0; BATCH + 1 + BLOCK + STEP];
        Self {
            buffer: Vec::new(),
            end: 0,
            starts: places.clone(),
            ends: places,
            num_words: 0,
            is_open: false,
            source: 0,
            is_hard: false,
        }
    }
}

/// Calls `sink` with the words of `text`, some at a time: the buffer and their places in it.
pub fn for_each_batch(
    text: &str,
    actions: &Actions,
    found: &mut Words,
    sink: &mut impl FnMut(&[u8], Places) -> Result<()>,
) -> Result<()> {
    // An error may have left some behind.
    (found.end, found.num_words, found.is_open, found.is_hard) = (0, 0, false, false);
    let lowercase = actions.bert().lowercase;
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if found.is_full() {
            found.hand_on(sink)?;
        }
        if !found.is_hard {
            at += found.take_block(bytes, at, lowercase);
        }
        if at < bytes.len() && !found.is_full() {
            at = found.take_characters(text, at, actions);
        }
    }
    found.close(text, text.len(), actions);
    found.hand_on(sink)
}

impl Words {
    fn is_full(&self) -> bool {
        self.num_words >= BATCH || self.end >= BATCH_BYTES && (!self.is_open || self.num_words > 0)
    }

    fn hand_on(&mut self, sink: &mut impl FnMut(&[u8], Places) -> Result<()>) -> Result<()> {
        let starts = self.starts.get(..self.num_words).unwrap_or_default();
        let ends = self.ends.get(..self.num_words).unwrap_or_default();
        let result = sink(&self.buffer, Places { starts, ends });
        // An open word is moved once at most: after this there are no others until it ends.
        let start = if self.is_open { self.open_start() } else { self.end };
        self.num_words = 0;
        self.set_start(0);
        self.buffer.copy_within(start..self.end, 0);
        self.end -= start;
        result
    }

    /// Where the open word begins in the buffer.
    fn open_start(&self) -> usize {
        self.starts.get(self.num_words).map_or(0, |&start| start as usize)
    }

    #[inline]
    fn set_start(&mut self, start: usize) {
        if let Some(place) = self.starts.get_mut(self.num_words) {
            *place = start as u32;
        }
    }

    fn make_room(&mut self) {
        if self.buffer.len() < self.end + ROOM {
            self.buffer.resize((self.end + ROOM).next_power_of_two(), 0);
        }
    }

    /// Ends the word that `set_start` has begun.
    #[inline]
    fn push(&mut self, end: usize) {
        if let Some(place) = self.ends.get_mut(self.num_words) {
            *place = end as u32;
        }
        self.num_words += 1;
        if self.num_words == self.starts.len() {
            // Only where the plain rules found very many in one word.
            self.starts.resize(2 * self.num_words, 0);
            self.ends.resize(2 * self.num_words, 0);
        }
    }

    /// Takes the bytes from `at` on as far as they are plain, 64 at the most, and says how many.
    #[inline]
    fn take_block(&mut self, bytes: &[u8], at: usize, lowercase: bool) -> usize {
        self.make_room();
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(copy) = self.buffer.get_mut(self.end..).and_then(|free| free.first_chunk_mut()) else { return 0 };
        let (masks, limit) = match rest.first_chunk() {
            Some(block) => (classify(block, lowercase, copy), BLOCK),
            None => {
                let mut block = [b' '; BLOCK];
                block.iter_mut().zip(rest).for_each(|(to, &from)| *to = from);
                (classify(&block, lowercase, copy), rest.len())
            }
        };
        let length = limit.min(masks.others.trailing_zeros() as usize);
        if length > 0 {
            self.take_masked(masks, length, at);
        }
        length
    }

    #[inline]
    fn take_masked(&mut self, Masks { letters, alone, .. }: Masks, length: usize, at: usize) {
        let within = u64::MAX >> (BLOCK - length);
        let (letters, alone) = (letters & within, alone & within);
        let behind_letters = letters << 1 | u64::from(self.is_open);
        let starts = letters & !behind_letters | alone;
        let ends = !letters & behind_letters & within | alone << 1;
        // What stands alone in the last place ends at 64, which is where an empty mask has its first bit.
        let num_ends = ends.count_ones() as usize + (alone >> (BLOCK - 1)) as usize;
        let num_starts = starts.count_ones() as usize;
        let base = self.end as u32;
        write(&mut self.starts, self.num_words + usize::from(self.is_open), starts, num_starts, base);
        write(&mut self.ends, self.num_words, ends, num_ends, base);
        if num_starts > 0 {
            self.source = at + (BLOCK - 1) - starts.leading_zeros() as usize;
        }
        self.is_open = letters >> (length - 1) & 1 == 1;
        self.num_words += num_ends;
        self.end += length;
    }

    /// Takes characters from `at` on, at least one, until blocks can go on, and says where that is.
    fn take_characters(&mut self, text: &str, mut at: usize, actions: &Actions) -> usize {
        let bytes = text.as_bytes();
        while let Some((character, length)) = decode(bytes, at) {
            self.make_room();
            match actions.of(character) {
                Action::Letters { bytes, length } => {
                    if let Some(copy) = self.buffer.get_mut(self.end..).and_then(|free| free.first_chunk_mut()) {
                        *copy = bytes;
                    }
                    self.extend(length, at);
                }
                Action::Long { start, length } => {
                    let letters = actions.long(character, start, length);
                    if let Some(copy) = self.buffer.get_mut(self.end..self.end + length) {
                        copy.copy_from_slice(letters);
                    }
                    self.extend(length, at);
                }
                Action::Space => self.close(text, at, actions),
                Action::Alone { bytes, length } => {
                    self.close(text, at, actions);
                    if let Some(copy) = self.buffer.get_mut(self.end..).and_then(|free| free.first_chunk_mut()) {
                        *copy = bytes;
                    }
                    self.set_start(self.end);
                    self.push(self.end + length);
                    self.end += length;
                }
                Action::Neighbours => {
                    self.open(at);
                    self.is_hard = true;
                }
            }
            at += length;
            if self.is_full() || !self.is_hard && is_ascii_ahead(bytes, at) {
                break;
            }
        }
        at
    }

    /// `length` bytes at the end of the buffer are letters.
    #[inline]
    fn extend(&mut self, length: usize, at: usize) {
        if length > 0 {
            self.open(at);
        }
        self.end += length;
    }

    #[inline]
    fn open(&mut self, at: usize) {
        if !self.is_open {
            self.set_start(self.end);
            (self.is_open, self.source) = (true, at);
        }
    }

    /// Ends the open word before `text[at..]`.
    #[inline]
    fn close(&mut self, text: &str, at: usize, actions: &Actions) {
        if self.is_hard {
            self.close_plainly(text, at, actions);
        } else if self.is_open {
            self.is_open = false;
            self.push(self.end);
            self.make_room();
        }
    }

    /// The open word again, by the plain rules: they may make several of it.
    #[cold]
    fn close_plainly(&mut self, text: &str, at: usize, actions: &Actions) {
        let start = self.open_start();
        (self.is_hard, self.is_open) = (false, false);
        let normalized = actions.bert().normalize(text.get(self.source..at).unwrap_or_default());
        self.end = start + normalized.len();
        self.make_room();
        if let Some(copy) = self.buffer.get_mut(start..self.end) {
            copy.copy_from_slice(normalized.as_bytes());
        }
        for word in words(&normalized) {
            self.set_start(start + word.start);
            self.push(start + word.end);
        }
    }
}

/// Writes the places of the `count` lowest bits of `mask`, counted from `base`, to `places[from..]`. What it writes beyond
/// them means nothing.
#[inline]
fn write(places: &mut [u32], from: usize, mut mask: u64, count: usize, base: u32) {
    let (steps, _) = places.get_mut(from..).unwrap_or_default().as_chunks_mut::<STEP>();
    for step in steps.iter_mut().take(count.div_ceil(STEP)) {
        for place in step {
            *place = base.wrapping_add(mask.trailing_zeros());
            mask &= mask.wrapping_sub(1);
        }
    }
}

/// The character at `at` and its length in bytes. The bytes are UTF-8.
#[inline]
fn decode(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let first = u32::from(*bytes.get(at)?);
    let next = |place: usize| bytes.get(at + place).map_or(0, |&byte| u32::from(byte & 0x3F));
    Some(match first {
        0..0x80 => (first, 1),
        0x80..0xE0 => ((first & 0x1F) << 6 | next(1), 2),
        0xE0..0xF0 => ((first & 0xF) << 12 | next(1) << 6 | next(2), 3),
        _ => ((first & 7) << 18 | next(1) << 12 | next(2) << 6 | next(3), 4),
    })
}

/// Whether it is worth going on in blocks.
#[inline]
fn is_ascii_ahead(bytes: &[u8], at: usize) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let ahead = bytes.get(at..).and_then(|rest| rest.first_chunk());
    ahead.is_some_and(|ahead| u64::from_le_bytes(*ahead) & HIGH == 0)
}

#[cfg(test)]
mod tests {
    use super::super::bert::Bert;
    use super::*;

    fn all_options() -> impl Iterator<Item = Bert> {
        (0..16u8).map(|bits| Bert {
            clean_text: bits & 1 != 0,
            handle_chinese_chars: bits & 2 != 0,
            strip_accents: bits & 4 != 0,
            lowercase: bits & 8 != 0,
        })
    }

    fn scanned(bert: Bert, text: &str, found: &mut Words) -> Vec<String> {
        let mut all = Vec::new();
        for_each_batch(text, bert.actions(), found, &mut |buffer, places| {
            let word = |(start, end)| String::from_utf8(buffer[start..end].to_vec()).expect("whole characters");
            all.extend(places.iter().map(word));
            Ok(())
        })
        .expect("the sink has no errors");
        all
    }

    fn plainly(bert: Bert, text: &str) -> Vec<String> {
        let normalized = bert.normalize(text);
        words(&normalized).into_iter().map(|word| normalized[word.start..word.end].to_owned()).collect()
    }

    #[test]
    fn a_scan_equals_the_plain_rules() {
        let characters = "abZ09_-.!  \t\n\0\u{1}\u{b}\u{7f}éÀİßΣς中字豈가각\u{301}\u{323}\u{345}\u{85}\u{a0}\u{200b}\u{fffd}\u{37e}\u{1d165}\u{1d16e}\u{16ff0}\u{e000}😀\u{1f1e6}\u{302e}\u{1dfa}\u{1e948}กำ";
        let characters: Vec<char> = characters.chars().collect();
        let mut found = Words::default();
        let mut state = 9u64;
        for round in 0..1000 {
            let mut roll = |sides: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize % sides
            };
            let length = roll(if round % 100 == 0 { 9000 } else { 150 });
            // Some with few that are not ASCII, some with many.
            let some = [2, 8, 13, characters.len()][roll(4)];
            let mut text = String::new();
            for _ in 0..length {
                let some = if roll(20) == 0 { characters.len() } else { some };
                text.push(characters[roll(some)]);
            }
            for bert in all_options() {
                assert_eq!(scanned(bert, &text, &mut found), plainly(bert, &text), "{bert:?} {text:?}");
            }
        }
    }

    #[test]
    fn actions_equal_the_plain_rules() {
        let uncased = Bert { clean_text: true, handle_chinese_chars: true, strip_accents: true, lowercase: true };
        let mut found = Words::default();
        for bert in [uncased, Bert { strip_accents: false, ..uncased }, Bert::AS_IS] {
            for number in 0..=0x10FF {
                let characters = (number * 256..).take(256).filter_map(char::from_u32);
                let text: String = characters.flat_map(|character| ['a', character, 'b', ' ']).collect();
                assert_eq!(scanned(bert, &text, &mut found), plainly(bert, &text), "{bert:?} {number:x}");
            }
        }
    }

    #[test]
    fn a_long_word_and_long_gaps_cost_one_pass() {
        let mut found = Words::default();
        let text = format!("{} {} x", "é".repeat(200_000), " \u{301}".repeat(200_000));
        assert_eq!(scanned(Bert::AS_IS, &text, &mut found), plainly(Bert::AS_IS, &text));
    }
}
