//! The chain: a tokenizer.json run as it is written, component after component.
//!
//! ```text
//! text ─▶ added tokens cut out ─▶ normalized ─▶ pieces ─▶ tokens ─▶ ids, offsets, words
//!                          normalizers.rs  pre_tokenizers.rs  models/
//!          └────── aligned.rs ──────┘        └─ pieces.rs ─┘
//! ids ─▶ spelled tokens ─▶ text               decoders.rs
//! ```
//!
//! It equals Hugging Face's `tokenizers` 0.23 in ids, offsets and words, and is the slow twin of the byte-level engine.
//! Regexes come in the `rust` dialect: whoever reads a tokenizer.json translates them.

mod aligned;
mod bert;
mod byte_alphabet;
mod decoders;
mod normalizers;
mod offsets;
mod patterns;
mod pieces;
mod pre_tokenizers;
mod precompiled;
mod scripts;

use std::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use serde::Deserialize;

use crate::decode::UnknownIds;
use crate::error::{Error, Result};
use crate::idle::Idle;
use crate::models::{Model, Token};
use crate::pulse::Pulse;
use crate::special::{AddedToken, Matcher};
use crate::wordpiece::encode;
use aligned::Aligned;
use decoders::Decoder;
use normalizers::Normalizer;
use offsets::Trim;
use pieces::{Piece, Pieces};
use pre_tokenizers::PreTokenizer;

pub use crate::models::Forbidden;
pub use offsets::{Encoding, Units};

/// Parts of up to this many bytes are remembered within a call.
const MAX_MEMO_BYTES: usize = 128;
const MAX_MEMO_PARTS: usize = 1 << 16;

/// Pieces of up to this many bytes are not looked through for parts.
const MAX_WHOLE_BYTES: usize = 64;

/// The components of tokenizer.json.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Components {
    normalizer: Option<normalizers::Component>,
    pre_tokenizer: Option<pre_tokenizers::Component>,
    post_processor: Option<offsets::Component>,
    decoder: Option<decoders::Component>,
}

#[derive(Debug)]
pub struct Chain {
    normalizers: Vec<Normalizer>,
    pre_tokenizers: Vec<PreTokenizer>,
    model: Model,
    trims: Vec<Trim>,
    decoder: Option<Vec<Decoder>>,
    added: Vec<AddedToken>,
    /// Those that match in the original text, and those that match in the normalized.
    original: Matcher,
    normalized: Matcher,
    /// How each added token is spelled: by its content, normalized where it matches so.
    spelled: HashMap<u32, String, FixedState>,
    special: HashSet<String, FixedState>,
    /// Whether ids depend on where in the original text something came from.
    always_tracks: bool,
    /// What gives the same ids sooner.
    fast: Option<bert::Fast>,
    idle: Idle<Scratch>,
}

/// Buffers of one thread, and the tokens of the pieces that its call has met, or on the fast path any call.
#[derive(Debug, Default)]
pub struct Scratch {
    pieces: Pieces,
    aligned: Aligned,
    words: encode::Scratch,
    tokens: Vec<Token>,
    memo: Memo,
    /// Room for the ids of a call.
    pub ids: Vec<u32>,
}

/// What was tokenized before: where the tokens of each part stand in the list.
#[derive(Debug, Default)]
struct Memo {
    places: HashMap<Box<str>, (u32, u32), FixedState>,
    tokens: Vec<Token>,
}

impl Memo {
    fn clear(&mut self) {
        self.places.clear();
        self.tokens.clear();
    }

    /// Appends the tokens of `part`, which begins at `start` of its piece.
    fn tokenize(
        &mut self,
        (model, forbidden): (&Model, &Forbidden),
        part: &str,
        start: u32,
        tokens: &mut Vec<Token>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let begin = tokens.len();
        match self.places.get(part) {
            Some(&(from, to)) => {
                tokens.extend_from_slice(self.tokens.get(from as usize..to as usize).unwrap_or_default());
            }
            None => {
                model.tokenize(part, forbidden, tokens, pulse)?;
                if part.len() <= MAX_MEMO_BYTES && self.places.len() < MAX_MEMO_PARTS {
                    let from = self.tokens.len() as u32;
                    self.tokens.extend_from_slice(tokens.get(begin..).unwrap_or_default());
                    self.places.insert(part.into(), (from, self.tokens.len() as u32));
                }
            }
        }
        if start > 0 {
            for token in tokens.iter_mut().skip(begin) {
                (token.start, token.end) = (token.start + start, token.end + start);
            }
        }
        Ok(())
    }
}

