//! The vocabulary: token bytes end to end in one buffer, found by id and by bytes.

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

use crate::error::{Error, Result};
use crate::memory::{filled, prefetch};
use crate::packed::{hash, key};

/// Ids lie below this, so that tables by id stay small whatever a file says.
pub const MAX_ID: u32 = (1 << 24) - 1;

const ABSENT: u32 = u32::MAX;

/// A token that fits a key, which is 0 where the slot is free.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(32))]
struct Short {
    key: u128,
    place: u32,
    id: u32,
}

#[derive(Debug, Clone)]
pub struct Vocabulary {
    data: Vec<u8>,
    ends: Vec<u32>,
    ids: Vec<u32>,
    place_by_id: Vec<u32>,
    /// Tokens of up to 15 bytes, three in four: one cache line a look-up.
    short: Vec<Short>,
    /// A byte of each slot's hash, 0 where it is free: most look-ups are of what is no token, and end here.
    tags: Vec<u8>,
    place_by_long: HashTable<u32>,
    hasher: FixedState,
    longest: usize,
}

impl Vocabulary {
    /// Token `i` is `data[ends[i-1]..ends[i]]` and has the id `ids[i]`; ids increase. Where two tokens have the same
    /// bytes, the first is found by bytes.
    pub fn new(data: &[u8], ends: Vec<u32>, ids: Vec<u32>) -> Result<Self> {
        if ends.len() != ids.len() {
            return Err(Error::Spec(format!(
                "vocabulary: expected one id a token, found {} for {}",
                ids.len(),
                ends.len()
            )));
        }
        if ends.windows(2).any(|pair| matches!(pair, [a, b] if a > b))
            || ends.last().map_or(0, |&end| end as usize) != data.len()
        {
            return Err(Error::Spec("vocabulary: expected ends that increase up to the size of the data".into()));
        }
        if ids.windows(2).any(|pair| matches!(pair, [a, b] if a >= b)) {
            return Err(Error::Spec("vocabulary: expected ids that increase, found one that does not".into()));
        }
        let num_ids = ids.last().map_or(0, |&id| id as usize + 1);
        if num_ids > MAX_ID as usize + 1 {
            return Err(Error::Spec(format!("vocabulary: expected ids up to {MAX_ID}, found {}", num_ids - 1)));
        }
        let mut vocabulary = Self {
            data: data.to_vec(),
            place_by_id: vec![ABSENT; num_ids],
            // Never full, so that a search always ends.
            short: filled(Short::default(), (ids.len() * 3 / 2 + 1).next_power_of_two()),
            tags: Vec::new(),
            place_by_long: HashTable::new(),
            hasher: FixedState::with_seed(0),
            longest: 0,
            ends,
            ids,
        };
        vocabulary.index();
        Ok(vocabulary)
    }

    fn index(&mut self) {
        self.tags = vec![0; self.short.len()];
        for place in 0..self.ids.len() {
            let token = slice(&self.data, &self.ends, place);
            let id = self.ids.get(place).copied().unwrap_or(ABSENT);
            self.longest = self.longest.max(token.len());
            if let Some(slot) = self.place_by_id.get_mut(id as usize) {
                *slot = place as u32;
            }
            // The key is taken where the token stands, so that it is one load.
            let end = self.ends.get(place).map_or(0, |&end| end as usize);
            let key = key(&self.data, end - token.len(), end);
            if key != 0 {
                if let Err(free) = self.short_slot(key) {
                    if let Some(slot) = self.short.get_mut(free) {
                        *slot = Short { key, place: place as u32, id };
                    }
                    if let Some(slot) = self.tags.get_mut(free) {
                        *slot = tag(hash(key));
                    }
                }
            } else if !token.is_empty() {
                self.index_long(place);
            }
        }
    }

