//! BERT's chain as one fast path: its ids are those of the chain, component after component.

use std::sync::LazyLock;

use unicode_normalization::{IsNormalized, is_nfc_quick};

use super::patterns::PatternText;
use super::{Chain, Components, Forbidden, Scratch, normalizers, pre_tokenizers};
use crate::error::{Error, Result};
use crate::models::Model;
use crate::pulse::Pulse;
use crate::unicode::is_punctuation;
use crate::wordpiece::bert::{Bert, is_dropped};
use crate::wordpiece::count::safe_parts;
use crate::wordpiece::encode::WordPiece;

/// Bytes of text of which it is asked anew whether they need more than BERT's steps.
const PART_BYTES: usize = 256;

/// BERT's steps, and what a text goes through between cleaning and lowercasing where it holds what that concerns.
#[derive(Debug)]
pub(super) struct Fast {
    pub(super) words: WordPiece,
    /// It is put in the normal form C.
    composes: bool,
    /// The last Σ of a word becomes ς.
    ends_sigma: bool,
}

/// As `formats/huggingface/bert.py` writes it. No match and no context reaches across white space.
static FINAL_SIGMA: LazyLock<String> = LazyLock::new(|| {
    let cased = "[\\p{Lu}\\p{Ll}\\p{Lt}ªº\u{2160}-\u{217f}\u{24b6}-\u{24e9}\u{1f130}-\u{1f149}\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}]";
    let ignored = "[\\p{Mn}\\p{Me}\\p{Cf}\\p{Lm}\\p{Sk}'.:·\u{387}\u{55f}\u{5f4}‘’\u{2024}\u{2027}\u{fe13}\u{fe52}\u{fe55}\u{ff07}\u{ff0e}\u{ff1a}]";
    let behind: Vec<String> = (0..4).map(|n| format!("(?<={cased}{}Σ)", ignored.repeat(n))).collect();
    format!("Σ(?:{})(?!{ignored}*{cased})", behind.join("|"))
});

impl Fast {
    /// Whether what `text` goes through in between leaves it as it is.
    fn is_plain(&self, text: &str) -> bool {
        let kept = || text.chars().filter(|&character| !is_dropped(character));
        let changes =
            || self.ends_sigma && text.contains('Σ') || self.composes && is_nfc_quick(kept()) != IsNormalized::Yes;
        text.is_ascii() || !changes()
    }
}

impl Components {
    /// The fast path, where these components and the model are exactly BERT's.
    pub(super) fn word_piece(&self, model: &Model) -> Result<Option<Fast>> {
        let Some((bert, composes, ends_sigma)) = self.bert() else { return Ok(None) };
        match (&self.pre_tokenizer, model) {
            (Some(pre_tokenizers::Component::BertPreTokenizer), Model::WordPiece(model)) => {
                let words = WordPiece::new(bert, model.longest()?);
                Ok(Some(Fast { words, composes, ends_sigma }))
            }
            _ => Ok(None),
        }
    }

