//! Normalizers: what changes the text before it is split. One variant a component of tokenizer.json.

use serde::Deserialize;
use unicode_normalization::{IsNormalized, is_nfc_quick, is_nfd_quick, is_nfkc_quick, is_nfkd_quick};

use super::aligned::Aligned;
use super::byte_alphabet;
use super::patterns::{Pattern, PatternText};
use super::precompiled::Charsmap;
use crate::error::{Error, Result};
use crate::pulse::Pulse;
use crate::unicode::{Form, is_combining, is_control, is_nonspacing};

/// A normalizer as tokenizer.json writes it. Regexes are in the `rust` dialect.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub enum Component {
    Sequence {
        normalizers: Vec<Component>,
    },
    #[serde(alias = "Bert")]
    BertNormalizer {
        clean_text: bool,
        handle_chinese_chars: bool,
        strip_accents: Option<bool>,
        lowercase: bool,
    },
    Strip {
        strip_left: bool,
        strip_right: bool,
    },
    StripAccents,
    #[serde(rename = "NFC")]
    Nfc,
    #[serde(rename = "NFD")]
    Nfd,
    #[serde(rename = "NFKC")]
    Nfkc,
    #[serde(rename = "NFKD")]
    Nfkd,
    Lowercase,
    Nmt,
    Precompiled {
        precompiled_charsmap: Option<String>,
    },
    Replace {
        pattern: PatternText,
        content: String,
    },
    Prepend {
        prepend: String,
    },
    ByteLevel,
}

#[derive(Debug)]
pub enum Normalizer {
    CleanText,
    SpaceChinese,
    StripNonspacing,
    Strip { left: bool, right: bool },
    StripAccents,
    Form(Form),
    Lowercase,
    Nmt,
    Precompiled(Charsmap),
    Replace { pattern: Pattern, content: String },
    Prepend(String),
    ByteLevel,
}

impl Component {
    /// The steps of this component, in order.
    pub fn into_steps(self) -> Result<Vec<Normalizer>> {
        let form = |is_compatible, is_composed| Normalizer::Form(Form { is_compatible, is_composed });
        let step = match self {
            Self::Sequence { normalizers } => {
                let steps: Vec<_> = normalizers.into_iter().map(Self::into_steps).collect::<Result<_>>()?;
                return Ok(steps.into_iter().flatten().collect());
            }
            Self::BertNormalizer { clean_text, handle_chinese_chars, strip_accents, lowercase } => {
                let mut steps = Vec::new();
                steps.extend(clean_text.then_some(Normalizer::CleanText));
                steps.extend(handle_chinese_chars.then_some(Normalizer::SpaceChinese));
                if strip_accents.unwrap_or(lowercase) {
                    steps.extend([form(false, false), Normalizer::StripNonspacing]);
                }
                steps.extend(lowercase.then_some(Normalizer::Lowercase));
                return Ok(steps);
            }
            Self::Strip { strip_left, strip_right } => Normalizer::Strip { left: strip_left, right: strip_right },
            Self::StripAccents => Normalizer::StripAccents,
            Self::Nfc => form(false, true),
            Self::Nfd => form(false, false),
            Self::Nfkc => form(true, true),
            Self::Nfkd => form(true, false),
            Self::Lowercase => Normalizer::Lowercase,
            Self::Nmt => Normalizer::Nmt,
            Self::Precompiled { precompiled_charsmap } => match precompiled_charsmap {
                Some(charsmap) => Normalizer::Precompiled(Charsmap::from_base64(&charsmap)?),
                None => return Ok(Vec::new()),
            },
            Self::Replace { pattern, content } => Normalizer::Replace { pattern: Pattern::new(pattern)?, content },
            Self::Prepend { prepend } => Normalizer::Prepend(prepend),
            Self::ByteLevel => Normalizer::ByteLevel,
        };
        Ok(vec![step])
    }
}

