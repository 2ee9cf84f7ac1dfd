//! BERT's words: what a text is cleaned to and where it is cut, character by character.
//!
//! The rules and their order are Hugging Face's (`tokenizers` 0.23: BertNormalizer, then BertPreTokenizer): drop control
//! characters, put spaces around ideographs, decompose and drop accents, lowercase; then cut at white space and around
//! punctuation. The tables are those of `unicode.rs`.
//!
//! `normalize` and `words` say it plainly. `Actions` says what becomes of one character alone, so that a scan needs one
//! look-up a character: see `actions_equal_the_plain_rules`.

use std::sync::OnceLock;

use crate::split::Span;
use crate::unicode::{Form, class, is_control, is_nonspacing, is_punctuation};

/// BertNormalizer's options. Where `strip_accents` is not said, it is what `lowercase` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bert {
    pub clean_text: bool,
    pub handle_chinese_chars: bool,
    pub strip_accents: bool,
    pub lowercase: bool,
}

impl Bert {
    /// Text as it is: only the cuts.
    pub const AS_IS: Self =
        Self { clean_text: false, handle_chinese_chars: false, strip_accents: false, lowercase: false };

    /// `text` after BertNormalizer.
    pub fn normalize(self, text: &str) -> String {
        let mut cleaned = String::with_capacity(text.len());
        for character in text.chars() {
            if self.clean_text && is_dropped(character) {
                continue;
            }
            let character = if self.clean_text && character.is_whitespace() { ' ' } else { character };
            if self.handle_chinese_chars && is_ideograph(character) {
                cleaned.extend([' ', character, ' ']);
            } else {
                cleaned.push(character);
            }
        }
        if self.strip_accents {
            let decomposed = Form { is_compatible: false, is_composed: false }.of(&cleaned);
            cleaned = decomposed.into_iter().map(|(part, _)| part).filter(|&part| !is_nonspacing(part)).collect();
        }
        if self.lowercase {
            cleaned = cleaned.chars().flat_map(char::to_lowercase).collect();
        }
        cleaned
    }

    fn number(self) -> usize {
        usize::from(self.clean_text)
            | usize::from(self.handle_chinese_chars) << 1
            | usize::from(self.strip_accents) << 2
            | usize::from(self.lowercase) << 3
    }

    /// What these options make of each character. Made once a process.
    pub fn actions(self) -> &'static Actions {
        static ACTIONS: [OnceLock<Actions>; 16] = [const { OnceLock::new() }; 16];
        // `number` is less than 16.
        ACTIONS.get(self.number()).unwrap_or(&FALLBACK).get_or_init(|| Actions::new(self))
    }
}

static FALLBACK: OnceLock<Actions> = OnceLock::new();

/// BertPreTokenizer: the words of `text`.
pub fn words(text: &str) -> Vec<Span> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        let is_alone = is_punctuation(character);
        if (is_alone || character.is_whitespace())
            && let Some(start) = start.take()
        {
            words.push(Span { start, end: at });
        }
        if is_alone {
            words.push(Span { start: at, end });
        } else if !character.is_whitespace() {
            start.get_or_insert(at);
        }
    }
    words.extend(start.map(|start| Span { start, end: text.len() }));
    words
}

/// Whether cleaning leaves the character out.
pub fn is_dropped(character: char) -> bool {
    character == '\0' || character == '\u{FFFD}' || is_control(character)
}

/// Google's ranges, with Hugging Face's slip: 2B820 to 2B91F are not among them.
fn is_ideograph(character: char) -> bool {
    matches!(u32::from(character),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F | 0x2B740..=0x2B81F
        | 0x2B920..=0x2CEAF | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}

/// What becomes of one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It goes on with the word, as the first `length` of these bytes. None: it leaves no trace.
    Letters { bytes: [u8; 8], length: usize },
    /// The same, at this place of the block's long letters.
    Long { start: usize, length: usize },
    /// It ends the word.
    Space,
    /// It is a word of its own.
    Alone { bytes: [u8; 8], length: usize },
    /// It depends on its neighbours: the plain rules decide.
    Neighbours,
}

const BLOCK: usize = 256;

