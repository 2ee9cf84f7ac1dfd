//! The splitter for patterns whose pieces may depend on text arbitrarily far ahead, such as `a*b|a`.
//!
//! From the end of the text backwards a deterministic automaton notes for each character which threads
//! can still match behind it; then, forwards, the best branch that can is simply taken. Linear for every
//! input, two look-ups a character in either direction, two bytes of memory a character. Equals leftmost-
//! first backtracking, which takes the first branch that does not fail.

use std::collections::HashMap;

use super::classes::Classes;
use super::dfa::{Span, Unsupported};
use super::nfa::{Nfa, Node, NodeId};

const MAX_SETS: usize = 4_000;
const MAX_ENTRIES: usize = 4_000_000;
/// Visits of nodes, over the whole construction.
const MAX_WORK: usize = 50_000_000;

#[derive(Debug, Clone)]
pub(super) struct TwoPass {
    num_classes: usize,
    num_threads: usize,
    /// The set at the end of the text.
    end_set: u16,
    /// By set behind a character and the character's class: the set in front of it.
    set_before: Vec<u16>,
    /// By set behind, class and thread: the thread that goes on behind the character.
    next_thread: Vec<u16>,
}

/// The thread of a match about to begin, and at the start of the text.
const BEGIN: u16 = 0;
const BEGIN_TEXT: u16 = 1;
/// In `next_thread`: the match ends in front of the character; or there is none.
const MATCHED: u16 = u16::MAX;
const FAILED: u16 = u16::MAX - 1;

#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    /// The sets behind the characters not yet read, the next one last. None before the backward pass.
    sets: Option<Vec<u16>>,
    at: usize,
    start: usize,
    thread: u16,
    at_end: bool,
}

impl Run {
    pub fn is_done(&self) -> bool {
        self.at_end
    }
}

impl TwoPass {
    pub fn new(nfa: &Nfa) -> Result<Self, Unsupported> {
        let atomic = |node: &Node| matches!(node, Node::AtomicEnter { .. } | Node::AtomicExit { .. });
        if nfa.nodes.iter().any(atomic) {
            return Err(Unsupported::TooLarge("an atomic group whose pieces depend on text far ahead"));
        }
        let mut threads = vec![(nfa.root, false), (nfa.root, true)];
        let nexts =
            nfa.nodes.iter().filter_map(|node| if let Node::Char { next, .. } = node { Some(*next) } else { None });
        threads.extend(nexts.map(|next| (next, false)));
        threads[2..].sort_unstable();
        threads.dedup();
        let thread_by_node: HashMap<NodeId, u16> =
            threads.iter().enumerate().skip(2).map(|(thread, &(node, _))| (node, thread as u16)).collect();
        Builder { nfa, threads, thread_by_node, seen: vec![0; nfa.nodes.len()], round: 0, work: 0 }.build()
    }

    pub fn num_states(&self) -> usize {
        self.set_before.len() / self.num_classes
    }

    pub fn fill(&self, classes: &Classes, text: &str, run: &mut Run, spans: &mut [Span]) -> usize {
        let Run { sets, at, start, thread, at_end } = run;
        let sets = sets.get_or_insert_with(|| {
            *thread = BEGIN_TEXT;
            self.sets_behind(classes, text)
        });
        let mut count = 0;
        while count < spans.len() && !*at_end {
            let next = text[*at..].chars().next().zip(sets.last());
            let Some((c, &set)) = next else {
                *at_end = true;
                // A thread that was let go on can match, so at the end it does.
                if *thread > BEGIN_TEXT {
                    spans[count] = Span { start: *start, end: *at };
                    count += 1;
                }
                break;
            };
            let entry = usize::from(set) * self.num_classes + usize::from(classes.of(c));
            match self.next_thread[entry * self.num_threads + usize::from(*thread)] {
                MATCHED => {
                    spans[count] = Span { start: *start, end: *at };
                    count += 1;
                    (*start, *thread) = (*at, BEGIN);
                    continue;
                }
                FAILED => {
                    *start = *at + c.len_utf8();
                    *thread = BEGIN;
                }
                next => *thread = next,
            }
            sets.pop();
            *at += c.len_utf8();
        }
        count
    }

    fn sets_behind(&self, classes: &Classes, text: &str) -> Vec<u16> {
        let mut set = self.end_set;
        let before = |c: char| {
            let behind = set;
            set = self.set_before[usize::from(set) * self.num_classes + usize::from(classes.of(c))];
            behind
        };
        text.chars().rev().map(before).collect()
    }
}

struct Builder<'n> {
    nfa: &'n Nfa,
    /// By thread: its node, and whether the text starts there.
    threads: Vec<(NodeId, bool)>,
    thread_by_node: HashMap<NodeId, u16>,
    /// By node: the last round, one a choice, that visited it.
    seen: Vec<usize>,
    round: usize,
    work: usize,
}

impl Builder<'_> {
    fn build(mut self) -> Result<TwoPass, Unsupported> {
        let (num_classes, num_threads) = (self.nfa.num_classes, self.threads.len());
        let at_end = self.choices(self.nfa.end_class(), &vec![false; num_threads]);
        let end_set: Vec<bool> = at_end.iter().map(|&choice| choice == MATCHED).collect();
        let mut number_by_set = HashMap::from([(end_set.clone(), 0)]);
        let mut sets = vec![end_set];
        let (mut set_before, mut next_thread) = (Vec::new(), Vec::new());
        let mut done = 0;
        while done < sets.len() {
            let behind = sets[done].clone();
            done += 1;
            for class in 0..num_classes {
                let choices = self.choices(class, &behind);
                let before: Vec<bool> = choices.iter().map(|&choice| choice != FAILED).collect();
                let fresh = sets.len();
                let number = *number_by_set.entry(before.clone()).or_insert(fresh);
                if number == fresh {
                    sets.push(before);
                }
                set_before.push(number as u16);
                next_thread.extend(choices);
            }
            if sets.len() > MAX_SETS || next_thread.len() > MAX_ENTRIES || self.work > MAX_WORK {
                return Err(Unsupported::TooLarge("a machine of over 4000 states in either direction"));
            }
        }
        Ok(TwoPass { num_classes, num_threads, end_set: 0, set_before, next_thread })
    }

    /// For each thread the best choice over a character of this class, with `behind` able to match behind it.
    fn choices(&mut self, class: usize, behind: &[bool]) -> Vec<u16> {
        let threads = self.threads.clone();
        threads.iter().map(|&(node, text_start)| self.choice(node, text_start, class, behind)).collect()
    }

    fn choice(&mut self, node: NodeId, text_start: bool, class: usize, behind: &[bool]) -> u16 {
        let mut stack = vec![node];
        self.round += 1;
        while let Some(node) = stack.pop() {
            self.work += 1;
            if std::mem::replace(&mut self.seen[node], self.round) == self.round {
                continue;
            }
            match &self.nfa.nodes[node] {
                Node::Match => return MATCHED,
                Node::Char { admits, next } if class < self.nfa.num_classes && admits[class] => {
                    let thread = self.thread_by_node[next];
                    if behind[usize::from(thread)] {
                        return thread;
                    }
                }
                Node::Look { admits, next } if admits[class] => stack.push(*next),
                Node::Start { next } if text_start => stack.push(*next),
                Node::Split(branches) => stack.extend(branches.iter().rev()),
                _ => {}
            }
        }
        FAILED
    }
}
