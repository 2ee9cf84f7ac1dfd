//! WordPiece encoding: words in, ids out, the words met before from a table.

use super::bert::Bert;
use super::matching::Longest;
use super::scan::{Place, Words, for_each_batch};
use crate::bpe::cache::{LongTable, MAX_LONG_BYTES, WordTable};
use crate::error::{Error, Result};
use crate::packed::{hash, key};

/// Words that are looked up at once.
const BATCH: usize = 32;
/// Room for ids that is kept from text to text.
const MAX_KEPT_IDS: usize = 1 << 20;

/// BertNormalizer, BertPreTokenizer and WordPiece as one.
#[derive(Debug)]
pub struct WordPiece {
    bert: Bert,
    longest: Longest,
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
    pub fn new(bert: Bert, longest: Longest) -> Self {
        Self { bert, longest }
    }

    /// Name and account of each path.
    pub fn certificate(&self) -> [(&'static str, &'static str); 4] {
        [
            ("split", "normalized and cut into words in one pass, 64 bytes at a time where they are ASCII"),
            ("word table", "words met before, of up to 15 bytes in one cache line, of up to 256 in another table"),
            ("cut", "at white space: threads share one text"),
            ("model", "the longest match, by one walk over two tries: linear in the word"),
        ]
    }

    /// Appends the ids of `text`, which holds no added tokens, to `ids`. `go_on` is asked every thousand words; when it
    /// says no, `Error::Interrupted`.
    pub fn encode_into(
        &self,
        text: &str,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        self.encode_words(text, self.bert, scratch, ids, go_on)
    }

    /// The same for text that is normalized already.
    pub fn encode_normalized_into(
        &self,
        text: &str,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        self.encode_words(text, Bert::AS_IS, scratch, ids, go_on)
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
        let mut keys = [(0, 0); BATCH];
        for places in places.chunks(BATCH) {
            for (slot, &(start, end)) in keys.iter_mut().zip(places) {
                let key = key(buffer, start as usize, end as usize);
                *slot = (key, hash(key));
                table.expect(slot.1);
            }
            // Four numbers are written for each word, whether it has one token or three: no branch to foresee.
            let mut few = [0; 3 * BATCH + 4];
            let mut num_few = 0;
            for (&(key, hash), &(start, end)) in keys.iter().zip(places) {
                let found = if key == 0 { None } else { table.find(key, hash) };
                if let Some((found, num_ids)) = found
                    && let Some(copy) = few.get_mut(num_few..num_few + found.len())
                {
                    copy.copy_from_slice(&found);
                    num_few += num_ids;
                    continue;
                }
                ids.extend_from_slice(few.get(..num_few).unwrap_or_default());
                num_few = 0;
                let word = buffer.get(start as usize..end as usize).unwrap_or_default();
                self.encode_rare((key, hash), word, table, long, ids)?;
            }
            ids.extend_from_slice(few.get(..num_few).unwrap_or_default());
        }
        Ok(())
    }

    /// A word of many tokens, or one that is long or new.
    fn encode_rare(
        &self,
        (key, hash): (u128, usize),
        word: &[u8],
        table: &mut WordTable,
        long: &mut LongTable,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let before = ids.len();
        if key != 0 {
            if !table.append(key, hash, ids) {
                self.longest.encode_into(word, ids)?;
                table.insert(key, hash, ids.get(before..).unwrap_or_default());
            }
        } else if word.len() > MAX_LONG_BYTES {
            self.longest.encode_into(word, ids)?;
        } else {
            let hash = long.hash(word);
            if !long.append(word, hash, ids) {
                self.longest.encode_into(word, ids)?;
                long.insert(word, hash, ids.get(before..).unwrap_or_default());
            }
        }
        Ok(())
    }
}
