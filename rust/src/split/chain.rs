//! Splits one after another → one transducer: the next splits every piece of the one before as a text of its own.
//!
//! What a step does to a text is the set of places where it cuts. A *marker* is its transducer as an automaton that
//! guesses at every character whether there is a cut in front of it, and dies where the guess proves wrong: of
//! all runs over a text exactly one survives, the one with the step's cuts. So a guess about the far future needs
//! no waiting, and markers compose: where the first one guesses a cut, the second sees an end of text and begins
//! afresh. Last, `Marker::transducer` follows all runs that may still survive and gives out a cut as soon as all
//! of them have it; cuts that only some have are kept in registers. Where those grow without bound there is no
//! finite machine, and the limits below refuse.

use std::collections::HashMap;

use super::determinise::{MAX_REGISTERS, Piece, Position, Transducer, Transition};
use super::dfa::Unsupported;
use super::minimise::live_positions;

const MAX_STATES: usize = 1_000;
/// Of one marker, and edges followed in all: well under 0.1 s.
const MAX_MARKER_STATES: usize = 20_000;
const MAX_WORK: usize = 3_000_000;

/// The transducer of all `steps` in turn. They read the same classes, and text between matches is a piece.
pub(super) fn chain(steps: &[Transducer]) -> Result<Transducer, Unsupported> {
    let mut markers = steps.iter().map(Marker::of);
    let first = markers.next().unwrap_or(Err(Unsupported::TooLarge("a sequence of no steps")))?;
    markers.try_fold(first, |chained, next| chained.then(&next?))?.transducer()
}

/// What a run has guessed about a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Mark {
    NoCut,
    /// A cut that a piece must still show.
    Due,
    Shown,
}

/// A state of the transducer, with the guesses about the places that it remembers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Guess {
    state: usize,
    previous: Mark,
    registers: [Mark; MAX_REGISTERS],
}

#[derive(Debug)]
struct Marker {
    num_classes: usize,
    /// By class of a text's first character.
    start: Vec<Option<usize>>,
    /// By state and class: whether there is a cut in front of the character, and the next state.
    edges: Vec<Vec<(bool, usize)>>,
    /// By state: whether the text may end there.
    accepts: Vec<bool>,
}

impl Marker {
    fn of(transducer: &Transducer) -> Result<Self, Unsupported> {
        let live = live_positions(transducer);
        explore(
            transducer.transitions.first().map_or(0, Vec::len),
            |class| {
                let begin = Guess { state: 0, previous: Mark::Shown, registers: [Mark::NoCut; MAX_REGISTERS] };
                begin.step(transducer, &live, class, Mark::Shown)
            },
            |guess: &Guess, class, next| {
                next.extend(guess.step(transducer, &live, class, Mark::NoCut).map(|guess| (false, guess)));
                next.extend(guess.step(transducer, &live, class, Mark::Due).map(|guess| (true, guess)));
            },
            |guess| guess.may_end(transducer),
        )
    }

    /// This one, and then `next` on each of the pieces.
    fn then(&self, next: &Marker) -> Result<Self, Unsupported> {
        let second = next;
        explore(
            self.num_classes,
            |class| self.start[class].zip(second.start[class]),
            |&(a, b), class, next| {
                for &(cut, a) in &self.edges[a * self.num_classes + class] {
                    if !cut {
                        let edges = second.edges[b * self.num_classes + class].iter();
                        next.extend(edges.map(|&(cut, b)| (cut, (a, b))));
                    } else if second.accepts[b] {
                        next.extend(second.start[class].map(|b| (true, (a, b))));
                    }
                }
            },
            |&(a, b)| self.accepts[a] && second.accepts[b],
        )
    }

    /// Keeps the states from which some text leads to an end.
    fn trim(mut self) -> Self {
        let num_states = self.accepts.len();
        let mut sources = vec![Vec::new(); num_states];
        for (from, edges) in self.edges.chunks_exact(self.num_classes).enumerate() {
            edges.iter().flatten().for_each(|&(_, to)| sources[to].push(from));
        }
        let mut lives = self.accepts.clone();
        let mut stack: Vec<usize> = (0..num_states).filter(|&state| lives[state]).collect();
        while let Some(state) = stack.pop() {
            for &source in &sources[state] {
                if !std::mem::replace(&mut lives[source], true) {
                    stack.push(source);
                }
            }
        }
        self.edges.iter_mut().for_each(|edges| edges.retain(|&(_, to)| lives[to]));
        self.start.iter_mut().for_each(|start| *start = start.filter(|&to| lives[to]));
        self
    }

