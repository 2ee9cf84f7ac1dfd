//! WordPiece encoding: words in, ids out, the words met before from a table.

use std::sync::{Mutex, PoisonError};

use super::bert::Bert;
use super::matching::Longest;
use super::scan::{Place, Words, for_each_batch};
use crate::bpe::cache::{LongTable, MAX_LONG_BYTES, WordTable};
use crate::decode::Decoder;
use crate::error::{Error, Result};
use crate::packed::key;
use crate::pieces::Added;
use crate::special::{AddedToken, Matcher};
use crate::vocabulary::Vocabulary;

/// Words that are looked up at once.
const BATCH: usize = 32;
/// Room for ids that is kept from text to text.
const MAX_KEPT_IDS: usize = 1 << 20;

/// BertNormalizer, BertPreTokenizer, WordPiece and added tokens as one.
#[derive(Debug)]
pub struct WordPiece {
    bert: Bert,
    vocabulary: Vocabulary,
    longest: Longest,
    added: Vec<AddedToken>,
    decoder: Decoder,
    /// Idle ones, with the words they have met: as many as there were calls at one time.
    scratches: Mutex<Vec<Scratch>>,
}

/// Buffers that outlive a text. They belong to one model: the tables hold its ids.
#[derive(Debug, Default)]
pub struct Scratch {
    words: Words,
    table: WordTable,
    long: LongTable,
    ids: Vec<u32>,
}

impl Scratch {
    /// An empty list, with the memory of the last one that was given back.
    pub fn take_ids(&mut self) -> Vec<u32> {
        let mut ids = std::mem::take(&mut self.ids);
        ids.clear();
        ids
    }

    pub fn give_back(&mut self, ids: Vec<u32>) {
        if ids.capacity() <= MAX_KEPT_IDS {
            self.ids = ids;
        }
    }
}

impl WordPiece {
    pub fn new(bert: Bert, vocabulary: Vocabulary, longest: Longest, added: Vec<AddedToken>) -> Result<Self> {
        let decoder = Decoder::new(&vocabulary, &added)?;
        Ok(Self { bert, vocabulary, longest, added, decoder, scratches: Mutex::default() })
    }

    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    pub fn longest(&self) -> &Longest {
        &self.longest
    }

    /// Name and account of each path.
    pub fn certificate(&self) -> [(&'static str, &'static str); 4] {
        [
            ("words", "normalized and cut in one pass, 64 bytes at a time where they are ASCII"),
            ("word table", "words met before, of up to 15 bytes in one cache line, of up to 256 in another table"),
            ("matching", "the longest tokens by one walk over two tries: linear in the word"),
            ("cut", "at white space: threads share one text"),
        ]
    }

    /// The added tokens to look for when these special ones are allowed; the others always are.
    pub fn allow(&self, is_allowed: impl Fn(&str) -> bool) -> Result<Added> {
        let tokens = self.added.iter().filter(|token| !token.special || is_allowed(&token.content)).cloned();
        let (mut normalized, original): (Vec<_>, Vec<_>) = tokens.partition(|token| token.normalized);
        for token in &mut normalized {
            token.content = self.bert.normalize(&token.content);
        }
        Ok(Added { original: Matcher::new(original)?, normalized: Matcher::new(normalized)? })
    }

    /// Lends `count` scratches to `work`, one for each thread that it starts.
    pub fn with_scratches<T>(&self, count: usize, work: impl FnOnce(&mut [Scratch]) -> T) -> T {
        let idle = || self.scratches.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lent = {
            let mut idle = idle();
            let kept = idle.len().saturating_sub(count);
            idle.split_off(kept)
        };
        lent.resize_with(count, Scratch::default);
        let result = work(&mut lent);
        idle().append(&mut lent);
        result
    }

    /// Appends the ids of `text` to `ids`. `go_on` is asked now and then; when it says no, `Error::Interrupted`.
    pub fn encode_into(
        &self,
        text: &str,
        added: &Added,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let mut end = 0;
        for found in added.original.find(text) {
            self.encode_gap(text.get(end..found.start).unwrap_or_default(), added, scratch, ids, go_on)?;
            ids.push(found.id);
            end = found.end;
        }
        self.encode_gap(text.get(end..).unwrap_or_default(), added, scratch, ids, go_on)
    }

