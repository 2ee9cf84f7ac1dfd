//! A trie that finds the longest of many tokens at a place of a text, and the next place where one may begin.
//!
//! Time goes into memory that is far from the processor, so little is touched. Most places of a text begin no token, and
//! a filter says so of most of them, from their first bytes: as many as the shortest token has that begins with the same
//! two, up to eight. At the others a double array is walked, one load a byte, down to where a few tokens are left, which
//! stand side by side: seven bytes of the rest of each.
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
const NO_TOKEN: u8 = 63;

const ROOT: u32 = 0;
/// The parents of the root and of a free cell.
const NONE: u32 = u32::MAX - 1;
const FREE: u32 = u32::MAX;
/// Above the base of a node: a token ends here; it is a leaf.
const ENDS: u32 = 1 << 31;
const LEAF: u32 = 1 << 30;
const BASE: u32 = LEAF - 1;
/// Of a leaf, above the place of its first token: how many follow that.
const COUNT: u32 = 26;
const MAX_IN_LEAF: usize = 1 << (30 - COUNT);

/// The bytes of a rest that stand in the leaf.
const REST_BYTES: usize = 7;

#[derive(Debug, Clone)]
pub(super) struct Trie<V> {
    filter: Filter,
    /// The child of a node by a byte stands at `base ^ byte`, and knows its parent.
    cells: Vec<Cell>,
    /// By cell: the value of the token that ends there.
    values: Vec<V>,
    rests: Vec<Rest<V>>,
    /// The tokens end to end, and where they end.
    data: Vec<u8>,
    ends: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    parent: u32,
    /// Where the children are, or the tokens of a leaf, and `ENDS` or `LEAF`.
    base: u32,
}

/// What is left of a token in its leaf: the first bytes, and in the top byte their number, one more where others follow.
#[derive(Debug, Clone, Copy)]
struct Rest<V> {
    bytes: u64,
    /// Of the token, and beside the bytes: a place further off would cost as much as all the rest.
    value: V,
}

impl<V: Copy + Default> Trie<V> {
    /// The trie of `tokens`, which are sorted, not empty and no two equal, and of a value for each. None where a walk could
    /// be long for nothing, or they are too many.
    pub fn new(tokens: &[&[u8]], values: &[V]) -> Option<Self> {
        let ends = tokens.iter().scan(0, |end, token| {
            *end += token.len();
            Some(*end)
        });
        let trie = Self {
            filter: Filter::new(tokens),
            cells: Vec::new(),
            values: Vec::new(),
            rests: values.iter().map(|&value| Rest { bytes: 0, value }).collect(),
            data: tokens.concat(),
            ends: ends.collect(),
        };
        Builder { trie, tokens, before: Vec::new(), free: FREE }.build()
    }

    /// The longest token that `text` has at the first place from `from` on where it has any: its value, and where it
    /// begins and ends.
    pub fn find(&self, text: &[u8], mut from: usize) -> Option<(V, usize, usize)> {
        loop {
            from = self.filter.next(text, from);
            if let Some((value, length)) = self.longest(text.get(from..).filter(|rest| !rest.is_empty())?) {
                return Some((value, from, from + length));
            }
            from += 1;
        }
    }

    /// The longest token that `text` begins with, and its length.
    fn longest(&self, text: &[u8]) -> Option<(V, usize)> {
        let mut node = ROOT;
        let mut base = self.cells.first()?.base;
        let mut last = None;
        for (depth, &byte) in text.iter().enumerate() {
            let child = base & BASE ^ u32::from(byte);
            let Some(cell) = self.cells.get(child as usize).filter(|cell| cell.parent == node) else { break };
            if cell.base & (ENDS | LEAF) != 0 {
                if cell.base & LEAF != 0 {
                    if let Some((value, length)) = self.in_leaf(cell.base, depth + 1, text.get(depth + 1..)?) {
                        return Some((value, depth + 1 + length));
                    }
                    break;
                }
                last = Some((child, depth + 1));
            }
            (node, base) = (child, cell.base);
        }
        let (node, length) = last?;
        Some((*self.values.get(node as usize)?, length))
    }

    /// The longest token of a leaf whose rest `text` begins with, and the length of that.
    #[inline]
    fn in_leaf(&self, base: u32, depth: usize, text: &[u8]) -> Option<(V, usize)> {
        let first = base & ((1 << COUNT) - 1);
        let count = (base & BASE) >> COUNT;
        let rests = self.rests.get(first as usize..=(first + count) as usize)?;
        let start = first_bytes(text);
        let mut matching = 0u32;
        for (at, rest) in rests.iter().enumerate() {
            let differs = (start ^ rest.bytes) & counting(rest.bytes);
            matching |= u32::from(differs == 0) << at;
        }
        // Of those that match the last one is the longest: each begins with the one before.
        while matching != 0 {
            let at = matching.ilog2();
            matching ^= 1 << at;
            let rest = rests.get(at as usize)?;
            let length = (rest.bytes >> 56) as usize;
            if length <= REST_BYTES {
                if length <= text.len() {
                    return Some((rest.value, length));
                }
            } else if let Some(length) = self.long_rest(first + at, depth, text) {
                return Some((rest.value, length));
            }
        }
        None
    }

