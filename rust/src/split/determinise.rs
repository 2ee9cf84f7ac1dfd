//! Prioritised automaton → transducer: a state for every situation that repeated leftmost-first matching
//! can be in, with what is known so far kept as positions in registers.
//!
//! A situation is an ordered list, best first, of what the piece that is being matched may become: a
//! *thread* (a node of the automaton), a *match* that ended somewhere behind, or a *restart* (the search
//! for a start that goes on if nothing better comes). A backtracking matcher would take the first match
//! once all threads before it have failed, and then scan again from its end. Here every match carries the
//! situation of the text after it, advanced in step: when the match is taken, that situation is simply
//! the next one, and nothing is read twice. A pattern for which such lists grow without bound has no
//! finite machine and is refused by the limits below.
//!
//! A lookahead and the end of a match are settled when the next class is known, the end of the text being
//! a class; so a position is the start of the current character, of the one before it, or in a register.
//!
//! An atomic group is a scope: a thread that leaves it removes whatever of the same scope is behind it in
//! the list. A match inside a scope that a better thread may still leave is therefore revocable, and
//! what is behind it is kept.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::dfa::Unsupported;
use super::nfa::{Nfa, Node, NodeId};

const MAX_STATES: usize = 1_000;
const MAX_ITEMS: usize = 400;
const MAX_DEPTH: usize = 16;
pub(super) const MAX_REGISTERS: usize = 16;
/// Visits of nodes and items, over the whole construction: well under 0.1 s.
const MAX_WORK: usize = 500_000;

/// A position in the text, relative to a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Position {
    /// The end of the piece before.
    Base,
    /// The start of the character that the transition reads.
    Now,
    /// The start of the character before that.
    Previous,
    Register(u8),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Piece {
    pub start: Position,
    pub end: Position,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Transition {
    pub next: usize,
    pub pieces: Vec<Piece>,
    /// Registers of the next state and what they are set to, all at once.
    pub moves: Vec<(u8, Position)>,
}

#[derive(Debug)]
pub(super) struct Transducer {
    /// By state and class; state 0 is the start of the text.
    pub transitions: Vec<Vec<Transition>>,
    /// By state: the pieces that the end of the text brings.
    pub ends: Vec<Vec<Piece>>,
}

pub(super) fn determinise(nfa: &Nfa) -> Result<Transducer, Unsupported> {
    Determiniser::new(nfa)?.run()
}

/// An atomic group that a thread is inside of or has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Scope {
    id: u32,
    inside: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Item {
    /// A match about to begin: at the start of the text, or behind a piece.
    Begin {
        text_start: bool,
    },
    Thread {
        node: NodeId,
        start: Position,
        scopes: Vec<Scope>,
    },
    Match {
        piece: Piece,
        scopes: Vec<Scope>,
        rest: Rc<Vec<Item>>,
    },
    Restart,
}

type Situation = Vec<Item>;

struct Determiniser<'n> {
    nfa: &'n Nfa,
    certain: Vec<bool>,
    possible: Vec<bool>,
    /// The situation one class behind a beginning.
    begun: Vec<Rc<Situation>>,
    work: usize,
}

impl<'n> Determiniser<'n> {
    fn new(nfa: &'n Nfa) -> Result<Self, Unsupported> {
        if nfa.looks_around() {
            return Err(Unsupported::TooLarge("a condition on text behind or far ahead"));
        }
        // Nothing is a match at its very beginning, so these are not read before they are filled.
        let begun = vec![Rc::default(); nfa.num_classes + 1];
        let mut this = Determiniser { nfa, certain: nfa.certain()?, possible: nfa.possible()?, begun, work: 0 };
        for class in 0..nfa.num_classes {
            this.begun[class] = Rc::new(this.step(&[Item::Begin { text_start: false }], class, 0)?);
        }
        Ok(this)
    }