    /// Text between tokens that match in the original.
    fn encode_gap(
        &self,
        text: &str,
        added: &Added,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        if added.normalized.is_empty() {
            return self.encode_words(text, self.bert, scratch, ids, go_on);
        }
        let normalized = self.bert.normalize(text);
        let mut end = 0;
        for found in added.normalized.find(&normalized) {
            let between = normalized.get(end..found.start).unwrap_or_default();
            self.encode_words(between, Bert::AS_IS, scratch, ids, go_on)?;
            ids.push(found.id);
            end = found.end;
        }
        self.encode_words(normalized.get(end..).unwrap_or_default(), Bert::AS_IS, scratch, ids, go_on)
    }

    fn encode_words(
        &self,
        text: &str,
        bert: Bert,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let Scratch { words, table, long, .. } = scratch;
        for_each_batch(text, bert.actions(), words, &mut |buffer, places| {
            if !go_on() {
                return Err(Error::Interrupted);
            }
            self.encode_places(buffer, places, table, long, ids)
        })
    }

    fn encode_places(
        &self,
        buffer: &[u8],
        places: &[Place],
        table: &mut WordTable,
        long: &mut LongTable,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        // Some keys at a time, so that their cache lines are under way before the first is needed.
        let mut keys = [0; BATCH];
        for places in places.chunks(BATCH) {
            for (slot, &(start, end)) in keys.iter_mut().zip(places) {
                *slot = key(buffer, start as usize, end as usize);
                table.expect(*slot);
            }
            // Four numbers are written for each word, whether it has one token or three: no branch to foresee.
            let mut few = [0; 3 * BATCH + 4];
            let mut num_few = 0;
            for (&key, &(start, end)) in keys.iter().zip(places) {
                let found = if key == 0 { None } else { table.few(key) };
                if let Some(found) = found
                    && let Some(copy) = few.get_mut(num_few..num_few + found.len())
                {
                    copy.copy_from_slice(&found);
                    num_few += found[3] as usize;
                    continue;
                }
                ids.extend_from_slice(few.get(..num_few).unwrap_or_default());
                num_few = 0;
                let word = buffer.get(start as usize..end as usize).unwrap_or_default();
                self.encode_rare(key, word, table, long, ids)?;
            }
            ids.extend_from_slice(few.get(..num_few).unwrap_or_default());
        }
        Ok(())
    }

    /// A word of many tokens, or one that is long or new.
    fn encode_rare(
        &self,
        key: u128,
        word: &[u8],
        table: &mut WordTable,
        long: &mut LongTable,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let before = ids.len();
        if key != 0 {
            if !table.append(key, ids) {
                self.longest.encode_into(word, ids)?;
                table.insert(key, ids.get(before..).unwrap_or_default());
            }
        } else if word.len() > MAX_LONG_BYTES {
            self.longest.encode_into(word, ids)?;
        } else if !long.append(word, ids) {
            self.longest.encode_into(word, ids)?;
            long.insert(word, ids.get(before..).unwrap_or_default());
        }
        Ok(())
    }

    /// `text` in parts of about `size` bytes whose ids are together those of the whole: cut before white space.
    pub fn safe_parts<'t>(&self, text: &'t str, added: &Added, size: usize) -> Vec<&'t str> {
        let mut parts = Vec::new();
        let (mut start, mut from) = (0, size);
        if added.normalized.is_empty() && added.original.longest().is_some() {
            let mut found = added.original.find(text).peekable();
            let is_space = |&byte: &u8| matches!(byte, b' ' | b'\n' | b'\t' | b'\r');
            while let Some(space) = text.as_bytes().get(from..).and_then(|rest| rest.iter().position(is_space)) {
                let cut = from + space;
                while found.next_if(|found| found.end <= cut).is_some() {}
                match found.peek() {
                    Some(found) if found.start < cut => from = found.end,
                    _ => {
                        parts.push(text.get(start..cut).unwrap_or_default());
                        (start, from) = (cut, cut + size);
                    }
                }
            }
        }
        parts.push(text.get(start..).unwrap_or_default());
        parts
    }
}
