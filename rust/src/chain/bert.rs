//! BERT's chain as one fast path: its ids are those of the chain, component after component.

use super::{Chain, Components, Forbidden, Scratch, normalizers, pre_tokenizers};
use crate::error::{Error, Result};
use crate::models::Model;
use crate::wordpiece::bert::Bert;
use crate::wordpiece::count::safe_parts;
use crate::wordpiece::encode::WordPiece;

impl Components {
    /// The fast path, where these components and the model are exactly BERT's.
    pub(super) fn word_piece(&self, model: &Model) -> Result<Option<WordPiece>> {
        let bert = match self.normalizer {
            None => Bert::AS_IS,
            Some(normalizers::Component::BertNormalizer {
                clean_text,
                handle_chinese_chars,
                strip_accents,
                lowercase,
            }) => {
                let strip_accents = strip_accents.unwrap_or(lowercase);
                Bert { clean_text, handle_chinese_chars, strip_accents, lowercase }
            }
            _ => return Ok(None),
        };
        match (&self.pre_tokenizer, model) {
            (Some(pre_tokenizers::Component::BertPreTokenizer), Model::WordPiece(model)) => {
                model.longest().map(|longest| Some(WordPiece::new(bert, longest)))
            }
            _ => Ok(None),
        }
    }
}

impl Chain {
    pub(super) fn encode_words_into(
        &self,
        fast: &WordPiece,
        text: &str,
        forbidden: &Forbidden,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        if u32::try_from(text.len()).is_err() {
            return Err(Error::TextTooLong { size: text.len() });
        }
        let is_allowed = |id: u32| !forbidden.0.contains(&id);
        let Scratch { aligned, words, .. } = scratch;
        let mut between = |text: &str, ids: &mut Vec<u32>, go_on: &mut dyn FnMut() -> bool| {
            if self.normalized.is_empty() {
                return fast.encode_into(text, words, ids, go_on);
            }
            aligned.start(text, 0, false);
            self.normalize(aligned)?;
            let mut done = 0;
            for found in self.normalized.find_allowed(aligned.text(), is_allowed) {
                let words_before = aligned.text().get(done..found.start).unwrap_or_default();
                fast.encode_normalized_into(words_before, words, ids, go_on)?;
                ids.push(found.id);
                done = found.end;
            }
            fast.encode_normalized_into(aligned.text().get(done..).unwrap_or_default(), words, ids, go_on)
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