    fn transducer(&self) -> Result<Transducer, Unsupported> {
        // By state: the runs that may survive, each with the cuts that not all of them have.
        let mut runs_of: Vec<Vec<Run>> = vec![Vec::new()];
        let mut number_by_runs = HashMap::new();
        let mut transducer = Transducer { transitions: Vec::new(), ends: Vec::new() };
        let mut work = 0;
        while let Some(runs) = runs_of.get(transducer.transitions.len()).cloned() {
            let is_start = transducer.transitions.is_empty();
            let mut row = Vec::with_capacity(self.num_classes);
            for class in 0..self.num_classes {
                let mut next = if is_start {
                    self.start[class].map(|state| Run { state, cuts: Vec::new() }).into_iter().collect()
                } else {
                    self.step(&runs, class)
                };
                work += next.len();
                next.sort_unstable_by_key(|run| run.state);
                // Else a text would have no run that survives, or two.
                if next.is_empty() || next.windows(2).any(|pair| pair[0].state == pair[1].state) {
                    return Err(Unsupported::TooLarge("a sequence whose steps do not fit together"));
                }
                let pieces = take_common_cuts(&mut next);
                let moves = rename_cuts(&mut next)?;
                let fresh = runs_of.len();
                let number = *number_by_runs.entry(next.clone()).or_insert(fresh);
                if number == fresh {
                    runs_of.push(next);
                }
                row.push(Transition { next: number, pieces, moves });
            }
            if runs_of.len() > MAX_STATES || work > MAX_WORK {
                return Err(Unsupported::TooLarge("a sequence of over 1000 states"));
            }
            transducer.ends.push(if is_start { Vec::new() } else { self.end(&runs)? });
            transducer.transitions.push(row);
        }
        Ok(transducer)
    }

    fn step(&self, runs: &[Run], class: usize) -> Vec<Run> {
        let mut next = Vec::new();
        for run in runs {
            for &(cut, state) in &self.edges[run.state * self.num_classes + class] {
                let mut cuts = run.cuts.clone();
                cuts.extend(cut.then_some(Position::Now));
                next.push(Run { state, cuts });
            }
        }
        next
    }

    fn end(&self, runs: &[Run]) -> Result<Vec<Piece>, Unsupported> {
        let mut survivors = runs.iter().filter(|run| self.accepts[run.state]);
        match (survivors.next(), survivors.next()) {
            (Some(run), None) => Ok(run.cuts.iter().copied().chain([Position::Now]).map(piece_up_to).collect()),
            _ => Err(Unsupported::TooLarge("a sequence whose steps do not fit together")),
        }
    }
}

/// Numbers the states that can be reached, and keeps those that matter.
fn explore<S: Clone + Eq + std::hash::Hash>(
    num_classes: usize,
    start: impl Fn(usize) -> Option<S>,
    edges: impl Fn(&S, usize, &mut Vec<(bool, S)>),
    accepts: impl Fn(&S) -> bool,
) -> Result<Marker, Unsupported> {
    let mut number_by_state = HashMap::new();
    let mut states: Vec<S> = Vec::new();
    let mut number_of = |state: S, states: &mut Vec<S>| {
        *number_by_state.entry(state.clone()).or_insert_with(|| {
            states.push(state);
            states.len() - 1
        })
    };
    let start = (0..num_classes).map(|class| start(class).map(|state| number_of(state, &mut states))).collect();
    let mut marker = Marker { num_classes, start, edges: Vec::new(), accepts: Vec::new() };
    let mut next = Vec::new();
    while let Some(state) = states.get(marker.accepts.len()).cloned() {
        marker.accepts.push(accepts(&state));
        for class in 0..num_classes {
            edges(&state, class, &mut next);
            marker.edges.push(next.drain(..).map(|(cut, state)| (cut, number_of(state, &mut states))).collect());
        }
        if states.len() > MAX_MARKER_STATES || marker.edges.len() > MAX_WORK {
            return Err(Unsupported::TooLarge("a sequence that takes too long to build"));
        }
    }
    Ok(marker.trim())
}