    fn index_long(&mut self, place: usize) {
        let (data, ends, hasher) = (&self.data, &self.ends, &self.hasher);
        let token = slice(data, ends, place);
        let hash = hasher.hash_one(token);
        if self.place_by_long.find(hash, |&other| slice(data, ends, other as usize) == token).is_none() {
            let rehash = |&other: &u32| hasher.hash_one(slice(data, ends, other as usize));
            self.place_by_long.insert_unique(hash, place as u32, rehash);
        }
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The bytes of all tokens, end to end in the order of `iter`.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The bytes of the longest token.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The greatest id, 0 for an empty vocabulary.
    pub fn max_id(&self) -> u32 {
        self.ids.last().copied().unwrap_or(0)
    }

    /// Place in the vocabulary and id of the token with these bytes.
    pub fn find(&self, token: &[u8]) -> Option<(u32, u32)> {
        self.find_in(token, 0, token.len())
    }

    /// Says that a key with this hash will be looked for soon.
    #[inline]
    pub fn expect(&self, hash: usize) {
        let at = hash & self.tags.len().wrapping_sub(1);
        prefetch(&self.tags, at);
        prefetch(&self.short, at);
    }

    /// Place in the vocabulary and id of the token `text[start..end]`.
    #[inline]
    pub fn find_in(&self, text: &[u8], start: usize, end: usize) -> Option<(u32, u32)> {
        match key(text, start, end) {
            0 => self.find_long(text.get(start..end)?),
            key => self.find_key(key),
        }
    }

    /// Place in the vocabulary and id of the token with this key.
    #[inline]
    pub fn find_key(&self, key: u128) -> Option<(u32, u32)> {
        let found = self.short.get(self.short_slot(key).ok()?)?;
        Some((found.place, found.id))
    }

    /// Where `key` stands, or the free slot where it would.
    #[inline]
    fn short_slot(&self, key: u128) -> std::result::Result<usize, usize> {
        let (hash, mask) = (hash(key), self.tags.len().wrapping_sub(1));
        let mut at = hash & mask;
        loop {
            match self.tags.get(at) {
                Some(&found) if found == tag(hash) => {
                    if self.short.get(at).is_some_and(|slot| slot.key == key) {
                        return Ok(at);
                    }
                }
                Some(0) | None => return Err(at),
                Some(_) => {}
            }
            at = (at + 1) & mask;
        }
    }

    fn find_long(&self, token: &[u8]) -> Option<(u32, u32)> {
        if token.len() > self.longest {
            return None;
        }
        let is_token = |&place: &u32| slice(&self.data, &self.ends, place as usize) == token;
        let &place = self.place_by_long.find(self.hasher.hash_one(token), is_token)?;
        Some((place, *self.ids.get(place as usize)?))
    }

    /// The bytes of the token with this id.
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        let &place = self.place_by_id.get(id as usize)?;
        if place == ABSENT { None } else { Some(slice(&self.data, &self.ends, place as usize)) }
    }

    /// Id and bytes of each token.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.ids.iter().enumerate().map(|(place, &id)| (id, slice(&self.data, &self.ends, place)))
    }
}

/// Of the bits that do not choose the slot; never 0.
#[inline]
fn tag(hash: usize) -> u8 {
    (hash >> 48) as u8 | 1
}

fn slice<'v>(data: &'v [u8], ends: &[u32], place: usize) -> &'v [u8] {
    let end = ends.get(place).map_or(0, |&end| end as usize);
    let start = place.checked_sub(1).and_then(|before| ends.get(before)).map_or(0, |&end| end as usize);
    data.get(start..end).unwrap_or_default()
}

#[cfg(test)]
impl Vocabulary {
    /// All bytes, then the given tokens, for tests.
    pub fn of_bytes_and(tokens: &[&[u8]]) -> Self {
        let bytes: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).chain(tokens.iter().map(|t| t.to_vec())).collect();
        let mut end = 0;
        let ends = bytes.iter().map(|token| {
            end += token.len() as u32;
            end
        });
        Self::new(&bytes.concat(), ends.collect(), (0..bytes.len() as u32).collect()).expect("well formed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_by_id_and_by_bytes() {
        let vocabulary = Vocabulary::new(b"abab", vec![1, 2, 4], vec![0, 1, 7]).expect("well formed");
        assert_eq!(vocabulary.find(b"ab"), Some((2, 7)));
        assert_eq!(vocabulary.token(7), Some(&b"ab"[..]));
        assert_eq!(vocabulary.token(3), None);
        assert_eq!(vocabulary.find(b"abab"), None);
    }

    #[test]
    fn buffers_that_do_not_fit_are_refused() {
        assert!(Vocabulary::new(b"ab", vec![1], vec![0]).is_err());
        assert!(Vocabulary::new(b"ab", vec![2, 1], vec![0, 1]).is_err());
        assert!(Vocabulary::new(b"ab", vec![1, 2], vec![1, 1]).is_err());
        assert!(Vocabulary::new(b"ab", vec![1, 2], vec![1, 1 << 24]).is_err());
    }
}
