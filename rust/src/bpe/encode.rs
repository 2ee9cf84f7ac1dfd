//! BPE encoding: pieces → ids.
//!
//! A piece met before comes out of a table. A new one is its token, where it is one and that comes first; else it falls
//! into segments that no token reaches across, and those are merged.

use std::sync::{Mutex, OnceLock};

use super::batch::{self, Batch, Missed, Segment};
use super::boundary::Boundaries;
use super::cache::{Key, LongTable, MAX_LONG_BYTES, WordTable, append};
use super::merge::{Merger, SCAN_LIMIT};
use super::pairs::Pairs;
use crate::error::Result;
use crate::pulse::Pulse;
use crate::split::Span;
use crate::vocabulary::Vocabulary;

#[derive(Debug)]
pub struct Bpe {
    vocabulary: Vocabulary,
    pairs: Pairs,
    /// A piece that is a token is that token, whatever its merges would give.
    whole_piece_first: bool,
    /// Made when the first piece that is not ASCII asks for it.
    boundaries: OnceLock<Boundaries>,
    making: Mutex<()>,
}

/// Buffers that outlive a piece. They belong to one model: the word table holds its ids.
#[derive(Debug, Default)]
pub struct Scratch {
    words: WordTable,
    long: LongTable,
    merger: Merger,
    batch: Batch,
}

impl Bpe {
    /// tiktoken's rules: see `pairs`. `ranks` by place in the vocabulary; empty where the place is the rank.
    pub fn by_rank(vocabulary: Vocabulary, ranks: &[u32]) -> Result<Self> {
        let pairs = Pairs::by_rank(&vocabulary, ranks)?;
        Ok(Self { vocabulary, pairs, whole_piece_first: true, boundaries: OnceLock::new(), making: Mutex::default() })
    }

    /// Hugging Face's rules. `pairs` are (left id, right id), the first merged first.
    pub fn by_merges(vocabulary: Vocabulary, pairs: &[[u32; 2]], ignore_merges: bool) -> Result<Self> {
        let pairs = Pairs::by_merges(&vocabulary, pairs)?;
        Ok(Self {
            vocabulary,
            pairs,
            whole_piece_first: ignore_merges,
            boundaries: OnceLock::new(),
            making: Mutex::default(),
        })
    }

    /// Name and account of each path that merging has.
    pub fn certificate(&self) -> [(&'static str, &'static str); 4] {
        let whole = if self.whole_piece_first {
            "a piece that is a token is that token: one look-up"
        } else {
            "off: a piece is what its merges make of it"
        };
        [
            ("whole piece", whole),
            ("word table", "pieces met before, of up to 15 bytes in one cache line, of up to 256 in another table"),
            ("hard boundaries", "pieces that are not ASCII fall into segments that no token reaches across"),
            ("merging", "scanned below 64 bytes, a heap beyond, in windows from 1024: time grows as the text does"),
        ]
    }

    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Appends the ids of `pieces`, each some bytes of `text`, to `ids`. `pulse` beats within long pieces.
    pub fn encode_pieces_into(
        &self,
        text: &str,
        pieces: &[Span],
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        for pieces in pieces.chunks(batch::SIZE) {
            let Scratch { words, batch, .. } = scratch;
            batch.look_up(text.as_bytes(), pieces, words);
            if !batch.missed.is_empty() {
                self.encode_missed(text, scratch, pulse)?;
            }
            self.finish_batch(text, scratch, ids, pulse)?;
        }
        Ok(())
    }

    /// Finds the ids of the pieces that the batch misses, in stages: each asks for the memory that the next one needs, for
    /// all pieces, before that begins.
    fn encode_missed(&self, text: &str, scratch: &mut Scratch, pulse: &mut Pulse) -> Result<()> {
        let mut missed = std::mem::take(&mut scratch.batch.missed);
        scratch.batch.segments.clear();
        scratch.batch.made.clear();
        for missed in &mut missed {
            if !missed.key.is_of_none() {
                self.vocabulary.expect(missed.hash);
            } else if let Some(piece) = text.as_bytes().get(missed.piece.start..missed.piece.end)
                && piece.len() <= MAX_LONG_BYTES
            {
                missed.hash = scratch.long.hash(piece);
                scratch.long.expect(missed.hash);
            }
        }
        for missed in missed.iter().filter(|missed| missed.key.is_of_none()) {
            scratch.long.expect_data(missed.hash);
        }
        for missed in &mut missed {
            let first = scratch.batch.segments.len();
            self.look_further(text, missed, scratch, pulse)?;
            missed.segments = first..scratch.batch.segments.len();
        }
        scratch.batch.missed = missed;
        self.make_segments(text.as_bytes(), scratch)
    }

    /// Finds the ids of all segments of the batch.
    fn make_segments(&self, text: &[u8], Scratch { words, batch, merger, .. }: &mut Scratch) -> Result<()> {
        batch.look_up_segments(words);
        self.pairs.prepare(&self.vocabulary);
        let new = std::mem::take(&mut batch.new);
        let ranks = self.pairs.ranks(&self.vocabulary);
        merger.merge_many(&self.pairs, &ranks, text, &new, |number, ids| batch.make(number, ids, words))?;
        batch.new = new;
        Ok(())
    }