impl Chain {
    /// `components` is JSON text: those of tokenizer.json by their names, where a missing one is none.
    pub fn new(components: &str, model: Model, added: Vec<AddedToken>) -> Result<Self> {
        let components: Components =
            serde_json::from_str(components).map_err(|error| Error::Spec(format!("components: {error}")))?;
        let fast = components.word_piece(&model)?;
        let normalizers = normalizers::parse(components.normalizer)?;
        let pre_tokenizers = pre_tokenizers::parse(components.pre_tokenizer)?;
        let decoder = components.decoder.map(decoders::Component::into_steps).transpose()?;
        let detaches = normalizers.iter().any(Normalizer::may_detach);
        let is_first_of_all = |at: usize| at == 0 && normalizers.is_empty();
        let asks = |(at, step): (usize, &PreTokenizer)| step.asks_for_origins() && !is_first_of_all(at);
        let always_tracks = detaches || pre_tokenizers.iter().enumerate().any(asks);
        let mut chain = Self {
            trims: components.post_processor.map_or(Vec::new(), offsets::Component::into_trims),
            always_tracks,
            fast,
            normalizers,
            pre_tokenizers,
            model,
            decoder,
            added,
            original: Matcher::new(&[])?,
            normalized: Matcher::new(&[])?,
            spelled: HashMap::default(),
            special: HashSet::default(),
            idle: Idle::default(),
        };
        chain.prepare_added()?;
        Ok(chain)
    }

    fn prepare_added(&mut self) -> Result<()> {
        self.added.retain(|token| !token.content.is_empty());
        let mut go_on = || true;
        let mut pulse = Pulse::new(&mut go_on);
        let mut aligned = Aligned::default();
        let (mut original, mut normalized) = (Vec::new(), Vec::new());
        for token in &self.added {
            let mut token = token.clone();
            if token.special {
                self.special.insert(token.content.clone());
            }
            if token.normalized {
                aligned.start(&token.content, 0, self.always_tracks, &mut pulse);
                self.normalize(&mut aligned, &mut pulse)?;
                token.content = aligned.text().to_owned();
            }
            self.spelled.insert(token.id, token.content.clone());
            if token.content.is_empty() {
                // Normalization left nothing to match: such a token only decodes.
                continue;
            }
            if token.normalized { normalized.push(token) } else { original.push(token) }
        }
        self.original = Matcher::new(&original)?;
        self.normalized = Matcher::new(&normalized)?;
        if self.added.iter().any(|token| token.special && self.may_be_given(&token.content)) {
            self.fast = None;
        }
        Ok(())
    }

    fn normalize(&self, text: &mut Aligned, pulse: &mut Pulse) -> Result<()> {
        self.normalizers.iter().try_for_each(|normalizer| normalizer.apply(text, pulse))
    }

    /// What a call does not match when it allows these special tokens.
    pub fn forbid(&self, is_allowed: impl Fn(&str) -> bool) -> Forbidden {
        let is_special = |token: &&AddedToken| self.special.contains(&token.content);
        let forbidden = self.added.iter().filter(is_special).filter(|token| !is_allowed(&token.content));
        forbidden.map(|token| token.id).collect()
    }

    /// The scratches that no call uses.
    pub fn idle(&self) -> &Idle<Scratch> {
        &self.idle
    }

