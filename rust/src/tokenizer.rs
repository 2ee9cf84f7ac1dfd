//! The whole of encoding: text → pieces → ids, with spans where they are asked for.

use crate::bpe::cache::{Key, WordTable};
use crate::bpe::encode::{self, Bpe};
use crate::decode::Decoder;
use crate::error::Result;
use crate::idle::Idle;
use crate::pieces::{Added, Cut, Origin, Part, Pipeline};
use crate::pulse::Pulse;
use crate::special::AddedToken;

#[derive(Debug)]
pub struct Tokenizer {
    pipeline: Pipeline,
    idle: Idle<Scratch>,
    model: Bpe,
    added: Vec<AddedToken>,
    decoder: Decoder,
}

/// Buffers that outlive a call, and what it has found before.
#[derive(Debug, Default)]
pub struct Scratch {
    pieces: encode::Scratch,
    /// The ids of short runs: where added tokens stand close, the same few are between them.
    runs: WordTable,
    /// Room for the ids of a call.
    pub ids: Vec<u32>,
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
        Ok(Self { pipeline, idle: Idle::default(), model, added, decoder })
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

    /// The scratches that no call uses.
    pub fn idle(&self) -> &Idle<Scratch> {
        &self.idle
    }

    /// Appends the ids of `text` to `ids`. `go_on` is asked now and then; when it says no, `Error::Interrupted`.
    pub fn encode_into(
        &self,
        text: &str,
        added: &Added,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let mut pulse = Pulse::new(go_on);
        let Scratch { pieces: scratch, runs, .. } = scratch;
        self.pipeline.for_each_run(text, added, &mut |cut| {
            let run = match cut {
                Cut::Added { id, start, end } => {
                    ids.push(id);
                    return pulse.beat(end - start);
                }
                Cut::Run(run) => run,
            };
            let length = run.text().len();
            // A key is taken where the run stands, so that it is one load. A whole text is no run between tokens.
            let key = match run.is_whole_original() {
                _ if length == text.len() => Key::of_none(0),
                true => Key::new(text.as_bytes(), run.offset(0) as usize, run.offset(length) as usize),
                false => Key::new(run.text().as_bytes(), 0, length),
            };
            if runs.append(key, ids) {
                return pulse.beat(length);
            }
            let before = ids.len();
            self.pipeline.split(run, &mut |run, pieces| {
                pulse.beat(Part::Pieces { run, pieces }.length())?;
                self.model.encode_pieces_into(run.text(), pieces, scratch, ids, &mut pulse)
            })?;
            if !key.is_of_none() {
                runs.insert(key, ids.get(before..).unwrap_or_default());
            }
            Ok(())
        })
    }

    /// Appends the ids of one piece, by the model alone.
    pub fn encode_piece_into(
        &self,
        piece: &[u8],
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        self.model.encode_into(piece, &mut scratch.pieces, ids, &mut Pulse::new(go_on))
    }

    /// The tokens of `text`, each with the bytes it covers. `go_on` is asked now and then.
    pub fn spans(
        &self,
        text: &str,
        added: &Added,
        scratch: &mut Scratch,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<TokenSpan>> {
        let mut pulse = Pulse::new(go_on);
        let mut spans = Vec::new();
        let mut ids = Vec::new();
        // Of the run under work: runs always have an added token between them.
        let mut origin: Option<Origin> = None;
        self.pipeline.for_each(text, added, &mut |part| match part {
            Part::Added { id, start, end } => {
                spans.push(TokenSpan { id, start, end });
                origin = None;
                pulse.beat(end - start)
            }
            Part::Pieces { run, pieces } => {
                let origin = origin.get_or_insert_with(|| run.origin(&self.pipeline));
                for piece in pieces {
                    ids.clear();
                    let bytes = run.text().as_bytes().get(piece.start..piece.end).unwrap_or_default();
                    self.model.encode_into(bytes, &mut scratch.pieces, &mut ids, &mut pulse)?;
                    let mut at = piece.start;
                    for &id in &ids {
                        let end = at + self.model.vocabulary().token(id).map_or(0, <[u8]>::len);
                        let (from, to) = origin.range(at, end);
                        spans.push(TokenSpan { id, start: from, end: to });
                        at = end;
                        pulse.beat(16)?;
                    }
                }
                Ok(())
            }
        })?;
        Ok(spans)
    }

    /// `text` in parts of about `size` bytes, with where they begin, whose ids are together those of the whole.
    pub fn safe_parts<'t>(&self, text: &'t str, added: &Added, size: usize) -> Vec<(usize, &'t str)> {
        self.pipeline.safe_parts(text, added, size)
    }

    /// The last place where `text` may be cut: the ids of both parts are those of the whole, whatever text follows.
    pub fn last_safe_cut(&self, text: &str, added: &Added) -> Option<usize> {
        self.pipeline.last_safe_cut(text, added)
    }

    /// The pieces of `text` and its added tokens, as the bytes of the original text they cover. `go_on` is asked now and
    /// then.
    pub fn pieces(&self, text: &str, added: &Added, go_on: &mut dyn FnMut() -> bool) -> Result<Vec<(usize, usize)>> {
        let mut pulse = Pulse::new(go_on);
        let mut found = Vec::new();
        self.pipeline.for_each(text, added, &mut |part| {
            match part {
                Part::Added { start, end, .. } => found.push((start, end)),
                Part::Pieces { run, pieces } => {
                    let origin = run.origin(&self.pipeline);
                    found.extend(pieces.iter().map(|piece| origin.range(piece.start, piece.end)));
                }
            }
            pulse.beat(part.length())
        })?;
        Ok(found)
    }
}
