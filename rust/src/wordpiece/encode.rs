//! WordPiece encoding: words in, ids out, the words met before from a table.

use super::bert::Bert;
use super::matching::Longest;
use super::scan::{Places, Words, for_each_batch};
use crate::bpe::cache::{FEW, Key, LongTable, MAX_LONG_BYTES, WordTable};
use crate::error::{Error, Result};

/// Words that are looked up at once.
const BATCH: usize = 32;

/// BertNormalizer, BertPreTokenizer and WordPiece as one.
#[derive(Debug)]
pub struct WordPiece {
    bert: Bert,
    longest: Longest,
}

/// The ids of words met before.
#[derive(Debug, Default)]
struct Known {
    table: WordTable,
    long: LongTable,
}

/// Buffers that outlive a text. They belong to one model: the tables hold its ids.
#[derive(Debug, Default)]
pub struct Scratch {
    words: Words,
    known: Known,
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
        let Scratch { words, known } = scratch;
        for_each_batch(text, bert.actions(), words, &mut |buffer, places| {
            if !go_on() {
                return Err(Error::Interrupted);
            }
            self.encode_places(buffer, places, known, ids)
        })
    }

    fn encode_places(&self, buffer: &[u8], places: Places, known: &mut Known, ids: &mut Vec<u32>) -> Result<()> {
        // The keys of the words to come, so that their cache lines are under way long before they are needed.
        let mut keys = [[Key::default(); BATCH]; 2];
        let [keys, next] = &mut keys;
        let (mut keys, mut next) = (keys, next);
        let mut few = [0; FEW * BATCH];
        let mut chunks = places.chunks(BATCH);
        let mut coming = chunks.next();
        if let Some(places) = coming {
            known.expect(buffer, places, next);
        }
        while let Some(places) = coming {
            std::mem::swap(&mut keys, &mut next);
            coming = chunks.next();
            if let Some(places) = coming {
                known.expect(buffer, places, next);
            }
            let mut words = keys.iter().zip(places.iter());
            loop {
                let rest = keys.get(places.count() - words.len()..places.count()).unwrap_or_default();
                let (num_words, num_few) = known.table.find_few(rest, &mut few);
                ids.extend_from_slice(few.get(..num_few).unwrap_or_default());
                let Some((&key, (start, end))) = words.nth(num_words) else { break };
                self.encode_rare(key, buffer.get(start..end).unwrap_or_default(), known, ids)?;
            }
        }
        Ok(())
    }

    /// A word of many tokens, or one that is long or new.
    fn encode_rare(&self, key: Key, word: &[u8], Known { table, long }: &mut Known, ids: &mut Vec<u32>) -> Result<()> {
        let before = ids.len();
        if !key.is_of_none() {
            if !table.append(key, ids) {
                self.longest.encode_into(word, ids)?;
                table.insert(key, ids.get(before..).unwrap_or_default());
            }
        } else if word.len() > MAX_LONG_BYTES {
            self.longest.encode_into(word, ids)?;
        } else if !long.append(word, key.hash, ids) {
            self.longest.encode_into(word, ids)?;
            long.insert(word, key.hash, ids.get(before..).unwrap_or_default());
        }
        Ok(())
    }
}

impl Known {
    /// Works out the keys of words, and says that they will be asked for.
    #[inline(never)] // A loop of its own keeps all it needs in registers.
    fn expect(&self, buffer: &[u8], places: Places, keys: &mut [Key; BATCH]) {
        let mut has_long = false;
        for (slot, (start, end)) in keys.iter_mut().zip(places.iter()) {
            let key = Key::of_word(buffer, start, end);
            has_long |= key.is_of_none();
            self.table.expect(key.hash);
            *slot = key;
        }
        if has_long {
            let words = keys.iter_mut().zip(places.iter()).filter(|(key, _)| key.is_of_none());
            for (key, (start, end)) in words {
                let hash = self.long.hash(buffer.get(start..end).unwrap_or_default());
                self.long.expect(hash);
                *key = Key::of_none(hash);
            }
        }
    }
}
