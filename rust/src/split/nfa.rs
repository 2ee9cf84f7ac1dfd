//! Syntax tree → automaton over classes whose branches are in order of preference.
//!
//! Thompson's construction, built from the end; counted repetitions are unrolled under a size limit.
//! Following the branches in order from `root` is Perl-like backtracking. No cycle is free of `Char`
//! nodes, since `parse` refuses loops over bodies that match nothing.

use super::dfa::Unsupported;
use super::parse::{Ast, Behind, Look, SetId};

const MAX_NODES: usize = 2_000;
const MAX_WORK: usize = 2_000_000;

pub(super) type NodeId = usize;

const MATCH: NodeId = 0;

#[derive(Debug)]
pub(super) enum Node {
    /// Consumes a character whose class the table admits.
    Char {
        admits: Vec<bool>,
        next: NodeId,
    },
    /// Goes on if the table admits the next class; the last entry is the end of the text.
    Look {
        admits: Vec<bool>,
        next: NodeId,
    },
    /// Goes on if a way from `body` to a match is found here, or if none is.
    Ahead {
        body: NodeId,
        negated: bool,
        next: NodeId,
    },
    /// Goes on if the table admits the class before; the last entry is the start of the text.
    Behind {
        admits: Vec<bool>,
        next: NodeId,
    },
    Start {
        next: NodeId,
    },
    Split(Vec<NodeId>),
    AtomicEnter {
        next: NodeId,
    },
    AtomicExit {
        next: NodeId,
    },
    Match,
}

#[derive(Debug)]
pub(super) struct Nfa {
    pub nodes: Vec<Node>,
    pub root: NodeId,
    pub num_classes: usize,
}

impl Nfa {
    /// `contains` says for each set of the pattern which classes it holds.
    pub fn build(ast: &Ast, contains: &[Vec<bool>], num_classes: usize) -> Result<Self, Unsupported> {
        let mut builder = Builder { nodes: vec![Node::Match], contains, num_classes };
        let root = builder.add(ast, MATCH)?;
        Ok(Nfa { nodes: builder.nodes, root, num_classes })
    }

    /// The class that stands for the end of the text.
    pub fn end_class(&self) -> usize {
        self.num_classes
    }

    /// Whether some condition needs more than the next class, which is all that `certain` and `possible` look at.
    pub fn looks_around(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node, Node::Ahead { .. } | Node::Behind { .. }))
    }

    /// For each node, whether a thread there matches sooner or later whatever the text goes on with.
    ///
    /// Greatest fixed point: a thread is certain if every next class (and the end) gives a match or a
    /// certain thread; texts are finite and at the end only a match counts. What lies behind a certain
    /// thread can never be chosen. Atomic groups count as not certain.
    pub fn certain(&self) -> Result<Vec<bool>, Unsupported> {
        self.fixed_point(true, |node, certain, work| {
            (0..=self.num_classes).all(|class| self.survives(node, class, certain, false, work))
        })
    }

    /// For each node, whether some text leads from there to a match: the least fixed point. Where none does,
    /// as behind `\S(?=\s)\S`, a thread need not be followed.
    pub fn possible(&self) -> Result<Vec<bool>, Unsupported> {
        self.fixed_point(false, |node, possible, work| {
            (0..=self.num_classes).any(|class| self.survives(node, class, possible, true, work))
        })
    }

    fn fixed_point(
        &self,
        from: bool,
        holds: impl Fn(NodeId, &[bool], &mut usize) -> bool,
    ) -> Result<Vec<bool>, Unsupported> {
        let mut values = vec![from; self.nodes.len()];
        let (mut changed, mut work) = (true, 0);
        while changed {
            changed = false;
            for node in 0..self.nodes.len() {
                if values[node] == from && holds(node, &values, &mut work) != from {
                    values[node] = !from;
                    changed = true;
                }
                if work > MAX_WORK {
                    return Err(Unsupported::TooLarge("a machine that takes too long to build"));
                }
            }
        }
        Ok(values)
    }

    /// Whether over `class` the node gives a match or a thread at a node with the property.
    fn survives(&self, node: NodeId, class: usize, property: &[bool], through_atomic: bool, work: &mut usize) -> bool {
        let mut stack = vec![node];
        let mut seen = vec![false; self.nodes.len()];
        while let Some(node) = stack.pop() {
            *work += 1;
            if std::mem::replace(&mut seen[node], true) {
                continue;
            }
            match &self.nodes[node] {
                Node::Match => return true,
                Node::Char { admits, next } => {
                    if class < self.num_classes && admits[class] && property[*next] {
                        return true;
                    }
                }
                Node::Look { admits, next } if admits[class] => stack.push(*next),
                Node::Split(branches) => stack.extend(branches),
                Node::AtomicEnter { next } | Node::AtomicExit { next } if through_atomic => stack.push(*next),
                Node::Start { next } if through_atomic => stack.push(*next),
                Node::Ahead { .. } | Node::Behind { .. } => {}
                Node::Look { .. } | Node::Start { .. } | Node::AtomicEnter { .. } | Node::AtomicExit { .. } => {}
            }
        }
        false
    }
}

