//! Decoders: spelled tokens → text. One variant a component of tokenizer.json; each takes the tokens that the one before
//! it gave, and in the end they stand one behind the other.

use serde::Deserialize;

use super::byte_alphabet;
use super::patterns::{Pattern, PatternText};
use super::pre_tokenizers::PrependScheme;
use crate::error::Result;
use crate::pulse::Pulse;

/// A decoder as tokenizer.json writes it. Regexes are in the `rust` dialect.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub enum Component {
    Sequence {
        decoders: Vec<Component>,
    },
    ByteLevel,
    WordPiece {
        prefix: String,
        cleanup: bool,
    },
    Metaspace {
        replacement: char,
        add_prefix_space: Option<bool>,
        prepend_scheme: Option<PrependScheme>,
    },
    #[serde(alias = "BPE")]
    BPEDecoder {
        suffix: String,
    },
    #[serde(rename = "CTC")]
    Ctc {
        pad_token: String,
        word_delimiter_token: String,
        cleanup: bool,
    },
    Fuse,
    Strip {
        content: char,
        start: usize,
        stop: usize,
    },
    Replace {
        pattern: PatternText,
        content: String,
    },
    ByteFallback,
}

#[derive(Debug)]
pub enum Decoder {
    ByteLevel,
    WordPiece { prefix: String, cleanup: bool },
    Metaspace { replacement: char, keeps_first: bool },
    Suffix(String),
    Ctc { pad_token: String, word_delimiter_token: String, cleanup: bool },
    Fuse,
    Strip { content: char, start: usize, stop: usize },
    Replace { pattern: Pattern, content: String },
    ByteFallback,
}

impl Component {
    /// The steps of this component, in order.
    pub fn into_steps(self) -> Result<Vec<Decoder>> {
        Ok(vec![match self {
            Self::Sequence { decoders } => {
                let steps: Vec<_> = decoders.into_iter().map(Self::into_steps).collect::<Result<_>>()?;
                return Ok(steps.into_iter().flatten().collect());
            }
            Self::ByteLevel => Decoder::ByteLevel,
            Self::WordPiece { prefix, cleanup } => Decoder::WordPiece { prefix, cleanup },
            Self::Metaspace { replacement, add_prefix_space, prepend_scheme } => {
                let keeps_first = PrependScheme::of(prepend_scheme, add_prefix_space) == PrependScheme::Never;
                Decoder::Metaspace { replacement, keeps_first }
            }
            Self::BPEDecoder { suffix } => Decoder::Suffix(suffix),
            Self::Ctc { pad_token, word_delimiter_token, cleanup } => {
                Decoder::Ctc { pad_token, word_delimiter_token, cleanup }
            }
            Self::Fuse => Decoder::Fuse,
            Self::Strip { content, start, stop } => Decoder::Strip { content, start, stop },
            Self::Replace { pattern, content } => Decoder::Replace { pattern: Pattern::new(pattern)?, content },
            Self::ByteFallback => Decoder::ByteFallback,
        }])
    }
}

/// The bytes that `tokens` decode to. They are text, but where the last step is `ByteLevel`, which gives the bytes as
/// the tokens spell them.
pub fn decode(steps: &[Decoder], mut tokens: Vec<String>) -> Result<Vec<u8>> {
    if let [before @ .., Decoder::ByteLevel] = steps {
        for step in before {
            tokens = step.apply(tokens)?;
        }
        return Ok(byte_level(&tokens));
    }
    for step in steps {
        tokens = step.apply(tokens)?;
    }
    Ok(tokens.concat().into_bytes())
}

impl Decoder {
    fn apply(&self, tokens: Vec<String>) -> Result<Vec<String>> {
        let each =
            |change: &dyn Fn((usize, String)) -> String| tokens.iter().cloned().enumerate().map(change).collect();
        Ok(match self {
            Self::ByteLevel => vec![String::from_utf8_lossy(&byte_level(&tokens)).into_owned()],
            Self::WordPiece { prefix, cleanup } => each(&|(at, token)| {
                let token = match token.strip_prefix(prefix.as_str()) {
                    _ if at == 0 => token,
                    Some(rest) => rest.to_owned(),
                    None => format!(" {token}"),
                };
                if *cleanup { cleaned(&token) } else { token }
            }),
            Self::Metaspace { replacement, keeps_first } => each(&|(at, token)| {
                let first = if at == 0 && !keeps_first { "" } else { " " };
                token.replace(*replacement, first)
            }),
            Self::Suffix(suffix) => {
                let last = tokens.len().wrapping_sub(1);
                each(&|(at, token)| token.replace(suffix.as_str(), if at == last { "" } else { " " }))
            }
            Self::Ctc { pad_token, word_delimiter_token, cleanup } => {
                let mut tokens = tokens;
                tokens.dedup();
                let decoded = tokens.into_iter().map(|token| {
                    let token = token.replace(pad_token.as_str(), "");
                    if *cleanup { cleaned(&token).replace(word_delimiter_token.as_str(), " ") } else { token }
                });
                decoded.filter(|token| !token.is_empty()).collect()
            }
            Self::Fuse => vec![tokens.concat()],
            Self::Strip { content, start, stop } => each(&|(_, token)| stripped(&token, *content, *start, *stop)),
            Self::Replace { pattern, content } => {
                tokens.iter().map(|token| replaced(token, pattern, content)).collect::<Result<_>>()?
            }
            Self::ByteFallback => byte_fallback(tokens),
        })
    }
}

