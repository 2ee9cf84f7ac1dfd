//! GPT-2's alphabet: a printable character for each byte, in which byte-level vocabularies are spelled.

use std::sync::LazyLock;

/// The bytes that stand for themselves.
fn is_printable(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF)
}

static CHARACTERS: LazyLock<[char; 256]> = LazyLock::new(|| {
    let mut next = 0x100;
    let mut characters = ['\0'; 256];
    for (byte, slot) in (0..=u8::MAX).zip(&mut characters) {
        *slot = if is_printable(byte) {
            char::from(byte)
        } else {
            let character = char::from_u32(next).unwrap_or_default();
            next += 1;
            character
        };
    }
    characters
});

/// Code points below this may be of the alphabet.
const END: usize = 0x144;

static BYTES: LazyLock<[Option<u8>; END]> = LazyLock::new(|| {
    let mut bytes = [None; END];
    for (byte, &character) in (0..=u8::MAX).zip(CHARACTERS.iter()) {
        if let Some(slot) = bytes.get_mut(character as usize) {
            *slot = Some(byte);
        }
    }
    bytes
});

/// The character of a space.
pub const SPACE: char = 'Ġ';

/// The UTF-8 bytes of a character, spelled.
pub fn spelled(character: char) -> impl Iterator<Item = char> {
    let mut buffer = [0; 4];
    let size = character.encode_utf8(&mut buffer).len();
    buffer.into_iter().take(size).map(|byte| CHARACTERS.get(usize::from(byte)).copied().unwrap_or_default())
}

/// The byte that a character spells.
pub fn byte(character: char) -> Option<u8> {
    BYTES.get(character as usize).copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_spelled_by_one_character() {
        assert_eq!(spelled(' ').collect::<String>(), SPACE.to_string());
        assert_eq!(spelled('é').collect::<String>(), "Ã©");
        assert!((0..=u8::MAX).all(|b| CHARACTERS.iter().filter(|&&c| byte(c) == Some(b)).count() == 1));
        assert_eq!(byte(' '), None);
    }
}
