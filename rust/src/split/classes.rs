//! Character sets → equivalence classes: two characters are in one class if no set of the pattern tells
//! them apart, so the automata read classes only.
//!
//! One sweep over the sorted range boundaries of all sets, O(r log r); the result is a table of 128
//! entries for ASCII and a two-stage table for the rest. Equal to asking each set about each character.

use std::collections::HashMap;

use regex_syntax::hir::{Class, HirKind};

use super::dfa::Unsupported;

const NUM_CODE_POINTS: u32 = 0x11_0000;
const SURROGATES: std::ops::Range<u32> = 0xD800..0xE000;
const BLOCK: usize = 256;

/// Sorted, disjoint, inclusive ranges of code points.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CharSet(Vec<(u32, u32)>);

impl CharSet {
    pub fn from_ranges<const N: usize>(ranges: [(char, char); N]) -> Self {
        CharSet(ranges.iter().map(|&(low, high)| (low as u32, high as u32)).collect())
    }

    /// The set of characters that `source`, a pattern for one character, matches.
    pub fn parse(source: &str, ignore_case: bool) -> Result<Self, String> {
        let mut parser = regex_syntax::ParserBuilder::new().case_insensitive(ignore_case).build();
        let hir = parser.parse(source).map_err(|error| match error {
            regex_syntax::Error::Parse(error) => format!("class {source}: {}", error.kind()),
            regex_syntax::Error::Translate(error) => format!("class {source}: {}", error.kind()),
            _ => format!("class {source}"),
        })?;
        match hir.kind() {
            HirKind::Class(Class::Unicode(class)) => {
                Ok(CharSet(class.ranges().iter().map(|range| (range.start() as u32, range.end() as u32)).collect()))
            }
            HirKind::Class(Class::Bytes(class)) if class.ranges().iter().all(|range| range.end() < 0x80) => {
                Ok(CharSet(class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect()))
            }
            HirKind::Literal(literal) => match std::str::from_utf8(&literal.0).map(|s| s.chars().collect::<Vec<_>>()) {
                Ok(chars) if chars.len() == 1 => Ok(CharSet(vec![(chars[0] as u32, chars[0] as u32)])),
                _ => Err(format!("class {source}")),
            },
            _ => Err(format!("class {source}")),
        }
    }
}

/// Maps characters to classes, `0..num_classes`.
#[derive(Debug, Clone)]
pub(super) struct Classes {
    pub ascii: [u8; 128],
    /// Offset into `blocks` of each block of 256 code points.
    stage: Vec<u32>,
    blocks: Vec<u8>,
    pub num_classes: usize,
    /// A character of each class.
    pub representatives: Vec<char>,
}

impl Classes {
    /// The classes of `sets`, and for each set whether it contains each class.
    pub fn partition(sets: &[CharSet]) -> Result<(Self, Vec<Vec<bool>>), Unsupported> {
        let mut edges: Vec<(u32, usize)> = Vec::new();
        for (set, CharSet(ranges)) in sets.iter().enumerate() {
            edges.extend(ranges.iter().flat_map(|&(low, high)| [(low, set), (high + 1, set)]));
        }
        edges.push((NUM_CODE_POINTS, 0));
        edges.sort_unstable();

        let mut members = vec![false; sets.len()];
        let mut class_by_members: HashMap<Vec<bool>, u8> = HashMap::new();
        let mut class_members: Vec<Vec<bool>> = Vec::new();
        let mut representatives = Vec::new();
        let mut flat = vec![0u8; NUM_CODE_POINTS as usize];
        let mut low = 0;
        for (edge, set) in edges {
            if low < edge {
                let first = if SURROGATES.contains(&low) { SURROGATES.end } else { low };
                // A range of surrogates only holds no characters and needs no class.
                if let Some(representative) = char::from_u32(first).filter(|_| first < edge) {
                    let class = match class_by_members.get(&members) {
                        Some(&class) => class,
                        None => {
                            let class = u8::try_from(class_members.len()).ok().filter(|&class| class < u8::MAX);
                            let class = class.ok_or(Unsupported::TooLarge("over 255 character classes"))?;
                            class_by_members.insert(members.clone(), class);
                            class_members.push(members.clone());
                            representatives.push(representative);
                            class
                        }
                    };
                    flat[low as usize..edge as usize].fill(class);
                }
                low = edge;
            }
            if edge < NUM_CODE_POINTS {
                members[set] = !members[set];
            }
        }
        let contains = (0..sets.len()).map(|set| class_members.iter().map(|members| members[set]).collect()).collect();
        Ok((Self::from_flat(&flat, representatives), contains))
    }

    fn from_flat(flat: &[u8], representatives: Vec<char>) -> Self {
        let mut ascii = [0; 128];
        ascii.copy_from_slice(&flat[..128]);
        let mut offset_by_block: HashMap<&[u8], u32> = HashMap::new();
        let mut blocks = Vec::new();
        let stage = flat.chunks_exact(BLOCK).map(|block| {
            *offset_by_block.entry(block).or_insert_with(|| {
                blocks.extend_from_slice(block);
                (blocks.len() - BLOCK) as u32
            })
        });
        let stage = stage.collect();
        Classes { ascii, stage, blocks, num_classes: representatives.len(), representatives }
    }

    /// Merges classes: class `c` becomes `merged[c]`.
    pub fn remap(&mut self, merged: &[u8]) {
        let apply = |class: &mut u8| *class = merged[usize::from(*class)];
        self.ascii.iter_mut().for_each(apply);
        self.blocks.iter_mut().for_each(apply);
        let num_classes = merged.iter().max().map_or(0, |&class| usize::from(class) + 1);
        let first = |class: usize| merged.iter().position(|&other| usize::from(other) == class);
        self.representatives = (0..num_classes).filter_map(first).map(|old| self.representatives[old]).collect();
        self.num_classes = num_classes;
    }

    pub fn of(&self, c: char) -> u8 {
        self.of_code_point(c as u32)
    }

    pub fn of_code_point(&self, code_point: u32) -> u8 {
        let block = self.stage[code_point as usize / BLOCK] as usize;
        self.blocks[block + code_point as usize % BLOCK]
    }

    /// The class of the character of two to four bytes at `at`, and its length.
    pub fn of_multibyte(&self, bytes: &[u8], at: usize) -> (u8, usize) {
        let byte = |offset: usize| bytes.get(at + offset).map_or(0, |&byte| u32::from(byte));
        let tail = |offset: usize| byte(offset) & 0x3F;
        let (code_point, len) = match byte(0) {
            lead @ ..0xE0 => ((lead & 0x1F) << 6 | tail(1), 2),
            lead @ 0xE0..0xF0 => ((lead & 0x0F) << 12 | tail(1) << 6 | tail(2), 3),
            lead => ((lead & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4),
        };
        (self.of_code_point(code_point), len)
    }
}