/// The bytes that the characters of each token spell; a token with another character stands for itself.
fn byte_level(tokens: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for token in tokens {
        let begin = bytes.len();
        for character in token.chars() {
            match byte_alphabet::byte(character) {
                Some(byte) => bytes.push(byte),
                None => {
                    bytes.truncate(begin);
                    bytes.extend_from_slice(token.as_bytes());
                    break;
                }
            }
        }
    }
    bytes
}

/// English punctuation and contractions without the spaces that BERT's splitting leaves.
fn cleaned(text: &str) -> String {
    const CHANGES: [(&str, &str); 11] = [
        (" .", "."),
        (" ?", "?"),
        (" !", "!"),
        (" ,", ","),
        (" ' ", "'"),
        (" n't", "n't"),
        (" 'm", "'m"),
        (" do not", " don't"),
        (" 's", "'s"),
        (" 've", "'ve"),
        (" 're", "'re"),
    ];
    CHANGES.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// `token` without up to `start` of `content` at its start and `stop` at its end.
fn stripped(token: &str, content: char, start: usize, stop: usize) -> String {
    let num_leading = token.chars().take(start).take_while(|&c| c == content).count();
    let num_trailing = token.chars().rev().take(stop).take_while(|&c| c == content).count();
    let num_kept = token.chars().count().saturating_sub(num_leading + num_trailing);
    token.chars().skip(num_leading).take(num_kept).collect()
}

fn replaced(token: &str, pattern: &Pattern, content: &str) -> Result<String> {
    let mut matches = Vec::new();
    pattern.find(token, &mut matches, &mut Pulse::new(&mut || true))?;
    let mut text = String::with_capacity(token.len());
    let mut done = 0;
    for (start, end) in matches {
        text.push_str(token.get(done..start).unwrap_or_default());
        text.push_str(content);
        done = end;
    }
    text.push_str(token.get(done..).unwrap_or_default());
    Ok(text)
}

/// Tokens such as `<0x61>` in a row as the text that their bytes are, or as U+FFFD each.
fn byte_fallback(tokens: Vec<String>) -> Vec<String> {
    let mut result = Vec::with_capacity(tokens.len());
    let mut bytes = Vec::new();
    for token in tokens {
        match fallback_byte(&token) {
            Some(byte) => bytes.push(byte),
            None => {
                push_bytes(&mut bytes, &mut result);
                result.push(token);
            }
        }
    }
    push_bytes(&mut bytes, &mut result);
    result
}

fn push_bytes(bytes: &mut Vec<u8>, result: &mut Vec<String>) {
    let count = bytes.len();
    match String::from_utf8(std::mem::take(bytes)) {
        Ok(text) if text.is_empty() => {}
        Ok(text) => result.push(text),
        Err(_) => result.extend(std::iter::repeat_n("\u{FFFD}".to_owned(), count)),
    }
}

/// The byte that a token such as `<0x61>` stands for.
pub fn fallback_byte(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() == 2 { u8::from_str_radix(digits, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(json: &str, tokens: &[&str]) -> String {
        let component: Component = serde_json::from_str(json).expect("well formed");
        let steps = component.into_steps().expect("no pattern is wrong");
        let bytes = decode(&steps, tokens.iter().map(|token| (*token).to_owned()).collect()).expect("no limit");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn each_decoder_undoes_its_spelling() {
        assert_eq!(
            decoded(r###"{"type":"WordPiece","prefix":"##","cleanup":true}"###, &["do", "##n", "'t", "."]),
            "don 't."
        );
        assert_eq!(decoded(r#"{"type":"BPEDecoder","suffix":"</w>"}"#, &["a</w>", "b", "c</w>"]), "a bc");
        assert_eq!(decoded(r#"{"type":"Metaspace","replacement":"▁"}"#, &["▁a", "▁b"]), "a b");
        assert_eq!(decoded(r#"{"type":"ByteLevel","trim_offsets":true}"#, &["Ã", "©Ġx", "日"]), "é x日");
        assert_eq!(decoded(r#"{"type":"ByteFallback"}"#, &["<0xC3>", "<0xA9>", "x", "<0xC3>"]), "éx\u{FFFD}");
        let ctc = r#"{"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":true}"#;
        assert_eq!(decoded(ctc, &["a", "a", "<pad>", "a", "|", "b"]), "aa b");
    }

    #[test]
    fn strip_takes_no_more_than_there_is() {
        assert_eq!(stripped("  a ", ' ', 1, 3), " a");
        assert_eq!(stripped(" ", ' ', 1, 1), "");
        assert_eq!(stripped("", ' ', 1, 1), "");
    }
}
