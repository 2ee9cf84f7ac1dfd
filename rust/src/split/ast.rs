//! What a pattern means: its syntax tree, and what can be said of it before there is an automaton.

pub(super) type SetId = usize;

/// A condition on the next character, which it does not consume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look {
    pub sets: Vec<SetId>,
    /// Whether the end of the text satisfies the condition (before negation).
    pub end: bool,
    pub negated: bool,
}

/// A condition on the character before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Behind {
    pub sets: Vec<SetId>,
    /// Whether the start of the text satisfies the condition (before negation).
    pub start: bool,
    pub negated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ast {
    Empty,
    Set(SetId),
    Look(Look),
    /// A lookahead of any length.
    Ahead {
        body: Box<Ast>,
        negated: bool,
    },
    Behind(Behind),
    /// `\A`: the start of the text.
    Start,
    Concat(Vec<Ast>),
    Alt(Vec<Ast>),
    Repeat {
        body: Box<Ast>,
        min: usize,
        max: Option<usize>,
        greedy: bool,
    },
    Atomic(Box<Ast>),
}

impl Ast {
    /// Whether it can match without consuming a character.
    pub fn nullable(&self) -> bool {
        match self {
            Ast::Empty | Ast::Look(_) | Ast::Ahead { .. } | Ast::Behind(_) | Ast::Start => true,
            Ast::Set(_) => false,
            Ast::Concat(parts) => parts.iter().all(Ast::nullable),
            Ast::Alt(parts) => parts.iter().any(Ast::nullable),
            Ast::Repeat { body, min, .. } => *min == 0 || body.nullable(),
            Ast::Atomic(body) => body.nullable(),
        }
    }

    /// The number of characters of every match, if it is the same for all.
    fn length(&self) -> Option<usize> {
        match self {
            Ast::Empty | Ast::Look(_) | Ast::Ahead { .. } | Ast::Behind(_) | Ast::Start => Some(0),
            Ast::Set(_) => Some(1),
            Ast::Concat(parts) => parts.iter().try_fold(0usize, |sum, part| sum.checked_add(part.length()?)),
            Ast::Alt(parts) => {
                let mut lengths = parts.iter().map(Ast::length);
                let first = lengths.next()??;
                lengths.all(|length| length == Some(first)).then_some(first)
            }
            Ast::Repeat { body, min, max, .. } if *max == Some(*min) => body.length()?.checked_mul(*min),
            Ast::Repeat { .. } => None,
            Ast::Atomic(body) => body.length(),
        }
    }

    /// `(?>body)`. Over runs of one class it is a lookahead: `X*+` is `X*(?!X)`, since giving back a character
    /// leaves an X next; bounded ones stop early only where no X is next.
    pub fn atomic(self) -> Ast {
        let body = self;
        if let Ast::Repeat { body: inner, min, max, greedy: true } = &body
            && let Ast::Set(set) = **inner
        {
            let none_next = || Ast::Look(Look { sets: vec![set], end: false, negated: true });
            let Some(max) = *max else { return Ast::Concat(vec![body, none_next()]) };
            if max - min <= 64 {
                let mut tail = Ast::Empty;
                for _ in *min..max {
                    tail = Ast::Alt(vec![Ast::Concat(vec![Ast::Set(set), tail]), none_next()]);
                }
                let head = Ast::Repeat { body: inner.clone(), min: *min, max: Some(*min), greedy: true };
                return Ast::Concat(vec![head, tail]);
            }
        }
        // Where all ways through end at the same place, it does not matter which one is kept.
        if body.length().is_some() { body } else { Ast::Atomic(Box::new(body)) }
    }

    /// A lookahead's body as a condition on the next character alone: its sets, and whether the end will do.
    pub fn one_char_ahead(&self) -> Option<(Vec<SetId>, bool)> {
        match self {
            Ast::Set(set) => Some((vec![*set], false)),
            Ast::Look(Look { sets, end, negated: false }) => Some((sets.clone(), *end)),
            // What follows the first character of the run does not matter: one will do.
            Ast::Repeat { body, min: 1, .. } if matches!(**body, Ast::Set(_)) => body.one_char_ahead(),
            Ast::Alt(parts) => {
                let (mut sets, mut end) = (Vec::new(), false);
                for part in parts {
                    let (more, at_end) = part.one_char_ahead()?;
                    sets.extend(more);
                    end |= at_end;
                }
                Some((sets, end))
            }
            _ => None,
        }
    }

    /// A look-behind's body as a condition on the character before alone: its sets, and whether the start will do.
    pub fn one_char_behind(&self) -> Option<(Vec<SetId>, bool)> {
        match self {
            Ast::Set(set) => Some((vec![*set], false)),
            Ast::Start => Some((Vec::new(), true)),
            Ast::Repeat { body, min: 1, .. } if matches!(**body, Ast::Set(_)) => body.one_char_behind(),
            Ast::Alt(parts) => {
                let (mut sets, mut start) = (Vec::new(), false);
                for part in parts {
                    let (more, at_start) = part.one_char_behind()?;
                    sets.extend(more);
                    start |= at_start;
                }
                Some((sets, start))
            }
            _ => None,
        }
    }
}
