//! Characters of one, two or four bytes each, as Python keeps them → UTF-8.

use std::ops::BitOr;

/// Characters looked at together: most texts are mostly ASCII.
const RUN: usize = 16;
/// Characters written before they are copied to where the text grows.
const BLOCK: usize = 256;

/// Characters in UTF-8; None where one is half of a surrogate pair, or none at all. The bytes are UTF-8.
pub fn utf8<T: Copy + Default + BitOr<Output = T> + Into<u32>>(characters: &[T]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(characters.len() + characters.len() / 8);
    // Four bytes are written a character, of which so many count.
    let mut block = [0; 4 * BLOCK];
    for characters in characters.chunks(BLOCK) {
        let mut at = 0;
        for run in characters.chunks(RUN) {
            let all = run.iter().fold(T::default(), |all, &character| all | character);
            if all.into() < 0x80 {
                let to = block.get_mut(at..at + run.len())?;
                to.iter_mut().zip(run).for_each(|(to, &character)| *to = character.into() as u8);
                at += run.len();
                continue;
            }
            for &character in run {
                let (encoded, length) = encoded(character.into())?;
                block.get_mut(at..at + 4)?.copy_from_slice(&encoded.to_le_bytes());
                at += length;
            }
        }
        bytes.extend_from_slice(block.get(..at)?);
    }
    Some(bytes)
}

/// The bytes of a character, the first one lowest, and how many they are.
#[inline]
fn encoded(character: u32) -> Option<(u32, usize)> {
    let tail = |shift: u32| 0x80 | character >> shift & 0x3F;
    match character {
        0..0x80 => Some((character, 1)),
        0x80..0x800 => Some(((0xC0 | character >> 6) | tail(0) << 8, 2)),
        0xD800..0xE000 => None,
        0x800..0x1_0000 => Some(((0xE0 | character >> 12) | tail(6) << 8 | tail(0) << 16, 3)),
        0x1_0000..0x11_0000 => Some(((0xF0 | character >> 18) | tail(12) << 8 | tail(6) << 16 | tail(0) << 24, 4)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_is_written_as_utf8() {
        let all: String = ('\0'..=char::MAX).collect();
        let characters: Vec<u32> = all.chars().map(u32::from).collect();
        assert_eq!(utf8(&characters).as_deref(), Some(all.as_bytes()));
        let latin: String = ('\0'..='\u{FF}').collect();
        let bytes: Vec<u8> = (0..=0xFF).collect();
        assert_eq!(utf8(&bytes).as_deref(), Some(latin.as_bytes()));
        let text = "日本語 and ASCII behind it, longer than a run, and é";
        let units: Vec<u16> = text.encode_utf16().collect();
        assert_eq!(utf8(&units).as_deref(), Some(text.as_bytes()));
    }

    #[test]
    fn what_is_no_character_is_not_written() {
        for wrong in [0xD800, 0xDFFF, 0x11_0000, u32::MAX] {
            assert_eq!(utf8(&[0x61, wrong, 0x61]), None);
        }
    }
}