struct Builder<'a> {
    nodes: Vec<Node>,
    contains: &'a [Vec<bool>],
    num_classes: usize,
}

impl Builder<'_> {
    fn push(&mut self, node: Node) -> Result<NodeId, Unsupported> {
        if self.nodes.len() >= MAX_NODES {
            return Err(Unsupported::TooLarge("a pattern of over 2000 nodes"));
        }
        self.nodes.push(node);
        Ok(self.nodes.len() - 1)
    }

    /// Adds `ast` in front of `next`; gives its first node.
    fn add(&mut self, ast: &Ast, next: NodeId) -> Result<NodeId, Unsupported> {
        match ast {
            Ast::Empty => Ok(next),
            Ast::Set(set) => {
                let admits = self.contains[*set].clone();
                self.push(Node::Char { admits, next })
            }
            Ast::Look(Look { sets, end, negated }) => {
                let admits = self.table(sets, *end, *negated);
                self.push(Node::Look { admits, next })
            }
            Ast::Ahead { body, negated } => {
                let body = self.add(body, MATCH)?;
                self.push(Node::Ahead { body, negated: *negated, next })
            }
            Ast::Behind(Behind { sets, start, negated }) => {
                let admits = self.table(sets, *start, *negated);
                self.push(Node::Behind { admits, next })
            }
            Ast::Start => self.push(Node::Start { next }),
            Ast::Concat(parts) => parts.iter().rev().try_fold(next, |next, part| self.add(part, next)),
            Ast::Alt(parts) => {
                let branches = parts.iter().map(|part| self.add(part, next)).collect::<Result<_, _>>()?;
                self.push(Node::Split(branches))
            }
            Ast::Repeat { body, min, max, greedy } => self.repeat(body, *min, *max, *greedy, next),
            // Nothing follows that could fail and ask for another way through the group.
            Ast::Atomic(body) if next == MATCH => self.add(body, next),
            Ast::Atomic(body) => {
                let exit = self.push(Node::AtomicExit { next })?;
                let first = self.add(body, exit)?;
                self.push(Node::AtomicEnter { next: first })
            }
        }
    }

    /// By class, and then for an end of the text, whether a condition on a neighbour holds.
    fn table(&self, sets: &[SetId], edge: bool, negated: bool) -> Vec<bool> {
        let holds = |class: usize| sets.iter().any(|&set| self.contains[set][class]) != negated;
        let mut admits: Vec<bool> = (0..self.num_classes).map(holds).collect();
        admits.push(edge != negated);
        admits
    }

    fn repeat(
        &mut self,
        body: &Ast,
        min: usize,
        max: Option<usize>,
        greedy: bool,
        next: NodeId,
    ) -> Result<NodeId, Unsupported> {
        let in_order = |body: NodeId| if greedy { vec![body, next] } else { vec![next, body] };
        let (mut first, copies) = match max {
            None => {
                let split = self.push(Node::Split(Vec::new()))?;
                let again = self.add(body, split)?;
                self.nodes[split] = Node::Split(in_order(again));
                if min == 0 { (split, 0) } else { (again, min - 1) }
            }
            Some(max) => {
                let mut first = next;
                for _ in min..max {
                    let again = self.add(body, first)?;
                    first = self.push(Node::Split(in_order(again)))?;
                }
                (first, min)
            }
        };
        for _ in 0..copies {
            let before = self.nodes.len();
            first = self.add(body, first)?;
            if self.nodes.len() == before {
                break;
            }
        }
        Ok(first)
    }
}
