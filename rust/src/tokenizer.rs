//! The whole of encoding: text → pieces → ids, with spans where they are asked for.

use std::sync::{Mutex, PoisonError};

use crate::bpe::encode::{Bpe, Scratch};
use crate::decode::Decoder;
use crate::error::{Error, Result};
use crate::pieces::{Added, Origin, Part, Pipeline};
use crate::special::AddedToken;
use crate::split;

#[derive(Debug)]
pub struct Tokenizer {
    pipeline: Pipeline,
    /// Idle ones, with the words they have met: as many as there were calls at one time.
    scratches: Mutex<Vec<Scratch>>,
    model: Bpe,
    added: Vec<AddedToken>,
    decoder: Decoder,
}

/// A token and the bytes of the original text it covers; not always whole characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenSpan {
    pub id: u32,
    pub start: usize,
    pub end: usize,
}

impl Tokenizer {
    pub fn new(pipeline: Pipeline, model: Bpe, added: Vec<AddedToken>) -> Result<Self> {
        let decoder = Decoder::new(model.vocabulary(), &added)?;
        Ok(Self { pipeline, scratches: Mutex::default(), model, added, decoder })
    }

    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    pub fn model(&self) -> &Bpe {
        &self.model
    }

    /// The added tokens to look for when these special ones are allowed; the others always are.
    pub fn allow(&self, is_allowed: impl Fn(&str) -> bool) -> Result<Added> {
        let tokens: Vec<_> =
            self.added.iter().filter(|token| !token.special || is_allowed(&token.content)).cloned().collect();
        self.pipeline.added(&tokens)
    }

    /// What is fast about this tokenizer, and what is not and why: name and account of each path.
    pub fn certificate(&self) -> Vec<(String, String)> {
        let splits = self.pipeline.certificate();
        let one = splits.len() == 1;
        let name = |at: usize| if one { "split".into() } else { format!("split {}", at + 1) };
        let mut paths: Vec<_> = splits.into_iter().enumerate().map(|(at, account)| (name(at), account)).collect();
        let cut = if self.pipeline.can_cut() {
            "at places where no piece changes: threads share one text, streams hold little back"
        } else {
            "nowhere: the split is not one table over text as it is"
        };
        paths.push(("cut".into(), cut.into()));
        paths.extend(self.model.certificate().into_iter().map(|(name, account)| (name.into(), account.into())));
        paths
    }

    /// Lends a scratch to `work`.
    pub fn with_scratch<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        self.with_scratches(1, |scratches| work(scratches.first_mut().unwrap_or(&mut Scratch::default())))
    }

    /// Lends `count` scratches to `work`, one for each thread that it starts.
    pub fn with_scratches<T>(&self, count: usize, work: impl FnOnce(&mut [Scratch]) -> T) -> T {
        let idle = || self.scratches.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lent = {
            let mut idle = idle();
            let kept = idle.len().saturating_sub(count);
            idle.split_off(kept)
        };
        lent.resize_with(count, Scratch::default);
        let result = work(&mut lent);
        idle().append(&mut lent);
        result
    }

    /// Appends the ids of `text` to `ids`. `go_on` is asked every 64 KB or so; when it says no, `Error::Interrupted`.
    pub fn encode_into(
        &self,
        text: &str,
        added: &Added,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let mut until_asked = 1 << 16;
        self.pipeline.for_each(text, added, &mut |part| match part {
            Part::Added { id, .. } => {
                ids.push(id);
                Ok(())
            }
            Part::Pieces { run, pieces } => {
                until_asked -= length(pieces);
                if until_asked < 0 {
                    until_asked = 1 << 16;
                    if !go_on() {
                        return Err(Error::Interrupted);
                    }
                }
                self.model.encode_pieces_into(run.text(), pieces, scratch, ids, go_on)
            }
        })
    }

    /// Appends the ids of one piece, by the model alone.
    pub fn encode_piece_into(&self, piece: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<()> {
        self.model.encode_into(piece, scratch, ids)
    }

    /// The tokens of `text`, each with the bytes it covers.
    pub fn spans(&self, text: &str, added: &Added) -> Result<Vec<TokenSpan>> {
        self.with_scratch(|scratch| self.spans_with(text, added, scratch))
    }

    fn spans_with(&self, text: &str, added: &Added, scratch: &mut Scratch) -> Result<Vec<TokenSpan>> {
        let mut spans = Vec::new();
        let mut ids = Vec::new();
        // Of the run under work: runs always have an added token between them.
        let mut origin: Option<Origin> = None;
        self.pipeline.for_each(text, added, &mut |part| match part {
            Part::Added { id, start, end } => {
                spans.push(TokenSpan { id, start, end });
                origin = None;
                Ok(())
            }
            Part::Pieces { run, pieces } => {
                let origin = origin.get_or_insert_with(|| run.origin(&self.pipeline));
                for piece in pieces {
                    ids.clear();
                    let bytes = run.text().as_bytes().get(piece.start..piece.end).unwrap_or_default();
                    self.model.encode_into(bytes, scratch, &mut ids)?;
                    let mut at = piece.start;
                    for &id in &ids {
                        let end = at + self.model.vocabulary().token(id).map_or(0, <[u8]>::len);
                        let (from, to) = origin.range(at, end);
                        spans.push(TokenSpan { id, start: from, end: to });
                        at = end;
                    }
                }
                Ok(())
            }
        })?;
        Ok(spans)
    }

    /// `text` in parts of about `size` bytes whose ids are together those of the whole.
    pub fn safe_parts<'t>(&self, text: &'t str, added: &Added, size: usize) -> Vec<&'t str> {
        self.pipeline.safe_parts(text, added, size).into_iter().map(|(_, part)| part).collect()
    }

    /// The last place where `text` may be cut: the ids of both parts are those of the whole, whatever text follows.
    pub fn last_safe_cut(&self, text: &str, added: &Added) -> Option<usize> {
        self.pipeline.last_safe_cut(text, added)
    }

    /// The pieces of `text` and its added tokens, as the bytes of the original text they cover.
    pub fn pieces(&self, text: &str, added: &Added) -> Result<Vec<(usize, usize)>> {
        let mut found = Vec::new();
        self.pipeline.for_each(text, added, &mut |part| {
            match part {
                Part::Added { start, end, .. } => found.push((start, end)),
                Part::Pieces { run, pieces } => {
                    let origin = run.origin(&self.pipeline);
                    found.extend(pieces.iter().map(|piece| origin.range(piece.start, piece.end)));
                }
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// The bytes that pieces cover.
pub(crate) fn length(pieces: &[split::Span]) -> isize {
    pieces.last().map_or(0, |last| last.end as isize) - pieces.first().map_or(0, |first| first.start as isize)
}