    fn run(mut self) -> Result<Transducer, Unsupported> {
        let has_start = self.nfa.nodes.iter().any(|node| matches!(node, Node::Start { .. }));
        let initial = vec![Item::Begin { text_start: has_start }];
        let mut number_by_situation = HashMap::from([(initial.clone(), 0)]);
        let mut situations = vec![initial];
        let mut transducer = Transducer { transitions: Vec::new(), ends: Vec::new() };
        while let Some(situation) = situations.get(transducer.transitions.len()).cloned() {
            let mut row = Vec::with_capacity(self.nfa.num_classes);
            for class in 0..self.nfa.num_classes {
                let (next, pieces) = take_pieces(self.step(&situation, class, 0)?);
                let (next, moves) = rename_positions(&next)?;
                let number = situations.len();
                let number = *number_by_situation.entry(next.clone()).or_insert(number);
                if number == situations.len() {
                    situations.push(next);
                }
                row.push(Transition { next: number, pieces, moves });
            }
            if situations.len() > MAX_STATES {
                return Err(Unsupported::TooLarge("a machine of over 1000 states"));
            }
            let (_, pieces) = take_pieces(self.step(&situation, self.nfa.end_class(), 0)?);
            transducer.transitions.push(row);
            transducer.ends.push(pieces);
        }
        Ok(transducer)
    }

    /// The situation behind one more class, with positions as seen from before it.
    fn step(&mut self, situation: &[Item], class: usize, depth: usize) -> Result<Situation, Unsupported> {
        if depth > MAX_DEPTH {
            return Err(Unsupported::TooLarge("pieces that wait for text far ahead"));
        }
        self.spend(situation.len())?;
        let mut step = Step::new(class, situation);
        for item in situation {
            let cut = match item {
                Item::Begin { text_start } => {
                    self.follow(&mut step, self.nfa.root, Position::Base, &[], *text_start)?
                        || step.restart(self.nfa.end_class())
                }
                Item::Restart => {
                    self.follow(&mut step, self.nfa.root, Position::Now, &[], false)?
                        || step.restart(self.nfa.end_class())
                }
                Item::Thread { node, start, scopes } => self.follow(&mut step, *node, *start, scopes, false)?,
                Item::Match { scopes, .. } if step.has_left_one_of(scopes) => false,
                Item::Match { piece, scopes, rest } => {
                    let rest = Rc::new(self.step(rest, class, depth + 1)?);
                    step.found.push(Item::Match { piece: piece.clone(), scopes: scopes.clone(), rest });
                    scopes.is_empty()
                }
            };
            if cut {
                break;
            }
        }
        let mut tidied = self.tidy(step);
        if depth == 0 {
            tidied = without_shadowed(tidied, &mut HashSet::new());
        }
        if tidied.len() > MAX_ITEMS {
            return Err(Unsupported::TooLarge("a machine state of over 400 threads"));
        }
        Ok(tidied)
    }

