//! SentencePiece's compiled table of replacements, as Hugging Face runs it.
//!
//! The table is the size of a trie in bytes, the trie as little-endian u32 units (Darts' double array), and the
//! replacements, each closed by a NUL. Of what the trie finds at the start of a grapheme cluster of under six bytes, or
//! else of a character, the shortest entry gives the replacement of the *whole* cluster or character. SentencePiece
//! itself takes the longest entry and no clusters: the difference is Hugging Face's, and kept.

use unicode_segmentation::UnicodeSegmentation;

use crate::error::{Error, Result};
use crate::pulse::Pulse;

/// Clusters of this many bytes and more are replaced a character at a time.
const MAX_CLUSTER_BYTES: usize = 6;

#[derive(Debug)]
pub struct Charsmap {
    units: Vec<u32>,
    replacements: String,
}

impl Charsmap {
    pub fn from_base64(text: &str) -> Result<Self> {
        let bytes = decode_base64(text)
            .ok_or_else(|| Error::Spec("precompiled_charsmap: expected base64, found other characters".into()))?;
        Self::new(&bytes)
    }

    fn new(bytes: &[u8]) -> Result<Self> {
        let wrong = |found: &str| Error::Spec(format!("precompiled_charsmap: expected {found}"));
        let (size, rest) = bytes.split_first_chunk().ok_or_else(|| wrong("the size of a trie, found too few bytes"))?;
        let size = u32::from_le_bytes(*size) as usize / 4 * 4;
        let (trie, replacements) =
            rest.split_at_checked(size).ok_or_else(|| wrong("a trie of the size it names, found too few bytes"))?;
        let units = trie.as_chunks().0.iter().map(|&unit| u32::from_le_bytes(unit)).collect();
        let replacements =
            String::from_utf8(replacements.to_vec()).map_err(|_| wrong("replacements in UTF-8, found other bytes"))?;
        Ok(Self { units, replacements })
    }

    /// What becomes of `text`, each character with its change (see `Aligned::transform`); none where nothing does.
    pub fn changes(&self, text: &str, pulse: &mut Pulse) -> Option<Vec<(char, isize)>> {
        let mut changes = Vec::with_capacity(text.len());
        let mut is_changed = false;
        for cluster in pulse.each(text.graphemes(true)) {
            let whole = if cluster.len() < MAX_CLUSTER_BYTES { self.replacement(cluster) } else { None };
            if let Some(replacement) = whole {
                is_changed = true;
                replace(&mut changes, cluster, replacement);
                continue;
            }
            let mut buffer = [0; 4];
            for character in cluster.chars() {
                let part = character.encode_utf8(&mut buffer);
                match self.replacement(part) {
                    Some(replacement) => {
                        is_changed = true;
                        replace(&mut changes, part, replacement);
                    }
                    None => changes.push((character, 0)),
                }
            }
        }
        is_changed.then_some(changes)
    }

    /// The replacement that the shortest entry at the start of `part` names.
    fn replacement(&self, part: &str) -> Option<&str> {
        let mut node = offset(*self.units.first()?);
        for byte in part.bytes().take_while(|&byte| byte != 0) {
            node ^= byte as usize;
            let unit = *self.units.get(node)?;
            if unit & (1 << 31 | 0xFF) != u32::from(byte) {
                return None;
            }
            node ^= offset(unit);
            if unit >> 8 & 1 == 1 {
                let start = (self.units.get(node)? & !(1 << 31)) as usize;
                let rest = self.replacements.get(start..)?;
                return rest.split('\0').next();
            }
        }
        None
    }
}

/// Where the children of a unit begin, from the unit on.
fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & 1 << 9) >> 6)) as usize
}

/// Hugging Face's account of a replacement: the last characters count as put in, or the last one for the rest.
fn replace(changes: &mut Vec<(char, isize)>, old: &str, new: &str) {
    let (num_old, num_new) = (old.chars().count(), new.chars().count());
    changes.extend(new.chars().map(|c| (c, 0)));
    if num_new > num_old {
        changes.iter_mut().rev().take(num_new - num_old).for_each(|(_, change)| *change = 1);
    } else if let Some((_, change)) = changes.last_mut() {
        *change -= (num_old - num_new) as isize;
    }
}

/// The bytes of standard base64, with its padding.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').as_bytes();
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut number = 0_u32;
        for &digit in group {
            let value = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            number = number << 6 | u32::from(value);
        }
        number <<= 6 * (4 - group.len());
        bytes.extend(number.to_be_bytes().into_iter().skip(1).take(group.len() * 6 / 8));
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_with_its_padding() {
        assert_eq!(decode_base64("YWJjZA=="), Some(b"abcd".to_vec()));
        assert_eq!(decode_base64("YWJj"), Some(b"abc".to_vec()));
        assert_eq!(decode_base64("YW-j"), None);
        assert_eq!(decode_base64("YWJjZ"), None);
    }

    #[test]
    fn a_table_that_is_cut_short_is_refused() {
        assert!(Charsmap::from_base64("").is_err());
        assert!(Charsmap::new(&[8, 0, 0, 0, 1, 2]).is_err());
        assert!(Charsmap::new(&[0, 0, 0, 0, 0xFF]).is_err());
    }

    #[test]
    fn what_is_put_in_and_taken_out_is_told_apart() {
        let mut changes = Vec::new();
        replace(&mut changes, "™", "TM");
        replace(&mut changes, "\u{1e}", "");
        assert_eq!(changes, [('T', 0), ('M', 0)]);
    }
}
