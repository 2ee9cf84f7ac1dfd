//! Decoding: ids → bytes, by two tables.

use crate::error::{Error, Result};
use crate::special::AddedToken;
use crate::vocabulary::Vocabulary;

/// What to do about an id that no token has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownIds {
    Error,
    /// U+FFFD in its place.
    Replace,
    Skip,
}

impl From<&str> for UnknownIds {
    fn from(name: &str) -> Self {
        match name {
            "replace" => Self::Replace,
            "skip" => Self::Skip,
            _ => Self::Error,
        }
    }
}

/// Where one id's bytes stand in `data`.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    start: u32,
    end: u32,
    known: bool,
    special: bool,
}

#[derive(Debug, Clone)]
pub struct Decoder {
    data: Vec<u8>,
    slots: Vec<Slot>,
}

impl Decoder {
    /// An added token stands in front of a vocabulary token with its id, and the first of two added ones in front of the
    /// second.
    pub fn new(vocabulary: &Vocabulary, added: &[AddedToken]) -> Result<Self> {
        let mut decoder = Self { data: Vec::new(), slots: Vec::new() };
        for (id, token) in vocabulary.iter() {
            decoder.set(id, token, false)?;
        }
        for token in added.iter().rev() {
            decoder.set(token.id, token.content.as_bytes(), token.special)?;
        }
        Ok(decoder)
    }

    fn set(&mut self, id: u32, token: &[u8], special: bool) -> Result<()> {
        if id > crate::vocabulary::MAX_ID {
            return Err(Error::Spec(format!(
                "added token: expected an id up to {}, found {id}",
                crate::vocabulary::MAX_ID
            )));
        }
        if self.slots.len() <= id as usize {
            self.slots.resize(id as usize + 1, Slot::default());
        }
        let size = |length: usize| {
            u32::try_from(length).map_err(|_| Error::Spec("vocabulary: expected under 4 GiB of tokens".into()))
        };
        let start = size(self.data.len())?;
        self.data.extend_from_slice(token);
        if let Some(slot) = self.slots.get_mut(id as usize) {
            *slot = Slot { start, end: size(self.data.len())?, known: true, special };
        }
        Ok(())
    }

    /// One more than the greatest id.
    pub fn num_ids(&self) -> usize {
        self.slots.len()
    }

    /// The bytes of the token with this id.
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        self.known(id).map(|slot| self.bytes(slot))
    }

    pub fn is_special(&self, id: u32) -> bool {
        self.known(id).is_some_and(|slot| slot.special)
    }

    /// The number of bytes of each id's token, 0 for special ones and for ids without a token.
    pub fn byte_lengths(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().map(|slot| if slot.special { 0 } else { slot.end - slot.start })
    }

    /// Appends the bytes of `ids` to `bytes`.
    pub fn decode_into(&self, ids: &[u32], unknown: UnknownIds, skip_special: bool, bytes: &mut Vec<u8>) -> Result<()> {
        for &id in ids {
            match self.known(id) {
                Some(slot) if skip_special && slot.special => {}
                Some(slot) => bytes.extend_from_slice(self.bytes(slot)),
                None => match unknown {
                    UnknownIds::Error => {
                        return Err(Error::UnknownId {
                            id: id.into(),
                            max_id: self.slots.len().saturating_sub(1) as u32,
                        });
                    }
                    UnknownIds::Replace => bytes.extend_from_slice("\u{FFFD}".as_bytes()),
                    UnknownIds::Skip => {}
                },
            }
        }
        Ok(())
    }

    fn known(&self, id: u32) -> Option<Slot> {
        self.slots.get(id as usize).copied().filter(|slot| slot.known)
    }

    fn bytes(&self, slot: Slot) -> &[u8] {
        self.data.get(slot.start as usize..slot.end as usize).unwrap_or_default()
    }
}