impl Normalizer {
    pub fn apply(&self, text: &mut Aligned, pulse: &mut Pulse) -> Result<()> {
        match self {
            Self::CleanText => {
                text.filter(|c| !matches!(c, '\0' | '\u{FFFD}') && !is_control(c), pulse);
                text.map(|c| if c.is_whitespace() { ' ' } else { c }, pulse);
            }
            Self::SpaceChinese => {
                if !text.is_attached() || pulse.each(text.text().chars()).any(is_chinese) {
                    let spaced =
                        |c| if is_chinese(c) { [Some(' '), Some(c), Some(' ')] } else { [Some(c), None, None] };
                    text.flat_map(|c| spaced(c).into_iter().flatten(), pulse);
                }
            }
            Self::StripNonspacing => text.filter(|c| !is_nonspacing(c), pulse),
            Self::StripAccents => text.filter(|c| !is_combining(c), pulse),
            Self::Strip { left, right } => strip(text, *left, *right, pulse),
            Self::Form(form) => {
                if !text.is_attached() || !is_in(*form, text.text(), pulse) {
                    let decomposed = form.decomposed(pulse.each(text.text().chars()));
                    let changes = form.changes(pulse.each(decomposed));
                    text.transform(changes, 0, pulse);
                }
            }
            Self::Lowercase => text.flat_map(char::to_lowercase, pulse),
            Self::Nmt => {
                text.filter(
                    |c| !matches!(c, '\u{1}'..='\u{8}' | '\u{B}' | '\u{E}'..='\u{1F}' | '\u{7F}' | '\u{8F}' | '\u{9F}'),
                    pulse,
                );
                text.map(|c| if is_nmt_space(c) { ' ' } else { c }, pulse);
            }
            Self::Precompiled(charsmap) => {
                if let Some(changes) = charsmap.changes(text.text(), pulse) {
                    text.transform(changes, 0, pulse);
                }
            }
            Self::Replace { pattern, content } => {
                let mut matches = Vec::new();
                pattern.find(text.text(), &mut matches, pulse)?;
                text.replace(&matches, content, pulse);
            }
            Self::Prepend(content) => text.prepend(content),
            Self::ByteLevel => text.byte_level(pulse),
        }
        pulse.check()
    }

    /// Whether characters may come out that no byte of the original text stands behind. What later steps make of those
    /// depends on the origins, so they must be tracked even where only ids are wanted.
    pub fn may_detach(&self) -> bool {
        match self {
            Self::Prepend(content) => content.is_empty(),
            Self::Replace { pattern, .. } => pattern.may_match_nothing(),
            _ => false,
        }
    }
}

/// The blocks that BERT's own code puts spaces into.
fn is_chinese(c: char) -> bool {
    matches!(c as u32,
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F | 0x2B740..=0x2B81F
        | 0x2B920..=0x2CEAF | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}

fn is_nmt_space(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\u{C}' | '\r' | '\u{1680}' | '\u{200B}'
            ..='\u{200F}' | '\u{2028}' | '\u{2029}' | '\u{2581}' | '\u{FEFF}' | '\u{FFFD}'
    )
}

/// Whether `text` is known to be in this form. The quick checks know more characters than `Form` does, which has none of
/// those change.
fn is_in(form: Form, text: &str, pulse: &mut Pulse) -> bool {
    if text.is_ascii() {
        return true;
    }
    let characters = pulse.each(text.chars());
    let found = match (form.is_compatible, form.is_composed) {
        (false, true) => is_nfc_quick(characters),
        (false, false) => is_nfd_quick(characters),
        (true, true) => is_nfkc_quick(characters),
        (true, false) => is_nfkd_quick(characters),
    };
    found == IsNormalized::Yes
}

fn strip(text: &mut Aligned, left: bool, right: bool, pulse: &mut Pulse) {
    let whole = text.text();
    let kept = if left { whole.trim_start() } else { whole };
    let num_leading = whole.get(..whole.len() - kept.len()).unwrap_or_default().chars().count();
    let kept = if right { kept.trim_end() } else { kept };
    if kept.len() < whole.len() {
        let kept: Vec<_> = pulse.each(kept.chars()).map(|c| (c, 0)).collect();
        text.transform(kept, num_leading, pulse);
    }
}

impl Aligned {
    /// Each byte as the character that byte-level vocabularies spell it with.
    pub fn byte_level(&mut self, pulse: &mut Pulse) {
        self.flat_map(byte_alphabet::spelled, pulse);
    }
}

/// The normalizer of `json`, or none.
pub fn parse(component: Option<Component>) -> Result<Vec<Normalizer>> {
    component.map_or(Ok(Vec::new()), Component::into_steps).map_err(|error| match error {
        Error::Spec(message) => Error::Spec(format!("normalizer: {message}")),
        other => other,
    })
}
