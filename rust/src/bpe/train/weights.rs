//! The count of the piece at a place.
//!
//! Neighbouring pieces of one count make a run. A page table names the run at each 256th place, and a
//! binary search among the runs of the page does the rest: often there is only one. Equal to a count
//! kept with each place, at a fraction of its memory.

pub(super) struct Weights {
    starts: Vec<u32>,
    counts: Vec<u64>,
    /// The run at the first place of each page.
    pages: Vec<u32>,
}

const PAGE: usize = 256;

impl Weights {
    pub fn new(num_slots: usize) -> Self {
        Self { starts: vec![0], counts: vec![0], pages: Vec::with_capacity(num_slots / PAGE + 2) }
    }

    /// Says that a piece starts at `place`; places rise.
    pub fn push(&mut self, place: usize, count: u64) {
        if self.counts.last() != Some(&count) {
            self.close_pages(place);
            self.starts.push(place as u32);
            self.counts.push(count);
        }
    }

    /// Says that there are no places from `end` on.
    pub fn finish(&mut self, end: usize) {
        self.close_pages(end + PAGE);
    }

    /// Pages that begin before `end` begin in the run that is open now.
    fn close_pages(&mut self, end: usize) {
        self.pages.resize(end.div_ceil(PAGE), self.counts.len() as u32 - 1);
    }

    pub fn at(&self, place: usize) -> u64 {
        let first = self.pages[place / PAGE] as usize;
        let last = self.pages[place / PAGE + 1] as usize;
        let later = self.starts[first + 1..=last].partition_point(|&start| start as usize <= place);
        self.counts[first + later]
    }
}