    /// Looks where else a piece may be found; where it is nowhere, it is cut into segments. Not for huge ones.
    fn look_further(&self, text: &str, missed: &mut Missed, scratch: &mut Scratch, pulse: &mut Pulse) -> Result<()> {
        let Missed { piece, key, hash, .. } = *missed;
        let bytes = text.as_bytes();
        let characters = text.get(piece.start..piece.end).unwrap_or_default();
        if characters.len() > MAX_LONG_BYTES {
            return Ok(());
        }
        let Scratch { words, long, batch, .. } = scratch;
        let start = batch.made.len();
        let is_known = if key.is_of_none() {
            long.append(characters.as_bytes(), hash, &mut batch.made)
        } else {
            // Of many ids.
            words.append(key, &mut batch.made)
        };
        missed.is_kept = !is_known;
        if is_known || self.append_token(bytes, piece, &mut batch.made) {
            batch.add_made(start);
        } else if characters.is_ascii() {
            self.add_segment(bytes, piece, Key::default(), scratch, pulse)?;
        } else {
            self.for_each_segment(bytes, piece, characters, &mut |segment| {
                let key = Key::new(bytes, segment.start, segment.end).of_segment();
                self.add_segment(bytes, segment, key, scratch, pulse)
            })?;
        }
        Ok(())
    }

    /// Appends the ids of the batch to `ids`, and keeps those of the pieces that it missed.
    fn finish_batch(&self, text: &str, scratch: &mut Scratch, ids: &mut Vec<u32>, pulse: &mut Pulse) -> Result<()> {
        let mut num_found = 0;
        let missed = std::mem::take(&mut scratch.batch.missed);
        for Missed { piece, key, hash, num_before, segments, is_kept } in &missed {
            ids.extend_from_slice(scratch.batch.found(num_found, *num_before));
            num_found = *num_before;
            let before = ids.len();
            let characters = text.get(piece.start..piece.end).unwrap_or_default();
            if characters.len() > MAX_LONG_BYTES {
                self.encode_huge(text.as_bytes(), *piece, characters, scratch, ids, pulse)?;
                continue;
            }
            scratch.batch.ids(segments.clone()).for_each(|segment| append(ids, segment));
            let made = ids.get(before..).unwrap_or_default();
            match key.is_of_none() {
                _ if !is_kept => {}
                true => scratch.long.insert(characters.as_bytes(), *hash, made),
                false => scratch.words.insert(*key, made),
            }
        }
        ids.extend_from_slice(scratch.batch.found(num_found, usize::MAX));
        scratch.batch.missed = missed;
        Ok(())
    }

    /// Appends the ids of a piece that no table takes, some segments at a time.
    #[cold]
    fn encode_huge(
        &self,
        text: &[u8],
        piece: Span,
        characters: &str,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        if self.append_token(text, piece, ids) {
            return Ok(());
        }
        if characters.is_ascii() {
            return self.merge(text, piece, &mut scratch.merger, ids, pulse);
        }
        let batch = std::mem::take(&mut scratch.batch);
        self.for_each_segment(text, piece, characters, &mut |segment| {
            let is_long = segment.end - segment.start >= SCAN_LIMIT;
            if is_long || scratch.batch.segments.len() == batch::SIZE {
                self.finish_segments(text, scratch, ids)?;
            }
            if is_long {
                return self.merge(text, segment, &mut scratch.merger, ids, pulse);
            }
            let key = Key::new(text, segment.start, segment.end).of_segment();
            self.add_segment(text, segment, key, scratch, pulse)
        })?;
        self.finish_segments(text, scratch, ids)?;
        scratch.batch = batch;
        Ok(())
    }