impl Guess {
    /// One character further, with a guess about the place in front of it. None where a guess proves wrong.
    fn step(&self, transducer: &Transducer, live: &[u32], class: usize, mut now: Mark) -> Option<Guess> {
        let transition = &transducer.transitions[self.state][class];
        let mut before = self.clone();
        before.show(&transition.pieces, &mut now)?;
        let mut registers = [Mark::NoCut; MAX_REGISTERS];
        let (mut keeps_previous, mut kept) = (false, [false; MAX_REGISTERS]);
        for name in (0..MAX_REGISTERS).filter(|name| live[transition.next] & (1 << name) != 0) {
            let moved = transition.moves.iter().find(|&&(to, _)| usize::from(to) == name);
            registers[name] = match moved.map_or(Position::Register(name as u8), |&(_, source)| source) {
                Position::Base => Mark::Shown,
                Position::Now => now,
                Position::Previous => {
                    keeps_previous = true;
                    before.previous
                }
                Position::Register(source) => {
                    kept[usize::from(source)] = true;
                    before.registers[usize::from(source)]
                }
            };
        }
        let is_lost = before.previous == Mark::Due && !keeps_previous
            || before.registers.iter().zip(kept).any(|(&mark, kept)| mark == Mark::Due && !kept);
        (!is_lost).then_some(Guess { state: transition.next, previous: now, registers })
    }

    fn may_end(&self, transducer: &Transducer) -> bool {
        let mut ended = self.clone();
        ended.show(&transducer.ends[self.state], &mut Mark::Shown).is_some()
            && ended.previous != Mark::Due
            && !ended.registers.contains(&Mark::Due)
    }

    /// Both ends of a piece are cuts. None where the guess was that there is none.
    fn show(&mut self, pieces: &[Piece], now: &mut Mark) -> Option<()> {
        for position in pieces.iter().flat_map(|piece| [piece.start, piece.end]) {
            let mark = match position {
                Position::Base => continue,
                Position::Now => &mut *now,
                Position::Previous => &mut self.previous,
                Position::Register(name) => &mut self.registers[usize::from(name)],
            };
            if *mark == Mark::NoCut {
                return None;
            }
            *mark = Mark::Shown;
        }
        Some(())
    }
}

/// A run over the text so far that may survive, and the cuts, in order, that not all such runs have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Run {
    state: usize,
    cuts: Vec<Position>,
}

fn take_common_cuts(runs: &mut [Run]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    while let Some(&cut) = runs.first().and_then(|run| run.cuts.first())
        && runs.iter().all(|run| run.cuts.first() == Some(&cut))
    {
        for run in runs.iter_mut() {
            run.cuts.remove(0);
        }
        pieces.push(piece_up_to(cut));
    }
    pieces
}

fn piece_up_to(end: Position) -> Piece {
    Piece { start: Position::Base, end }
}

/// Renames the cuts for the next transition, the registers in order of the text, and says how those are set.
fn rename_cuts(runs: &mut [Run]) -> Result<Vec<(u8, Position)>, Unsupported> {
    let mut known: Vec<Position> = runs.iter().flat_map(|run| run.cuts.iter().copied()).collect();
    known.retain(|&cut| cut != Position::Now);
    known.sort_unstable_by_key(|&cut| if let Position::Register(name) = cut { name } else { u8::MAX });
    known.dedup();
    if known.len() > MAX_REGISTERS {
        return Err(Unsupported::TooLarge("over 16 positions to remember"));
    }
    for cut in runs.iter_mut().flat_map(|run| &mut run.cuts) {
        let name = known.iter().position(|known| known == cut);
        *cut = name.map_or(Position::Previous, |name| Position::Register(name as u8));
    }
    Ok(known.into_iter().enumerate().map(|(name, source)| (name as u8, source)).collect())
}
