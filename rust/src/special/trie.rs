//! A trie that finds the longest of many tokens at a place of a text, and the next place where one may begin.
//!
//! Most places of a text begin no token. A filter says so of most of them, from their first bytes: as many as the
//! shortest token has that begins with the same two, up to eight. At the others a double array is walked, one load a
//! byte, down to where a single token is left, and the rest of that is compared at once.
//!
//! A walk reads bytes that no match takes, and so reads them again. Tokens that would make it read many have no trie:
//! then each byte of a text is read at most `MAX_WASTE` times. Equal to trying every token at every place: see the tests
//! of the module above.

/// The most steps of a walk that no match makes up for. A step is a byte, or so many bytes compared at once.
const MAX_WASTE: usize = 128;
const BYTES_A_STEP: usize = 16;

/// The first bytes that the filter looks at, at most.
const FIRST_BYTES: usize = 8;
/// A shift that says that no token begins so.
const NO_TOKEN: u8 = 64;

const ROOT: u32 = 0;
/// The parents of the root and of a free cell.
const NONE: u32 = u32::MAX - 1;
const FREE: u32 = u32::MAX;
/// Above the base of a node: a token ends here; only one token goes on, and its rest is in `rests`.
const ENDS: u32 = 1 << 31;
const LEAF: u32 = 1 << 30;
const BASE: u32 = LEAF - 1;

#[derive(Debug, Clone)]
pub(super) struct Trie {
    filter: Filter,
    /// The child of a node by a byte stands at `base ^ byte`, and knows its parent.
    cells: Vec<Cell>,
    /// By cell: the token that ends there.
    places: Vec<u32>,
    /// For each leaf its token, the length of what is left of that, and that.
    rests: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    parent: u32,
    /// Where the children are, or the rest of a leaf, and `ENDS` or `LEAF`.
    base: u32,
}

impl Trie {
    /// The trie of `tokens`, which are sorted, not empty and no two equal. None where a walk could be long for nothing, or
    /// they are too many.
    pub fn new(tokens: &[&[u8]]) -> Option<Self> {
        let trie = Self { filter: Filter::new(tokens), cells: Vec::new(), places: Vec::new(), rests: Vec::new() };
        Builder { trie, tokens, before: Vec::new(), free: FREE }.build()
    }

    /// The longest token that `text` has at the first place from `from` on where it has any: the token's place in the
    /// sorted list, and where it begins and ends.
    pub fn find(&self, text: &[u8], mut from: usize) -> Option<(usize, usize, usize)> {
        loop {
            from = self.filter.next(text, from);
            if let Some((place, length)) = self.longest(text.get(from..).filter(|rest| !rest.is_empty())?) {
                return Some((place as usize, from, from + length));
            }
            from += 1;
        }
    }

    /// The longest token that `text` begins with, and its length.
    fn longest(&self, text: &[u8]) -> Option<(u32, usize)> {
        let mut node = ROOT;
        let mut base = self.cells.first()?.base;
        let mut last = None;
        for (depth, &byte) in text.iter().enumerate() {
            let child = base & BASE ^ u32::from(byte);
            let Some(cell) = self.cells.get(child as usize).filter(|cell| cell.parent == node) else { break };
            if cell.base & (ENDS | LEAF) != 0 {
                if cell.base & LEAF != 0 {
                    let (place, rest) = self.rest(cell.base)?;
                    if text.get(depth + 1..).is_some_and(|text| text.starts_with(rest)) {
                        return Some((place, depth + 1 + rest.len()));
                    }
                    break;
                }
                last = Some((child, depth + 1));
            }
            (node, base) = (child, cell.base);
        }
        let (node, length) = last?;
        Some((*self.places.get(node as usize)?, length))
    }

    fn rest(&self, base: u32) -> Option<(u32, &[u8])> {
        let (place, after) = self.rests.get((base & BASE) as usize..)?.split_first_chunk()?;
        let (length, after) = after.split_first_chunk()?;
        Some((u32::from_le_bytes(*place), after.get(..u32::from_le_bytes(*length) as usize)?))
    }
}

/// Says of most places that no token begins there.
#[derive(Debug, Clone)]
struct Filter {
    /// By the first two bytes: by how much eight bytes are shifted so that only the ones that count are left.
    shifts: Box<[u8; 1 << 16]>,
    /// Two bits of one word are set for the first bytes of each token.
    bits: Vec<u64>,
    /// Brings a hash down to the number of a word.
    down: u32,
}