    fn finish_segments(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<()> {
        self.make_segments(text, scratch)?;
        scratch.batch.ids(0..scratch.batch.segments.len()).for_each(|segment| append(ids, segment));
        scratch.batch.segments.clear();
        scratch.batch.made.clear();
        Ok(())
    }

    fn add_segment(&self, text: &[u8], span: Span, key: Key, scratch: &mut Scratch, pulse: &mut Pulse) -> Result<()> {
        if span.end - span.start >= SCAN_LIMIT {
            let start = scratch.batch.made.len();
            self.merge(text, span, &mut scratch.merger, &mut scratch.batch.made, pulse)?;
            scratch.batch.add_made(start);
        } else {
            scratch.words.expect(key.hash);
            scratch.batch.segments.push(Segment { span, key, ids: 0..0 });
        }
        Ok(())
    }

    /// Appends the ids of one piece, without the tables.
    pub fn encode_into(
        &self,
        piece: &[u8],
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let whole = Span { start: 0, end: piece.len() };
        if self.append_token(piece, whole, ids) {
            Ok(())
        } else {
            self.merge(piece, whole, &mut scratch.merger, ids, pulse)
        }
    }

    /// Appends the id of a piece that is a token, where that comes first.
    fn append_token(&self, text: &[u8], piece: Span, ids: &mut Vec<u32>) -> bool {
        let found = if self.whole_piece_first { self.vocabulary.find_in(text, piece.start, piece.end) } else { None };
        ids.extend(found.map(|(_, id)| id));
        found.is_some()
    }

    /// Calls `segment` with the parts of a piece between places that no token reaches across.
    fn for_each_segment(
        &self,
        text: &[u8],
        piece: Span,
        characters: &str,
        each: &mut impl FnMut(Span) -> Result<()>,
    ) -> Result<()> {
        let Some(boundaries) = self.boundaries() else { return each(piece) };
        let mut segment = piece;
        let mut before = None;
        for (offset, after) in characters.char_indices() {
            let at = piece.start + offset;
            if let Some(before) = before
                && !boundaries.is_crossed(before, after, text, at)
            {
                each(Span { end: at, ..segment })?;
                segment.start = at;
            }
            before = Some(after);
        }
        each(segment)
    }

    /// None while another thread makes them, for which nobody waits: in a forked process that thread is not there.
    fn boundaries(&self) -> Option<&Boundaries> {
        if let Some(boundaries) = self.boundaries.get() {
            return Some(boundaries);
        }
        let _making = self.making.try_lock().ok()?;
        Some(self.boundaries.get_or_init(|| Boundaries::new(self.vocabulary.iter().map(|(_, token)| token))))
    }

    /// Appends what the merges make of `text[start..end]`.
    fn merge(
        &self,
        text: &[u8],
        Span { start, end }: Span,
        merger: &mut Merger,
        ids: &mut Vec<u32>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        self.pairs.prepare(&self.vocabulary);
        let ranks = self.pairs.ranks(&self.vocabulary);
        let piece = text.get(start..end).unwrap_or_default();
        merger.merge_long(&self.pairs, &ranks, piece, self.vocabulary.longest(), ids, pulse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn encode(bpe: &Bpe, piece: &[u8]) -> Vec<u32> {
        let mut ids = Vec::new();
        bpe.encode_into(piece, &mut Scratch::default(), &mut ids, &mut Pulse::new(&mut || true))
            .expect("all bytes have tokens");
        ids
    }

    #[test]
    fn an_overlapping_run_merges_from_the_left() {
        let bpe = Bpe::by_rank(Vocabulary::of_bytes_and(&[b"aa"]), &[]).expect("no ranks");
        assert_eq!(encode(&bpe, b"aaa"), [256, 97]);
    }

    #[test]
    fn listed_pairs_alone_merge_under_merges() {
        let merges = [[98, 99], [97, 256]];
        let listed =
            Bpe::by_merges(Vocabulary::of_bytes_and(&[b"bc", b"abc", b"ab"]), &merges, false).expect("ids exist");
        assert_eq!(encode(&listed, b"ab"), [97, 98]);
        assert_eq!(encode(&listed, b"abc"), [257]);
        let whole =
            Bpe::by_merges(Vocabulary::of_bytes_and(&[b"bc", b"abc", b"ab"]), &merges, true).expect("ids exist");
        assert_eq!(encode(&whole, b"ab"), [258]);
    }

    /// Pieces through the tables, twice, against the merges alone.
    #[test]
    fn segments_encode_as_the_whole() {
        let tokens = ["日本", "本日", "日本日", "a日", "é", "aé", "éa", "本a", "日日日日日", "aa", "\u{1F44B}"]
            .map(str::as_bytes);
        let torn: [&[u8]; 7] = [b"\xE6\x97", b"\xA5\xE6", b"\x97\xA5", b"\xE6\x9C", b"\xAC\xE6", b" \xE6", b"\xA5 "];
        let all: Vec<&[u8]> = torn.into_iter().chain(tokens).collect();
        let bpe = Bpe::by_rank(Vocabulary::of_bytes_and(&all), &[]).expect("no ranks");
        let (mut state, mut scratch) = (3u64, Scratch::default());
        for length in 1..400 {
            let text: String = (0..length % 40 + 1)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    ['日', '本', 'a', 'é', ' ', '\u{1F44B}'][(state >> 40) as usize % 6]
                })
                .collect();
            for _ in 0..2 {
                let mut ids = Vec::new();
                let piece = [Span { start: 0, end: text.len() }];
                bpe.encode_pieces_into(&text, &piece, &mut scratch, &mut ids, &mut Pulse::new(&mut || true))
                    .expect("all bytes have tokens");
                assert_eq!(ids, encode(&bpe, text.as_bytes()), "{text}");
            }
        }
    }

    #[test]
    fn a_byte_without_a_token_is_an_error() {
        let bpe = Bpe::by_rank(Vocabulary::new(b"a", vec![1], vec![0]).expect("well formed"), &[]).expect("no ranks");
        let result = bpe.encode_into(b"ab", &mut Scratch::default(), &mut Vec::new(), &mut Pulse::new(&mut || true));
        assert_eq!(result, Err(Error::NoByteToken { byte: b'b' }));
    }
}