    pub fn with_scratch<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        let mut scratch = self.idle.lend();
        let result = work(&mut scratch);
        self.idle.give_back(scratch);
        result
    }

    /// Appends the ids of `text` to `ids`. `go_on` is asked every 64 KB or so; when it says no, `Error::Interrupted`.
    pub fn encode_into(
        &self,
        text: &str,
        forbidden: &Forbidden,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        if let Some(fast) = &self.fast {
            return self.encode_words_into(fast, text, forbidden, scratch, ids, go_on);
        }
        let pulse = &mut Pulse::new(go_on);
        self.for_each(text, forbidden, self.always_tracks, scratch, pulse, &mut |_, piece, tokens| match piece.added {
            Some(id) => ids.push(id),
            None => ids.extend(tokens.iter().map(|token| token.id)),
        })
    }

    /// Cuts `text` into pieces: `scratch.pieces` holds them then.
    fn cut(
        &self,
        text: &str,
        forbidden: &Forbidden,
        tracks: bool,
        scratch: &mut Scratch,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let Scratch { pieces, aligned, .. } = scratch;
        if u32::try_from(text.len()).is_err() {
            return Err(Error::TextTooLong { size: text.len() });
        }
        pieces.start(tracks);
        let is_allowed = |id: u32| !forbidden.contains(id);
        let mut done = 0;
        for found in self.original.find_allowed(text, is_allowed) {
            self.cut_between(text, done..found.start, forbidden, (pieces, aligned), pulse)?;
            let token = text.get(found.start..found.end).unwrap_or_default();
            pieces.push_added(found.id, token, found.start as u32, pulse);
            done = found.end;
        }
        self.cut_between(text, done..text.len(), forbidden, (pieces, aligned), pulse)?;
        self.pre_tokenizers.iter().try_for_each(|step| step.apply(pieces, pulse))
    }

    /// What lies between the tokens that match in the original: normalized, then cut at those that match so.
    fn cut_between(
        &self,
        text: &str,
        span: Range<usize>,
        forbidden: &Forbidden,
        (pieces, aligned): (&mut Pieces, &mut Aligned),
        pulse: &mut Pulse,
    ) -> Result<()> {
        pulse.beat(1)?;
        let start = span.start as u32;
        let Some(between) = text.get(span).filter(|between| !between.is_empty()) else { return Ok(()) };
        aligned.start(between, start, pieces.tracks(), pulse);
        self.normalize(aligned, pulse)?;
        let is_allowed = |id: u32| !forbidden.contains(id);
        let size = aligned.text().len();
        let mut parts = Vec::new();
        let mut done = 0;
        for found in self.normalized.find_allowed(aligned.text(), is_allowed) {
            pulse.beat(found.end - done)?;
            parts.extend([(done, found.start, None), (found.start, found.end, Some(found.id))]);
            done = found.end;
        }
        parts.push((done, size, None));
        pieces.push_parts(aligned, parts.into_iter(), pulse);
        pulse.check()
    }

    /// Calls `sink` with each piece of `text` and its tokens, in order.
    fn for_each(
        &self,
        text: &str,
        forbidden: &Forbidden,
        tracks: bool,
        scratch: &mut Scratch,
        pulse: &mut Pulse,
        sink: &mut dyn FnMut(&Pieces, &Piece, &[Token]),
    ) -> Result<()> {
        self.cut(text, forbidden, tracks, scratch, pulse)?;
        let Scratch { pieces, tokens, memo, .. } = scratch;
        memo.clear();
        for piece in pieces.pieces() {
            tokens.clear();
            let text = if piece.added.is_none() { pieces.text(piece) } else { "" };
            if u32::try_from(text.len()).is_err() {
                return Err(Error::TextTooLong { size: text.len() });
            }
            let mut start = 0;
            while start < text.len() {
                let is_short = text.len() <= MAX_WHOLE_BYTES;
                let end = if is_short { text.len() } else { self.model.part_end(text, start, pulse)? };
                let part = text.get(start..end).unwrap_or_default();
                pulse.beat(part.len())?;
                memo.tokenize((&self.model, forbidden), part, start as u32, tokens, pulse)?;
                start = end;
            }
            sink(pieces, piece, tokens);
        }
        Ok(())
    }

    /// The pieces of `text` and its added tokens, as the bytes of the original text they come from. `go_on` is asked now
    /// and then.
    pub fn pieces(
        &self,
        text: &str,
        forbidden: &Forbidden,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<(usize, usize)>> {
        self.with_scratch(|scratch| {
            self.cut(text, forbidden, true, scratch, &mut Pulse::new(go_on))?;
            let origin = |piece: &Piece| (piece.origin.start as usize, piece.origin.end as usize);
            Ok(scratch.pieces.pieces().iter().map(origin).collect())
        })
    }

    /// Appends the ids of one piece, by the model alone.
    pub fn encode_piece(&self, piece: &str, go_on: &mut dyn FnMut() -> bool) -> Result<Vec<u32>> {
        let mut tokens = Vec::new();
        self.model.tokenize(piece, &Forbidden::default(), &mut tokens, &mut Pulse::new(go_on))?;
        Ok(tokens.iter().map(|token| token.id).collect())
    }

    /// The bytes that `ids` decode to.
    pub fn decode(&self, ids: &[u32], unknown: UnknownIds, skip_special: bool) -> Result<Vec<u8>> {
        let mut tokens = Vec::with_capacity(ids.len());
        for &id in ids {
            match self.spelled(id) {
                Some(token) if skip_special && self.special.contains(token) => {}
                Some(token) => tokens.push(token.to_owned()),
                None => match unknown {
                    UnknownIds::Error => {
                        return Err(Error::UnknownId {
                            id: id.into(),
                            max_id: self.num_ids().saturating_sub(1) as u32,
                        });
                    }
                    UnknownIds::Replace => tokens.push("\u{FFFD}".to_owned()),
                    UnknownIds::Skip => {}
                },
            }
        }
        match &self.decoder {
            Some(steps) => decoders::decode(steps, tokens),
            None => Ok(tokens.join(" ").into_bytes()),
        }
    }

    /// How the token with this id is spelled.
    pub fn spelled(&self, id: u32) -> Option<&str> {
        match self.spelled.get(&id) {
            Some(token) => Some(token),
            None => self.model.vocabulary().token(id).and_then(|token| std::str::from_utf8(token).ok()),
        }
    }

    /// The id of an added token with this content, or of a token with this spelling.
    pub fn id(&self, token: &[u8]) -> Option<u32> {
        let added = self.added.iter().rev().find(|added| added.content.as_bytes() == token);
        added.map(|added| added.id).or_else(|| self.model.id(token))
    }

    /// One more than the greatest id.
    pub fn num_ids(&self) -> usize {
        let vocabulary = self.model.vocabulary();
        let of_model = if vocabulary.is_empty() { 0 } else { vocabulary.max_id() as usize + 1 };
        self.added.iter().map(|token| token.id as usize + 1).max().unwrap_or(0).max(of_model)
    }

    /// The number of bytes that each id's token stands for inside a text, 0 for special ones and for ids without one.
    pub fn byte_lengths(&self) -> Result<Vec<u32>> {
        let steps = self.decoder.as_deref().unwrap_or_default();
        let is_byte_fallback = steps.iter().any(|step| matches!(step, Decoder::ByteFallback));
        let around = |tokens: &[&str]| -> Result<usize> {
            Ok(decoders::decode(steps, tokens.iter().map(|&token| token.to_owned()).collect())?.len())
        };
        let alone = around(&["a", "b"])?;
        let length = |id: u32| match self.spelled(id) {
            None => Ok(0),
            Some(token) if self.special.contains(token) => Ok(0),
            Some(token) if is_byte_fallback && decoders::fallback_byte(token).is_some() => Ok(1),
            Some(token) => Ok(around(&["a", token, "b"])?.saturating_sub(alone) as u32),
        };
        (0..self.num_ids() as u32).map(length).collect()
    }

    /// What is fast about this chain, and what is not and why: name and account of each path.
    pub fn certificate(&self) -> Vec<(String, String)> {
        if let Some(fast) = &self.fast {
            return fast.words.certificate().map(|(name, account)| (name.into(), account.into())).to_vec();
        }
        let accounts: Vec<_> = self.pre_tokenizers.iter().filter_map(PreTokenizer::certificate).collect();
        let one = accounts.len() == 1;
        let name = |at: usize| if one { "split".into() } else { format!("split {}", at + 1) };
        let mut paths: Vec<_> = accounts.into_iter().enumerate().map(|(at, account)| (name(at), account)).collect();
        paths.push(("cut".into(), "nowhere: the chain is run on a text as a whole".into()));
        paths.push(("model".into(), self.model.certificate().into()));
        paths
    }
}