    /// BERT's options; whether the text is composed, and whether a final Σ becomes ς, in between.
    fn bert(&self) -> Option<(Bert, bool, bool)> {
        let steps = match &self.normalizer {
            None => return Some((Bert::AS_IS, false, false)),
            Some(normalizers::Component::Sequence { normalizers }) => normalizers.as_slice(),
            Some(normalizer) => return of_component(normalizer).map(|bert| (bert, false, false)),
        };
        let (first, rest) = steps.split_first()?;
        let first = of_component(first).filter(|bert| !bert.strip_accents && !bert.lowercase)?;
        let (composes, rest) = match rest {
            [normalizers::Component::Nfc, rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let (ends_sigma, rest) = match rest {
            [normalizers::Component::Replace { pattern: PatternText::Regex(pattern), content }, rest @ ..]
                if *pattern == *FINAL_SIGMA && content == "ς" =>
            {
                (true, rest)
            }
            rest => (false, rest),
        };
        let last = match rest {
            [] => Bert::AS_IS,
            [last] => of_component(last).filter(|bert| !bert.clean_text && !bert.handle_chinese_chars)?,
            _ => return None,
        };
        let Bert { clean_text, handle_chinese_chars, .. } = first;
        Some((Bert { clean_text, handle_chinese_chars, ..last }, composes, ends_sigma))
    }
}

fn of_component(component: &normalizers::Component) -> Option<Bert> {
    match *component {
        normalizers::Component::BertNormalizer { clean_text, handle_chinese_chars, strip_accents, lowercase } => {
            let strip_accents = strip_accents.unwrap_or(lowercase);
            Some(Bert { clean_text, handle_chinese_chars, strip_accents, lowercase })
        }
        _ => None,
    }
}

impl Chain {
    /// Whether the fast path may give the token with this content for text. Its words are a sign of punctuation alone, or
    /// hold none.
    pub(super) fn may_be_given(&self, content: &str) -> bool {
        let Model::WordPiece(model) = &self.model else { return false };
        let is_word = |text: &str| {
            let mut characters = text.chars();
            let (first, second) = (characters.next(), characters.next());
            second.is_none() && first.is_some() || !text.chars().any(|c| is_punctuation(c) || c.is_whitespace())
        };
        let rest = content.strip_prefix(model.prefix());
        model.id(content).is_some() && (is_word(content) || rest.is_some_and(is_word))
    }

    pub(super) fn encode_words_into(
        &self,
        fast: &Fast,
        text: &str,
        forbidden: &Forbidden,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        if u32::try_from(text.len()).is_err() {
            return Err(Error::TextTooLong { size: text.len() });
        }
        let is_allowed = |id: u32| !forbidden.contains(id);
        let Scratch { aligned, words, .. } = scratch;
        let mut between = |text: &str, ids: &mut Vec<u32>, go_on: &mut dyn FnMut() -> bool| {
            if self.normalized.is_empty() && fast.is_plain(text) {
                return fast.words.encode_into(text, words, ids, go_on);
            }
            // Else parts of it may be plain.
            let size = if self.normalized.is_empty() { PART_BYTES } else { text.len() };
            for (_, part) in safe_parts(text, &self.normalized, size) {
                if self.normalized.is_empty() && fast.is_plain(part) {
                    fast.words.encode_into(part, words, ids, go_on)?;
                    continue;
                }
                let mut pulse = Pulse::new(&mut *go_on);
                aligned.start(part, 0, false, &mut pulse);
                self.normalize(aligned, &mut pulse)?;
                let mut done = 0;
                for found in self.normalized.find_allowed(aligned.text(), is_allowed) {
                    let words_before = aligned.text().get(done..found.start).unwrap_or_default();
                    fast.words.encode_normalized_into(words_before, words, ids, go_on)?;
                    ids.push(found.id);
                    done = found.end;
                }
                fast.words.encode_normalized_into(aligned.text().get(done..).unwrap_or_default(), words, ids, go_on)?;
            }
            Ok(())
        };
        let mut done = 0;
        for found in self.original.find_allowed(text, is_allowed) {
            between(text.get(done..found.start).unwrap_or_default(), ids, go_on)?;
            ids.push(found.id);
            done = found.end;
        }
        between(text.get(done..).unwrap_or_default(), ids, go_on)
    }

    /// `text` in parts of about `size` bytes whose ids are together those of the whole: cut before white space on the
    /// fast path, where no added token reaches across. One part where no places to cut are known.
    pub fn safe_parts<'t>(&self, text: &'t str, size: usize) -> Vec<(usize, &'t str)> {
        // Forbidden tokens are not cut either: what they hide stays hidden.
        let is_known = self.fast.is_some() && self.normalized.is_empty();
        if is_known { safe_parts(text, &self.original, size) } else { vec![(0, text)] }
    }
}
