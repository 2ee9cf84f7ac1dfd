//! A priority queue for pairs whose counts fall while they wait.
//!
//! Most pairs of a corpus are rare and are never merged, so only the pairs of the highest power of two
//! are in a heap; the others lie unsorted in one pile for each power of two. A pile becomes the heap
//! when its turn comes, and by then many of its pairs have sunk or died. A push into a pile is O(1), a
//! pop O(log n) in the size of one pile. Equal to one heap over all pairs.

/// A pair in the heap. `tie` orders pairs of one count, smallest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub count: u64,
    pub tie: u64,
    pub pair: u32,
}

pub(super) struct Queue {
    heap: Vec<Entry>,
    /// Pairs that count at least 2^level are in the heap.
    level: u32,
    piles: Vec<Vec<u32>>,
}

impl Queue {
    pub fn new() -> Self {
        Self { heap: Vec::new(), level: u64::BITS, piles: vec![Vec::new(); u64::BITS as usize] }
    }

    /// Whether a pair of `count` belongs into the heap; if not, `put_aside` is its place.
    pub fn is_due(&self, count: u64) -> bool {
        count.ilog2() >= self.level
    }

    pub fn put_aside(&mut self, count: u64, pair: u32) {
        self.piles[count.ilog2() as usize].push(pair);
    }

    pub fn push(&mut self, entry: Entry, is_before: impl Fn(&Entry, &Entry) -> bool) {
        self.heap.push(entry);
        let mut child = self.heap.len() - 1;
        while child > 0 && is_before(&self.heap[child], &self.heap[(child - 1) / 2]) {
            self.heap.swap(child, (child - 1) / 2);
            child = (child - 1) / 2;
        }
    }

    /// Takes out the first pair of the heap. `None` says that the heap is empty, not that the queue is:
    /// see `next_pile`.
    pub fn pop(&mut self, is_before: impl Fn(&Entry, &Entry) -> bool) -> Option<Entry> {
        if self.heap.is_empty() {
            return None;
        }
        let first = self.heap.swap_remove(0);
        let mut parent = 0;
        loop {
            let mut child = 2 * parent + 1;
            if child >= self.heap.len() {
                return Some(first);
            }
            if child + 1 < self.heap.len() && is_before(&self.heap[child + 1], &self.heap[child]) {
                child += 1;
            }
            if !is_before(&self.heap[child], &self.heap[parent]) {
                return Some(first);
            }
            self.heap.swap(child, parent);
            parent = child;
        }
    }

    /// Lowers the level to the next pile and hands its pairs over, to be pushed with their counts of
    /// today. `None` when there are none left.
    pub fn next_pile(&mut self) -> Option<Vec<u32>> {
        while self.level > 0 {
            self.level -= 1;
            let pile = std::mem::take(&mut self.piles[self.level as usize]);
            if !pile.is_empty() {
                return Some(pile);
            }
        }
        None
    }
}
