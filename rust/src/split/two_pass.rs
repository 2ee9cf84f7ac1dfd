//! The splitter for patterns whose pieces may depend on text arbitrarily far ahead, such as `a*b|a`, or behind.
//!
//! From the end of the text backwards a deterministic automaton notes for each character which threads
//! can still match behind it; then, forwards, the best branch that can is simply taken. Linear for every
//! input, two look-ups a character in either direction, two bytes of memory a character. Equals leftmost-
//! first backtracking, which takes the first branch that does not fail.
//!
//! A lookahead is a thread that can match or cannot. A condition on the character before is asked of its *kind*: the
//! characters that no such condition tells apart, or the start of the text. Threads are noted for every kind.

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
    /// Threads times kinds.
    num_threads: usize,
    /// By class: the kind of a character of it, times the number of threads of a kind.
    kind_of: Vec<u16>,
    /// The same for the start of the text.
    start_kind: u16,
    /// The set at the end of the text.
    end_set: u16,
    /// By set behind a character and the character's class: the set in front of it.
    set_before: Vec<u16>,
    /// By set behind, class, and thread in its kind: the thread that goes on behind the character.
    next_thread: Vec<u16>,
}

/// The thread of a match about to begin.
const BEGIN: u16 = 0;
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
    /// Of the character before `at`.
    kind: u16,
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
        let mut threads = vec![nfa.root];
        let nexts =
            nfa.nodes.iter().filter_map(|node| if let Node::Char { next, .. } = node { Some(*next) } else { None });
        threads.extend(nexts);
        threads[1..].sort_unstable();
        threads.dedup();
        let thread_by_node: HashMap<NodeId, usize> =
            threads.iter().enumerate().skip(1).map(|(thread, &node)| (node, thread)).collect();
        let (lefts, kind_by_left) = kinds(nfa);
        let seen = vec![0; nfa.nodes.len()];
        Builder { nfa, threads, thread_by_node, lefts, kind_by_left, seen, round: 0, work: 0 }.build()
    }

    pub fn num_states(&self) -> usize {
        self.set_before.len() / self.num_classes
    }

    pub fn fill(&self, classes: &Classes, text: &str, run: &mut Run, spans: &mut [Span]) -> usize {
        let Run { sets, at, start, thread, kind, at_end } = run;
        let sets = sets.get_or_insert_with(|| {
            *kind = self.start_kind;
            self.sets_behind(classes, text)
        });
        let mut count = 0;
        while count < spans.len() && !*at_end {
            let next = text[*at..].chars().next().zip(sets.last());
            let Some((c, &set)) = next else {
                *at_end = true;
                // A thread that was let go on can match, so at the end it does.
                if *thread != BEGIN {
                    spans[count] = Span { start: *start, end: *at };
                    count += 1;
                }
                break;
            };
            let class = usize::from(classes.of(c));
            let entry = (usize::from(set) * self.num_classes + class) * self.num_threads;
            match self.next_thread[entry + usize::from(*kind) + usize::from(*thread)] {
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
            *kind = self.kind_of[class];
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

/// What may be before a place, one of each kind, as a class or, behind the last class, the start of the text; and the
/// kind of each.
fn kinds(nfa: &Nfa) -> (Vec<usize>, Vec<usize>) {
    let answers = |left: usize| -> Vec<bool> {
        let answer = |node: &Node| match node {
            Node::Behind { admits, .. } => Some(admits[left]),
            Node::Start { .. } => Some(left == nfa.num_classes),
            _ => None,
        };
        nfa.nodes.iter().filter_map(answer).collect()
    };
    let (mut lefts, mut known) = (Vec::new(), Vec::new());
    let kind_by_left = (0..=nfa.num_classes).map(|left| {
        let answers = answers(left);
        known.iter().position(|known| *known == answers).unwrap_or_else(|| {
            known.push(answers);
            lefts.push(left);
            known.len() - 1
        })
    });
    let kind_by_left = kind_by_left.collect();
    (lefts, kind_by_left)
}

struct Builder<'n> {
    nfa: &'n Nfa,
    /// By thread: its node.
    threads: Vec<NodeId>,
    thread_by_node: HashMap<NodeId, usize>,
    lefts: Vec<usize>,
    kind_by_left: Vec<usize>,
    /// By node: the last round, one a choice, that visited it.
    seen: Vec<usize>,
    round: usize,
    work: usize,
}

impl Builder<'_> {
    fn build(mut self) -> Result<TwoPass, Unsupported> {
        let num_classes = self.nfa.num_classes;
        let num_threads = self.threads.len() * self.lefts.len();
        if num_threads >= usize::from(FAILED) {
            return Err(Unsupported::TooLarge("a machine of over 4000 states in either direction"));
        }
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
                if sets.len() > MAX_SETS || next_thread.len() > MAX_ENTRIES || self.work > MAX_WORK {
                    return Err(Unsupported::TooLarge("a machine of over 4000 states in either direction"));
                }
            }
        }
        let mut kind_of: Vec<u16> = self.kind_by_left.iter().map(|&kind| (kind * self.threads.len()) as u16).collect();
        let start_kind = kind_of.pop().unwrap_or_default();
        Ok(TwoPass { num_classes, num_threads, kind_of, start_kind, end_set: 0, set_before, next_thread })
    }

    /// For each thread of each kind the best choice over a character of this class, with `behind` able to match behind
    /// it.
    fn choices(&mut self, class: usize, behind: &[bool]) -> Vec<u16> {
        let (threads, lefts) = (self.threads.clone(), self.lefts.clone());
        let of_kind = |left: usize| threads.iter().map(move |&node| (node, left));
        lefts
            .iter()
            .flat_map(|&left| of_kind(left))
            .map(|(node, left)| self.choice(node, left, class, behind))
            .collect()
    }

    fn choice(&mut self, node: NodeId, left: usize, class: usize, behind: &[bool]) -> u16 {
        let nfa = self.nfa;
        let mut stack = vec![node];
        self.round += 1;
        let round = self.round;
        while let Some(node) = stack.pop() {
            self.work += 1;
            if std::mem::replace(&mut self.seen[node], round) == round {
                continue;
            }
            match &nfa.nodes[node] {
                Node::Match => return MATCHED,
                Node::Char { admits, next } if class < nfa.num_classes && admits[class] => {
                    let thread = self.thread_by_node[next];
                    if behind[self.kind_by_left[class] * self.threads.len() + thread] {
                        return thread as u16;
                    }
                }
                Node::Look { admits, next } if admits[class] => stack.push(*next),
                Node::Behind { admits, next } if admits[left] => stack.push(*next),
                // Its nodes are its own, but for the match, which ends this walk.
                Node::Ahead { body, negated, next }
                    if (self.choice(*body, left, class, behind) == FAILED) == *negated =>
                {
                    stack.push(*next);
                }
                Node::Start { next } if left == nfa.num_classes => stack.push(*next),
                Node::Split(branches) => stack.extend(branches.iter().rev()),
                _ => {}
            }
        }
        FAILED
    }
}
