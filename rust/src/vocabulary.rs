//! The vocabulary: token bytes end to end in one buffer, found by id and by bytes.

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

use crate::error::{Error, Result};

/// Ids lie below this, so that tables by id stay small whatever a file says.
pub const MAX_ID: u32 = (1 << 24) - 1;

const ABSENT: u32 = u32::MAX;

#[derive(Debug, Clone)]
pub struct Vocabulary {
    data: Vec<u8>,
    ends: Vec<u32>,
    ids: Vec<u32>,
    place_by_id: Vec<u32>,
    place_by_bytes: HashTable<u32>,
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
            place_by_bytes: HashTable::with_capacity(ids.len()),
            hasher: FixedState::with_seed(0),
            longest: 0,
            ends,
            ids,
        };
        vocabulary.index();
        Ok(vocabulary)
    }

    fn index(&mut self) {
        for place in 0..self.ids.len() {
            let token = slice(&self.data, &self.ends, place);
            self.longest = self.longest.max(token.len());
            if let Some(slot) = self.ids.get(place).and_then(|&id| self.place_by_id.get_mut(id as usize)) {
                *slot = place as u32;
            }
            let hash = self.hasher.hash_one(token);
            if self.place_by_bytes.find(hash, |&other| slice(&self.data, &self.ends, other as usize) == token).is_none()
            {
                let (data, ends, hasher) = (&self.data, &self.ends, &self.hasher);
                self.place_by_bytes
                    .insert_unique(hash, place as u32, |&other| hasher.hash_one(slice(data, ends, other as usize)));
            }
        }
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The greatest id, 0 for an empty vocabulary.
    pub fn max_id(&self) -> u32 {
        self.ids.last().copied().unwrap_or(0)
    }

    /// Place in the vocabulary and id of the token with these bytes.
    pub fn find(&self, token: &[u8]) -> Option<(u32, u32)> {
        if token.len() > self.longest {
            return None;
        }
        let hash = self.hasher.hash_one(token);
        let &place = self.place_by_bytes.find(hash, |&place| slice(&self.data, &self.ends, place as usize) == token)?;
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

fn slice<'v>(data: &'v [u8], ends: &[u32], place: usize) -> &'v [u8] {
    let end = ends.get(place).map_or(0, |&end| end as usize);
    let start = place.checked_sub(1).and_then(|before| ends.get(before)).map_or(0, |&end| end as usize);
    data.get(start..end).unwrap_or_default()
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