impl Filter {
    fn new(tokens: &[&[u8]]) -> Self {
        let mut shifts = Box::new([NO_TOKEN; 1 << 16]);
        for token in tokens {
            let shift = 8 * (FIRST_BYTES - token.len().min(FIRST_BYTES)) as u8;
            let longer = |old: u8| if old == NO_TOKEN { shift } else { old.max(shift) };
            match **token {
                [first] => {
                    for second in 0..=255 {
                        let pair = u16::from_le_bytes([first, second]);
                        if let Some(old) = shifts.get_mut(usize::from(pair)) {
                            *old = longer(*old);
                        }
                    }
                }
                [first, second, ..] => {
                    let pair = u16::from_le_bytes([first, second]);
                    if let Some(old) = shifts.get_mut(usize::from(pair)) {
                        *old = longer(*old);
                    }
                }
                [] => {}
            }
        }
        let num_words = (tokens.len() / 4).next_power_of_two().clamp(2, MAX_WORDS);
        let down = 64 - num_words.trailing_zeros();
        let mut filter = Self { shifts, bits: vec![0; num_words], down };
        for token in tokens {
            let mut first = [0; FIRST_BYTES];
            first.iter_mut().zip(*token).for_each(|(to, from)| *to = *from);
            let (_, hash) = filter.hash(u64::from_le_bytes(first));
            let (word, bits) = filter.place(hash);
            if let Some(word) = filter.bits.get_mut(word) {
                *word |= bits;
            }
        }
        filter
    }

    /// The next place from `from` on where a token may begin; the last few bytes all may.
    #[inline]
    fn next(&self, text: &[u8], from: usize) -> usize {
        let rest = text.get(from..).unwrap_or_default();
        let may_begin = |first: &[u8]| {
            first.first_chunk().is_none_or(|first| {
                let (shift, hash) = self.hash(u64::from_le_bytes(*first));
                let (word, bits) = self.place(hash);
                let found = self.bits.get(word).copied().unwrap_or_default();
                (found & bits == bits) & (shift != NO_TOKEN)
            })
        };
        let skipped = rest.windows(FIRST_BYTES).position(may_begin);
        from + skipped.unwrap_or_else(|| (rest.len() + 1).saturating_sub(FIRST_BYTES))
    }

    #[inline]
    fn hash(&self, first: u64) -> (u8, u64) {
        let shift = self.shifts.get(usize::from(first as u16)).copied().unwrap_or(NO_TOKEN);
        (shift, (first << (shift & 63)).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// The word for a hash and its bits there.
    #[inline]
    fn place(&self, hash: u64) -> (usize, u64) {
        let further = hash.rotate_left(64 - self.down);
        ((hash >> self.down) as usize, 1 << (further >> 58) | 1 << (further >> 52 & 63))
    }
}

/// 1 MB: more would not stay near the processor.
const MAX_WORDS: usize = 1 << 17;

struct Builder<'b> {
    trie: Trie,
    tokens: &'b [&'b [u8]],
    /// The free cells are a ring: `base` is the next one, and this the one before.
    before: Vec<u32>,
    /// Where in the ring the next children are tried.
    free: u32,
}

/// A node whose children are to be placed: those of the tokens `first..last`, which agree in `depth` bytes.
struct Open {
    node: u32,
    first: usize,
    last: usize,
    depth: usize,
    /// Where on the way the last token ended.
    ended: usize,
}

/// How many free cells are tried before a block is added.
const TRIES: usize = 64;
const BLOCK: u32 = 256;