    /// The length of a token's rest of more bytes than are in the leaf, where `text` begins with it.
    fn long_rest(&self, place: u32, depth: usize, text: &[u8]) -> Option<usize> {
        let end = *self.ends.get(place as usize)?;
        let start = (place as usize).checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        let rest = self.data.get(start + depth..end)?;
        text.starts_with(rest).then_some(rest.len())
    }
}

/// The bytes of a rest that count.
#[inline]
fn counting(rest: u64) -> u64 {
    (1 << (8 * (rest >> 56).min(REST_BYTES as u64))) - 1
}

/// The first eight bytes, or as many as there are.
#[inline]
fn first_bytes(text: &[u8]) -> u64 {
    match text.first_chunk() {
        Some(first) => u64::from_le_bytes(*first),
        None => {
            let mut first = [0; 8];
            first.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(first)
        }
    }
}

/// Says of most places that no token begins there.
#[derive(Debug, Clone)]
struct Filter {
    /// By the first two bytes: by how much eight bytes are shifted so that only the ones that count are left.
    shifts: Box<[u8; 1 << 16]>,
    /// By the first three bytes: a line of bits, of which each token has set two.
    lines: Vec<[u64; LINE]>,
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
        let num_lines = (tokens.len() / 32).next_power_of_two().min(MAX_LINES);
        let mut filter = Self { shifts, lines: vec![[0; LINE]; num_lines] };
        for token in tokens {
            let (_, line, hash) = filter.hash(first_bytes(token));
            if let Some(line) = filter.lines.get_mut(line) {
                let (word, bits) = bits(hash);
                if let Some(word) = line.get_mut(word) {
                    *word |= bits;
                }
            }
        }
        filter
    }

    /// The next place from `from` on where a token may begin; the last few bytes all may.
    #[inline]
    fn next(&self, text: &[u8], from: usize) -> usize {
        let rest = text.get(from..).unwrap_or_default();
        let may_begin =
            |first: &[u8]| first.first_chunk().is_none_or(|first| self.may_begin(u64::from_le_bytes(*first)));
        let skipped = rest.windows(FIRST_BYTES).position(may_begin);
        from + skipped.unwrap_or_else(|| (rest.len() + 1).saturating_sub(FIRST_BYTES))
    }

    #[inline]
    fn may_begin(&self, first: u64) -> bool {
        let (shift, line, hash) = self.hash(first);
        let Some(line) = self.lines.get(line) else { return true };
        let (word, bits) = bits(hash);
        let found = line.get(word).copied().unwrap_or_default();
        (found & bits == bits) & (shift != NO_TOKEN)
    }

    #[inline]
    fn hash(&self, first: u64) -> (u8, usize, u64) {
        let shift = self.shifts.get(usize::from(first as u16)).copied().unwrap_or(NO_TOKEN);
        let first = first & u64::MAX >> (shift & 63);
        let line = (first & 0xFF_FFFF).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        (shift, line as usize & (self.lines.len() - 1), first.wrapping_mul(0xD1B5_4A32_D192_ED03))
    }
}

/// A word of a line, and two bits of that.
#[inline]
fn bits(hash: u64) -> (usize, u64) {
    ((hash >> 61) as usize, 1 << (hash >> 55 & 63) | 1 << (hash >> 49 & 63))
}

/// Words in a line.
const LINE: usize = 8;
/// 1 MB.
const MAX_LINES: usize = 1 << 14;

struct Builder<'b, V> {
    trie: Trie<V>,
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
const TRIES: usize = 256;
const BLOCK: u32 = 256;

impl<V: Copy + Default> Builder<'_, V> {
    fn build(mut self) -> Option<Trie<V>> {
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
        trie.values.shrink_to_fit();
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
        let tokens = self.tokens.get(node.first..node.last)?;
        let mut waste = node.depth - node.ended;
        if tokens.len() <= MAX_IN_LEAF {
            for (rest, token) in self.trie.rests.get_mut(node.first..node.last)?.iter_mut().zip(tokens) {
                let bytes = token.get(node.depth..)?;
                waste += bytes.len() / BYTES_A_STEP;
                let length = (bytes.len().min(REST_BYTES + 1) as u64) << 56;
                rest.bytes = first_bytes(bytes) & counting(length) | length;
            }
            let first = u32::try_from(node.first).ok().filter(|first| first >> COUNT == 0)?;
            self.set_base(node.node, first | (tokens.len() as u32 - 1) << COUNT | LEAF);
            return (waste <= MAX_WASTE).then_some(None);
        }
        if tokens.first().is_some_and(|token| token.len() == node.depth) {
            *self.trie.values.get_mut(node.node as usize)? = self.trie.rests.get(node.first)?.value;
            self.set_base(node.node, ENDS);
            node.first += 1;
            node.ended = node.depth;
        }
        (waste <= MAX_WASTE).then_some(Some(node))
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
            self.trie.values.push(V::default());
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