    /// Follows a thread through the nodes that consume nothing, best branch first, and over one class.
    /// True if it met a match that nothing can revoke, so that whatever comes later is out.
    fn follow(
        &mut self,
        step: &mut Step,
        node: NodeId,
        start: Position,
        scopes: &[Scope],
        text_start: bool,
    ) -> Result<bool, Unsupported> {
        let mut stack = vec![(node, scopes.to_vec())];
        while let Some((node, mut scopes)) = stack.pop() {
            self.spend(1)?;
            if step.has_left_one_of(&scopes) || !step.seen.insert((node, scopes.clone())) {
                continue;
            }
            match &self.nfa.nodes[node] {
                Node::Char { admits, next } => {
                    // A thread that cannot match may still leave its atomic group, and so revoke others.
                    let matters = self.possible[*next] || scopes.iter().any(|scope| scope.inside);
                    if step.class < self.nfa.num_classes && admits[step.class] && matters {
                        step.found.push(Item::Thread { node: *next, start, scopes });
                    }
                }
                Node::Look { admits, next } => {
                    if admits[step.class] {
                        stack.push((*next, scopes));
                    }
                }
                Node::Ahead { .. } | Node::Behind { .. } => {}
                Node::Start { next } => {
                    if text_start {
                        stack.push((*next, scopes));
                    }
                }
                Node::Split(branches) => stack.extend(branches.iter().rev().map(|&branch| (branch, scopes.clone()))),
                Node::AtomicEnter { next } => {
                    scopes.push(Scope { id: step.new_scope(), inside: true });
                    stack.push((*next, scopes));
                }
                Node::AtomicExit { next } => {
                    let alias = step.new_scope();
                    if let Some(scope) = scopes.iter_mut().rev().find(|scope| scope.inside) {
                        // Items in front keep the old name: they may still leave the scope and revoke this one.
                        step.left.insert(scope.id, alias);
                        *scope = Scope { id: alias, inside: false };
                    }
                    stack.push((*next, scopes));
                }
                Node::Match => {
                    let revocable = !scopes.is_empty();
                    let piece = Piece { start, end: Position::Now };
                    step.found.push(Item::Match { piece, scopes, rest: self.begun[step.class].clone() });
                    if !revocable {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }
}

impl Determiniser<'_> {
    fn spend(&mut self, work: usize) -> Result<(), Unsupported> {
        self.work += work;
        if self.work > MAX_WORK { Err(Unsupported::TooLarge("a machine that takes too long to build")) } else { Ok(()) }
    }

    /// Takes out of a list what can no longer matter, so that equal futures look equal.
    fn tidy(&self, step: Step) -> Situation {
        let original: HashMap<u32, u32> = step.left.iter().map(|(&id, &alias)| (alias, id)).collect();
        let mut tidied: Situation = Vec::with_capacity(step.found.len());
        let mut inside: HashSet<u32> = HashSet::new();
        let mut seen: HashSet<(NodeId, Vec<Scope>)> = HashSet::new();
        let mut names: HashMap<u32, u32> = HashMap::new();
        for mut item in step.found {
            if let Item::Thread { scopes, .. } | Item::Match { scopes, .. } = &mut item {
                for scope in scopes.iter_mut() {
                    scope.id = original.get(&scope.id).copied().unwrap_or(scope.id);
                }
                // A scope that was left matters only while a better thread is inside.
                scopes.retain(|scope| scope.inside || inside.contains(&scope.id));
                if let Item::Thread { node, scopes, .. } = &item
                    && !seen.insert((*node, scopes.clone()))
                {
                    continue;
                }
            }
            let last = match &mut item {
                Item::Begin { .. } | Item::Restart => false,
                Item::Match { scopes, .. } => scopes.is_empty(),
                Item::Thread { node, scopes, .. } => {
                    inside.extend(scopes.iter().filter(|scope| scope.inside).map(|scope| scope.id));
                    scopes.is_empty() && self.certain[*node]
                }
            };
            if let Item::Thread { scopes, .. } | Item::Match { scopes, .. } = &mut item {
                for scope in scopes.iter_mut() {
                    let fresh = names.len() as u32;
                    scope.id = *names.entry(scope.id).or_insert(fresh);
                }
            }
            tidied.push(item);
            if last {
                break;
            }
        }
        tidied
    }
}

/// Takes out, at every depth, threads that a better one at the same node shadows.
///
/// In the same list the better one gets the same match first. Around a match whose continuation holds the
/// worse one, the better one would replace that match, and so the continuation, where the worse one matches.
/// Only threads that nothing can revoke shadow, and only those are shadowed that can revoke nothing.
fn without_shadowed(situation: Situation, above: &mut HashSet<NodeId>) -> Situation {
    let mut kept = Vec::with_capacity(situation.len());
    for item in situation {
        match item {
            Item::Thread { node, ref scopes, .. } if !scopes.iter().any(|scope| scope.inside) => {
                if above.contains(&node) {
                    continue;
                }
                if scopes.is_empty() {
                    above.insert(node);
                }
                kept.push(item);
            }
            Item::Match { piece, scopes, rest } => {
                let rest = Rc::new(without_shadowed(rest.as_ref().clone(), &mut above.clone()));
                kept.push(Item::Match { piece, scopes, rest });
            }
            item => kept.push(item),
        }
    }
    kept
}

/// A list being advanced over one class.
struct Step {
    class: usize,
    found: Situation,
    /// A node reached a second time in the same scopes adds nothing: the first visit is preferred.
    seen: HashSet<(NodeId, Vec<Scope>)>,
    /// Scopes left in this step, with their name from there on.
    left: HashMap<u32, u32>,
    next_scope: u32,
}

impl Step {
    fn new(class: usize, situation: &[Item]) -> Self {
        let ids = situation.iter().flat_map(|item| match item {
            Item::Thread { scopes, .. } | Item::Match { scopes, .. } => scopes.as_slice(),
            Item::Begin { .. } | Item::Restart => &[],
        });
        let next_scope = ids.map(|scope| scope.id + 1).max().unwrap_or(0);
        Step { class, found: Vec::new(), seen: HashSet::new(), left: HashMap::new(), next_scope }
    }

    fn new_scope(&mut self) -> u32 {
        self.next_scope += 1;
        self.next_scope - 1
    }

    fn has_left_one_of(&self, scopes: &[Scope]) -> bool {
        scopes.iter().any(|scope| self.left.contains_key(&scope.id))
    }

    /// Lets the search go on at the next character; not at the end, where there is none. Never cuts.
    fn restart(&mut self, end_class: usize) -> bool {
        if self.class != end_class {
            self.found.push(Item::Restart);
        }
        false
    }
}

/// Takes the matches at the front of the list: nothing can beat them any more.
fn take_pieces(mut situation: Situation) -> (Situation, Vec<Piece>) {
    let mut pieces = Vec::new();
    while let Some(Item::Match { piece, rest, .. }) = situation.first() {
        pieces.push(piece.clone());
        situation = rest.as_ref().clone();
    }
    (situation, pieces)
}

/// Renames positions for the next transition, and says how the registers get them.
fn rename_positions(situation: &[Item]) -> Result<(Situation, Vec<(u8, Position)>), Unsupported> {
    let mut moves = Vec::new();
    let renamed = rename(situation, &mut moves);
    if moves.len() > MAX_REGISTERS {
        return Err(Unsupported::TooLarge("over 16 positions to remember"));
    }
    Ok((renamed, moves))
}

fn rename(situation: &[Item], moves: &mut Vec<(u8, Position)>) -> Situation {
    let mut register = |position: Position| match position {
        Position::Base => Position::Base,
        Position::Now => Position::Previous,
        Position::Previous | Position::Register(_) => {
            let known = moves.iter().find(|&&(_, source)| source == position);
            let name = known.map_or(moves.len() as u8, |&(name, _)| name);
            if known.is_none() {
                moves.push((name, position));
            }
            Position::Register(name)
        }
    };
    let mut renamed = Vec::with_capacity(situation.len());
    for item in situation {
        renamed.push(match item {
            Item::Thread { node, start, scopes } => {
                Item::Thread { node: *node, start: register(*start), scopes: scopes.clone() }
            }
            Item::Match { piece, scopes, rest } => {
                let piece = Piece { start: register(piece.start), end: register(piece.end) };
                Item::Match { piece, scopes: scopes.clone(), rest: rest.clone() }
            }
            Item::Begin { .. } | Item::Restart => item.clone(),
        });
    }
    // Nested lists after this one, so that the outermost positions get the first registers.
    for item in &mut renamed {
        if let Item::Match { rest, .. } = item {
            *rest = Rc::new(rename(rest, moves));
        }
    }
    renamed
}