/// The actions of 256 characters, packed: up to seven bytes, and kind and length in the top one.
#[derive(Debug)]
struct Block {
    packed: Box<[u64; BLOCK]>,
    long: Vec<u8>,
}

/// What becomes of each character. A block of them is worked out when a text first holds one.
#[derive(Debug)]
pub struct Actions {
    bert: Bert,
    blocks: Vec<OnceLock<Block>>,
}

// The top byte: one of these, and below it the length.
const KINDS: u8 = 0xF0;
const LETTERS: u8 = 0x00;
const LONG: u8 = 0x10;
const SPACE: u8 = 0x20;
const ALONE: u8 = 0x30;
const NEIGHBOURS: u8 = 0x40;

impl Actions {
    fn new(bert: Bert) -> Self {
        Self { bert, blocks: (0..=0x0010_FFFF / BLOCK).map(|_| OnceLock::new()).collect() }
    }

    pub fn bert(&self) -> Bert {
        self.bert
    }

    #[inline] // once a character
    pub fn of(&self, character: u32) -> Action {
        let number = character as usize / BLOCK;
        let Some(block) = self.blocks.get(number) else { return Action::Neighbours };
        let block = block.get_or_init(|| Block::new(self.bert, number));
        let packed = block.packed.get(character as usize % BLOCK).copied().unwrap_or_default();
        let top = (packed >> 56) as u8;
        let (bytes, length) = (packed.to_le_bytes(), usize::from(top & !KINDS));
        match top & KINDS {
            LETTERS => Action::Letters { bytes, length },
            SPACE => Action::Space,
            ALONE => Action::Alone { bytes, length },
            LONG => Action::Long { start: packed as u32 as usize, length },
            _ => Action::Neighbours,
        }
    }

    /// The bytes of an `Action::Long` of this character.
    pub fn long(&self, character: u32, start: usize, length: usize) -> &[u8] {
        let block = self.blocks.get(character as usize / BLOCK).and_then(OnceLock::get);
        block.and_then(|block| block.long.get(start..start + length)).unwrap_or_default()
    }
}

impl Block {
    fn new(bert: Bert, number: usize) -> Self {
        let mut block = Self { packed: Box::new([0; BLOCK]), long: Vec::new() };
        let characters = (number * BLOCK) as u32..;
        for (slot, character) in block.packed.iter_mut().zip(characters) {
            // No text holds a surrogate.
            let Some(character) = char::from_u32(character) else { continue };
            *slot = pack(bert, character, &mut block.long);
        }
        block
    }
}

fn pack(bert: Bert, character: char, long: &mut Vec<u8>) -> u64 {
    let mut text = [0; 4];
    let normalized = bert.normalize(character.encode_utf8(&mut text));
    let is_ideograph = bert.handle_chinese_chars && is_ideograph(character);
    let mut words = words(&normalized).into_iter();
    let (word, has_more) = (words.next(), words.next().is_some());
    let bytes = word.and_then(|word| normalized.get(word.start..word.end)).unwrap_or_default().as_bytes();
    let is_whole = bytes.len() == normalized.len();
    let is_alone = is_ideograph || normalized.chars().all(is_punctuation);
    let kind = if normalized.is_empty() {
        LETTERS
    } else if bert.strip_accents && normalized.chars().any(|part| class(part) != 0) || has_more {
        NEIGHBOURS
    } else if word.is_none() {
        SPACE
    } else if is_alone && bytes.len() <= 7 {
        ALONE
    } else if is_whole && bytes.len() <= 7 {
        LETTERS
    } else if is_whole && bytes.len() <= 15 {
        LONG
    } else {
        NEIGHBOURS
    };
    let mut packed = [0; 8];
    match kind {
        LONG => {
            packed = (long.len() as u64).to_le_bytes();
            long.extend_from_slice(bytes);
        }
        LETTERS | ALONE => packed.iter_mut().zip(bytes).for_each(|(to, &from)| *to = from),
        _ => {}
    }
    let length = if kind == SPACE || kind == NEIGHBOURS { 0 } else { bytes.len() as u8 };
    u64::from_le_bytes(packed) | u64::from(kind | length) << 56
}