impl Builder<'_> {
    fn build(mut self) -> Option<Trie> {
        self.add_block()?;
        self.take(ROOT, NONE);
        let mut open = vec![Open { node: ROOT, first: 0, last: self.tokens.len(), depth: 0, ended: 0 }];
        let mut children = Vec::new();
        while let Some(parent) = open.pop() {
            children.clear();
            self.children(&parent, &mut children);
            let base = self.room_for(&children)?;
            self.set_base(parent.node, base);
            for &(byte, first, last) in &children {
                let node = base ^ u32::from(byte);
                self.take(node, parent.node);
                let depth = parent.depth + 1;
                let child = Open { node, first, last, depth, ended: parent.ended };
                open.extend(self.settle(child)?);
            }
        }
        let Self { mut trie, .. } = self;
        trie.cells.shrink_to_fit();
        trie.rests.shrink_to_fit();
        Some(trie)
    }

    /// The bytes that go on from a node, and the tokens of each.
    fn children(&self, open: &Open, children: &mut Vec<(u8, usize, usize)>) {
        let mut first = open.first;
        while first < open.last {
            let byte_of = |token: &&[u8]| token.get(open.depth).copied();
            let tokens = self.tokens.get(first..open.last).unwrap_or_default();
            let Some(byte) = tokens.first().and_then(byte_of) else { return };
            let same = tokens.iter().take_while(|token| byte_of(token) == Some(byte)).count();
            children.push((byte, first, first + same));
            first += same;
        }
    }

    /// Notes what ends at a node. Gives the node back where tokens go on from it; None outside where that is too far.
    fn settle(&mut self, mut node: Open) -> Option<Option<Open>> {
        let token = self.tokens.get(node.first)?;
        let rest = token.get(node.depth..)?;
        if node.last - node.first == 1 {
            let start = u32::try_from(self.trie.rests.len()).ok().filter(|&start| start <= BASE)?;
            let waste = node.depth - node.ended + rest.len() / BYTES_A_STEP;
            self.trie.rests.extend_from_slice(&(node.first as u32).to_le_bytes());
            self.trie.rests.extend_from_slice(&u32::try_from(rest.len()).ok()?.to_le_bytes());
            self.trie.rests.extend_from_slice(rest);
            self.set_base(node.node, start | LEAF);
            return (waste <= MAX_WASTE).then_some(None);
        }
        if rest.is_empty() {
            *self.trie.places.get_mut(node.node as usize)? = node.first as u32;
            self.set_base(node.node, ENDS);
            node.first += 1;
            node.ended = node.depth;
        }
        (node.depth - node.ended <= MAX_WASTE).then_some(Some(node))
    }

    /// A base whose cells for all these bytes are free.
    fn room_for(&mut self, children: &[(u8, usize, usize)]) -> Option<u32> {
        let &(byte, ..) = children.first()?;
        for _ in 0..TRIES {
            if self.free == FREE {
                break;
            }
            let base = self.free ^ u32::from(byte);
            let is_free = |&(byte, ..): &(u8, usize, usize)| {
                self.trie.cells.get((base ^ u32::from(byte)) as usize).is_some_and(|cell| cell.parent == FREE)
            };
            if children.iter().all(is_free) {
                return Some(base);
            }
            self.free = self.trie.cells.get(self.free as usize)?.base;
        }
        self.add_block()
    }

    /// Adds free cells to the ring, and gives the first.
    fn add_block(&mut self) -> Option<u32> {
        let start = u32::try_from(self.trie.cells.len()).ok().filter(|&start| start < BASE - BLOCK)?;
        for cell in start..start + BLOCK {
            let (before, next) = match self.before.get(self.free as usize) {
                Some(&before) => (before, self.free),
                None => (cell, cell),
            };
            self.trie.cells.push(Cell { parent: FREE, base: next });
            self.trie.places.push(0);
            self.before.push(before);
            self.link(before, cell);
            self.link(cell, next);
            if self.free == FREE {
                self.free = cell;
            }
        }
        self.free = start;
        Some(start)
    }

    fn link(&mut self, one: u32, next: u32) {
        if let (Some(cell), Some(before)) = (self.trie.cells.get_mut(one as usize), self.before.get_mut(next as usize))
        {
            (cell.base, *before) = (next, one);
        }
    }

    /// Takes a cell out of the ring.
    fn take(&mut self, node: u32, parent: u32) {
        let (Some(cell), Some(&before)) = (self.trie.cells.get_mut(node as usize), self.before.get(node as usize))
        else {
            return;
        };
        let next = cell.base;
        *cell = Cell { parent, base: 0 };
        if next == node {
            self.free = FREE;
            return;
        }
        if self.free == node {
            self.free = next;
        }
        self.link(before, next);
    }

    fn set_base(&mut self, node: u32, base: u32) {
        if let Some(cell) = self.trie.cells.get_mut(node as usize) {
            cell.base = base | cell.base & ENDS;
        }
    }
}
