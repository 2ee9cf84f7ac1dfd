//! WordPiece training: from word counts to a vocabulary, by one of two rules.
//!
//! `Frequency` is what Hugging Face's WordPieceTrainer does: byte pair encoding over characters, where those inside of a
//! word wear the prefix. `Likelihood` is the paper's (Schuster and Nakajima 2012): the pair that stands together most
//! often *for how often its parts stand*. Ids: special tokens, the alphabet by code point, its characters with the
//! prefix by code point, then what was joined. At equal scores the smallest (left id, right id) is joined.
//!
//! Hugging Face numbers the characters with the prefix as its hash table meets the words, anew in every run, and so its
//! ties. This is one of its results, and always the same one.

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};

use super::likelihood;
use crate::bpe::train::{Row, TieBreak, Tokens, TrainOptions, train_rows};
use crate::count::{CountedPiece, PieceCounts};
use crate::error::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Score {
    Frequency,
    Likelihood,
}

#[derive(Debug, Clone)]
pub struct Options {
    pub score: Score,
    pub vocab_size: usize,
    pub special_tokens: Vec<String>,
    /// Characters that are tokens whether the words hold them or not.
    pub initial_alphabet: Vec<char>,
    /// The most characters that are kept: the initial ones, then the most frequent. The others vanish from the words.
    pub limit_alphabet: Option<usize>,
    /// A pair that occurs less often is not joined; 0 means 1.
    pub min_frequency: u64,
    pub prefix: String,
}

/// The tokens in the order of their ids.
struct Names {
    tokens: Vec<String>,
    id_by_token: HashMap<String, u32, FixedState>,
}

impl Names {
    fn id(&mut self, token: String) -> u32 {
        let next = self.tokens.len() as u32;
        let id = *self.id_by_token.entry_ref(token.as_str()).or_insert(next);
        if id == next {
            self.tokens.push(token);
        }
        id
    }
}

/// The vocabulary that `words` teach, in the order of its ids. `progress` as in `bpe::train`.
pub fn train(words: &PieceCounts, options: &Options, progress: &mut dyn FnMut(usize) -> bool) -> Result<Vec<String>> {
    let words = words.sorted_by_count();
    let mut names = Names { tokens: Vec::new(), id_by_token: HashMap::default() };
    for token in &options.special_tokens {
        names.id(token.clone());
    }
    let num_special = names.tokens.len() as u32;
    let alphabet = alphabet(&words, options);
    for character in &alphabet {
        names.id(character.to_string());
    }
    let rows = rows(&words, &alphabet, &mut names, options);
    let num_merges = options.vocab_size.saturating_sub(names.tokens.len());
    let mut tokens = Tokens::new(names.tokens.iter().map(|token| token.as_bytes().to_vec()), &options.prefix);
    let in_rows: HashSet<u32, FixedState> = rows.iter().flat_map(|(symbols, _)| symbols.iter().copied()).collect();
    (0..num_special).filter(|id| !in_rows.contains(id)).for_each(|id| tokens.name(id));
    let merges = match options.score {
        Score::Frequency => {
            let options = TrainOptions {
                num_merges,
                byte_order: [0; 256],
                tie_break: TieBreak::Ids,
                min_frequency: options.min_frequency,
                max_token_length: None,
                never_merge_spaces: false,
            };
            train_rows(&rows, tokens, &options, progress)?.merges
        }
        Score::Likelihood => likelihood::train(&rows, tokens, num_merges, options.min_frequency, progress)?,
    };
    for (left, right, _) in merges {
        let spelled = |id: u32| names.tokens.get(id as usize).map_or("", String::as_str);
        let (left, right) = (spelled(left), spelled(right));
        let joined = format!("{left}{}", right.strip_prefix(options.prefix.as_str()).unwrap_or(right));
        names.id(joined);
    }
    Ok(names.tokens)
}

fn text<'a>(word: &CountedPiece<'a>) -> &'a str {
    // The scan makes words of whole characters.
    std::str::from_utf8(word.bytes).unwrap_or_default()
}

/// The characters that are kept, by code point.
fn alphabet(words: &[CountedPiece], options: &Options) -> Vec<char> {
    let mut counts: HashMap<char, u64, FixedState> = HashMap::default();
    for word in words {
        for character in text(word).chars() {
            let count = counts.entry(character).or_default();
            *count = count.saturating_add(word.count);
        }
    }
    counts.extend(options.initial_alphabet.iter().map(|&character| (character, u64::MAX)));
    let mut kept: Vec<(char, u64)> = counts.into_iter().collect();
    kept.sort_unstable_by_key(|&(character, count)| (std::cmp::Reverse(count), character));
    kept.truncate(options.limit_alphabet.unwrap_or(usize::MAX));
    let mut kept: Vec<char> = kept.into_iter().map(|(character, _)| character).collect();
    kept.sort_unstable();
    kept
}

/// The words as ids of their characters. Those inside of words get their ids here.
fn rows(words: &[CountedPiece], alphabet: &[char], names: &mut Names, options: &Options) -> Vec<Row> {
    let kept: HashSet<char, FixedState> = alphabet.iter().copied().collect();
    let mut inside: Vec<char> = Vec::new();
    let mut is_inside: HashSet<char, FixedState> = HashSet::default();
    for word in words {
        let more = text(word).chars().skip(1).filter(|character| kept.contains(character));
        inside.extend(more.filter(|&character| is_inside.insert(character)));
    }
    inside.sort_unstable();
    let first: HashMap<char, u32, FixedState> = alphabet.iter().map(|&c| (c, names.id(c.to_string()))).collect();
    let prefix = &options.prefix;
    let inside: HashMap<char, u32, FixedState> =
        inside.into_iter().map(|c| (c, names.id(format!("{prefix}{c}")))).collect();
    let symbol = |(at, character): (usize, char)| if at == 0 { &first } else { &inside }.get(&character).copied();
    words.iter().map(|word| (text(word).chars().enumerate().filter_map(symbol).collect(), word.count)).collect()
}
