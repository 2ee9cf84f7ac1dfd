//! Fixed workloads for counting instructions: `make bench-instructions`.
//!
//! `workloads NAME` prepares the workload and runs it once within `measured`, which is where callgrind counts. Texts are
//! made from a seed and the tokens of cl100k_base, so the counts change with the engine and the compiler alone.

use std::hint::black_box;

use merganser::bpe::encode::Bpe;
use merganser::bpe::train::{TieBreak, TrainOptions, train};
use merganser::count::{PieceCounts, Position, add_document};
use merganser::decode::UnknownIds;
use merganser::error::Result;
use merganser::pieces::{Added, Pipeline, Step};
use merganser::split::{Machine, Splitter, Unmatched, patterns};
use merganser::tokenizer::{Scratch, Tokenizer};
use merganser::vocabulary::Vocabulary;

const TOKENS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../python/merganser/vocabularies/cl100k_base.tokens");
const SIZE: usize = 200_000;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let (data, ends) = tokens(&std::fs::read(TOKENS)?);
    let mut random = Random(7);
    let english = english(&data, &ends, &mut random);
    let ids: Vec<u32> = (0..ends.len() as u32).collect();
    let model = Bpe::by_rank(Vocabulary::new(&data, ends, ids)?, &[])?;
    let tokenizer = Tokenizer::new(pipeline()?, model, Vec::new())?;
    let added = tokenizer.allow(|_| true)?;
    let mut encoder = Encoder { tokenizer: &tokenizer, added: &added, scratch: Scratch::default(), ids: Vec::new() };
    match name.as_str() {
        "encode short" => {
            let texts: Vec<&str> = english.as_bytes().chunks(100).flat_map(std::str::from_utf8).collect();
            encoder.all(&texts)?;
            measured(&mut || encoder.all(&texts))
        }
        "encode again" => {
            encoder.all(&[&english])?;
            measured(&mut || encoder.all(&[&english]))
        }
        "encode unseen" => measured(&mut || encoder.all(&[&english])),
        "encode CJK" => {
            let text = chinese(&mut random);
            measured(&mut || encoder.all(&[&text]))
        }
        "split" => {
            let machine = Machine::compile(pattern())?;
            measured(&mut || {
                machine.for_each(&english, |start, end| {
                    black_box((start, end));
                });
                Ok(())
            })
        }
        "train" => {
            let pipeline = pipeline()?;
            measured(&mut || learn(&pipeline, &added, &english))
        }
        "decode" => {
            encoder.all(&[&english])?;
            let mut bytes = Vec::new();
            let mut decode = || tokenizer.decoder().decode_into(&encoder.ids, UnknownIds::Error, false, &mut bytes);
            measured(&mut decode)
        }
        _ => return Err("expected the name of a workload, as in benches/instructions.json".into()),
    }?;
    Ok(())
}

/// Callgrind counts what happens between entering and leaving this function.
#[inline(never)]
fn measured(work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    black_box(work())
}

struct Encoder<'t> {
    tokenizer: &'t Tokenizer,
    added: &'t Added,
    scratch: Scratch,
    ids: Vec<u32>,
}

impl Encoder<'_> {
    fn all(&mut self, texts: &[&str]) -> Result<()> {
        self.ids.clear();
        let Self { tokenizer, added, scratch, ids } = self;
        texts.iter().try_for_each(|text| tokenizer.encode_into(text, added, scratch, ids, &mut || true))
    }
}

fn learn(pipeline: &Pipeline, added: &Added, text: &str) -> Result<()> {
    let mut counts = PieceCounts::new();
    add_document(&mut counts, pipeline, added, text, Position { document: 0, offset: 0 }, &mut || true)?;
    let options = TrainOptions {
        num_merges: 1000,
        byte_order: std::array::from_fn(|byte| byte as u8),
        tie_break: TieBreak::Ids,
        min_frequency: 1,
        max_token_length: None,
        never_merge_spaces: false,
    };
    train(&counts, &options, &mut |_| true).map(|training| drop(black_box(training)))
}

fn pattern() -> &'static str {
    patterns::all().find(|published| published.name == "cl100k").map_or("", |published| published.pattern)
}

fn pipeline() -> Result<Pipeline> {
    Pipeline::new(Vec::new(), vec![Step::Split(Splitter::new(pattern(), Unmatched::Keep)?)])
}

/// The bytes of a packed table's tokens and where each ends: a count, a length each in a byte, and the bytes.
fn tokens(table: &[u8]) -> (Vec<u8>, Vec<u32>) {
    let (count, rest) = table.split_at(4);
    let count = count.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte));
    let (lengths, data) = rest.split_at(count);
    let mut end = 0;
    let ends = lengths.iter().map(|&length| {
        end += u32::from(length);
        end
    });
    (data.to_vec(), ends.collect())
}

/// Words of the vocabulary, the lower ranks more often, one in eight made of two; commas and line ends.
fn english(data: &[u8], ends: &[u32], random: &mut Random) -> String {
    let starts = std::iter::once(&0).chain(ends);
    let all = starts.zip(ends).flat_map(|(&start, &end)| std::str::from_utf8(&data[start as usize..end as usize]));
    let is_word = |token: &&str| token.len() > 2 && token[1..].bytes().all(|byte| byte.is_ascii_lowercase());
    let words: Vec<&str> = all.filter(|token| token.starts_with(' ')).filter(is_word).take(1 << 14).collect();
    let mut text = String::new();
    while text.len() < SIZE {
        text.push_str(words[random.often_low(14)]);
        match random.below(32) {
            0..4 => text.push_str(words[random.often_low(14)].trim_start()),
            4..6 => text.push(','),
            6 => text.push_str(".\n"),
            _ => {}
        }
    }
    text
}

/// Chinese characters without spaces, some much more often, with a comma now and then.
fn chinese(random: &mut Random) -> String {
    let mut text = String::new();
    while text.len() < SIZE {
        text.extend(char::from_u32(0x4e00 + random.often_low(14) as u32));
        if random.below(10) == 0 {
            text.push('，');
        }
    }
    text
}

/// Xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    /// Below `1 << bits`, each power of two as likely as the next.
    fn often_low(&mut self, bits: usize) -> usize {
        let bits = self.below(bits) + 1;
        self.below(1 << bits)
    }
}
