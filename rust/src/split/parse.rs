//! Pattern text → syntax tree, for the part of fancy-regex's syntax that a machine can run.
//!
//! Recursive descent over the pattern (never over a text), depth-capped, one pass. The tree means what
//! fancy-regex 0.20 means by the pattern; whatever is not known to mean the same is `Unsupported`.
//! Class bodies go to `regex-syntax`, whose tables fancy-regex uses too.

use super::classes::CharSet;
use super::dfa::Unsupported;

const MAX_DEPTH: usize = 50;

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
}

/// The tree of `pattern`. Its sets are added to `sets`, where they are not there yet.
pub(super) fn parse(pattern: &str, sets: &mut Vec<CharSet>) -> Result<Ast, Unsupported> {
    let mut parser = Parser { pattern, at: 0, flags: Flags::default(), sets };
    let ast = parser.alternation(0)?;
    if parser.at < pattern.len() {
        return Err(parser.syntax("an unmatched `)`"));
    }
    Ok(ast)
}

#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    dot_matches_newline: bool,
    multi_line: bool,
    swap_greed: bool,
}

struct Parser<'p> {
    pattern: &'p str,
    at: usize,
    flags: Flags,
    sets: &'p mut Vec<CharSet>,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.pattern[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.at += prefix.len();
        }
        found
    }

    fn syntax(&self, found: impl Into<String>) -> Unsupported {
        Unsupported::Syntax { offset: self.at, found: found.into() }
    }

    fn feature(&self, what: impl Into<String>) -> Unsupported {
        Unsupported::Feature { offset: self.at, what: what.into() }
    }

    fn alternation(&mut self, depth: usize) -> Result<Ast, Unsupported> {
        if depth > MAX_DEPTH {
            return Err(Unsupported::TooLarge("groups nested too deep"));
        }
        let mut branches = vec![self.branch(depth)?];
        while self.eat("|") {
            branches.push(self.branch(depth)?);
        }
        Ok(if branches.len() == 1 { branches.remove(0) } else { Ast::Alt(branches) })
    }

    fn branch(&mut self, depth: usize) -> Result<Ast, Unsupported> {
        let mut parts = Vec::new();
        while !matches!(self.peek(), None | Some('|' | ')')) {
            match self.piece(depth)? {
                Ast::Empty => {}
                Ast::Concat(inner) => parts.extend(inner),
                part => parts.push(part),
            }
        }
        Ok(match parts.len() {
            0 => Ast::Empty,
            1 => parts.remove(0),
            _ => Ast::Concat(parts),
        })
    }

    fn piece(&mut self, depth: usize) -> Result<Ast, Unsupported> {
        let lookaround = ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|opener| self.rest().starts_with(opener));
        let atom = self.atom(depth)?;
        let Some((min, max)) = self.bounds()? else { return Ok(atom) };
        if lookaround || atom == Ast::Empty {
            return Err(self.syntax("a quantifier with nothing to repeat"));
        }
        let lazy = self.eat("?");
        let possessive = self.eat("+");
        if max.is_some_and(|max| max < min) {
            return Err(self.syntax("a quantifier whose upper bound is below its lower one"));
        }
        if max != Some(0) && max != Some(1) && atom.nullable() {
            return Err(Unsupported::EmptyLoop { offset: self.at });
        }
        let greedy = lazy == self.flags.swap_greed;
        let repeat = Ast::Repeat { body: Box::new(atom), min, max, greedy };
        Ok(if possessive { atomic(repeat) } else { repeat })
    }

    /// The bounds of a quantifier, if one is next. A brace that opens no quantifier is a literal.
    fn bounds(&mut self) -> Result<Option<(usize, Option<usize>)>, Unsupported> {
        if self.eat("?") {
            return Ok(Some((0, Some(1))));
        }
        if self.eat("*") {
            return Ok(Some((0, None)));
        }
        if self.eat("+") {
            return Ok(Some((1, None)));
        }
        let Some(body) = self.rest().strip_prefix('{') else { return Ok(None) };
        let Some(len) = body.find('}') else { return Ok(None) };
        let body = &body[..len];
        let (low, high) = body.split_once(',').unwrap_or((body, body));
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if !digits(low) || !digits(high) || body.is_empty() {
            return Ok(None);
        }
        let number = |s: &str| s.parse::<usize>().map_err(|_| Unsupported::TooLarge("a repetition count"));
        let min = if low.is_empty() { 0 } else { number(low)? };
        let max = if high.is_empty() { None } else { Some(number(high)?) };
        self.at += len + 2;
        Ok(Some((min, max)))
    }

    fn atom(&mut self, depth: usize) -> Result<Ast, Unsupported> {
        let Some(c) = self.peek() else { return Ok(Ast::Empty) };
        match c {
            '(' => self.group(depth),
            '[' => self.class(),
            '\\' => self.escape(),
            '*' | '+' | '?' => Err(self.syntax("a quantifier with nothing to repeat")),
            '.' => {
                self.at += 1;
                self.set_of(if self.flags.dot_matches_newline { "(?s:.)" } else { "." }, false)
            }
            '^' if self.flags.multi_line => Err(self.feature("`^` in multi-line mode")),
            '^' => {
                self.at += 1;
                Ok(Ast::Start)
            }
            '$' => {
                self.at += 1;
                let mut sets = Vec::new();
                if self.flags.multi_line {
                    sets.push(self.intern(CharSet::from_ranges([('\n', '\n')])));
                }
                Ok(Ast::Look(Look { sets, end: true, negated: false }))
            }
            c => {
                self.at += c.len_utf8();
                self.literal(c, self.flags.ignore_case)
            }
        }
    }

    fn group(&mut self, depth: usize) -> Result<Ast, Unsupported> {
        let outer = self.flags;
        let opening = self.at;
        self.at += 1;
        enum Kind {
            Plain,
            Atomic,
            Ahead { negated: bool },
            Behind { negated: bool },
        }
        let kind = if self.eat("?=") {
            Kind::Ahead { negated: false }
        } else if self.eat("?!") {
            Kind::Ahead { negated: true }
        } else if self.eat("?<=") {
            Kind::Behind { negated: false }
        } else if self.eat("?<!") {
            Kind::Behind { negated: true }
        } else if self.eat("?>") {
            Kind::Atomic
        } else if self.eat("?") {
            if self.inline_flags()? {
                // Flags without a body hold until the enclosing group closes.
                return Ok(Ast::Empty);
            }
            Kind::Plain
        } else if self.rest().starts_with('*') {
            return Err(self.feature("a backtracking verb"));
        } else {
            Kind::Plain
        };
        let body = self.alternation(depth + 1)?;
        if !self.eat(")") {
            return Err(self.syntax("a group that is not closed"));
        }
        self.flags = outer;
        match kind {
            Kind::Plain => Ok(body),
            Kind::Atomic => Ok(atomic(body)),
            Kind::Ahead { negated } => match one_char_condition(&body) {
                Some((sets, end)) => Ok(Ast::Look(Look { sets, end, negated })),
                None => Ok(Ast::Ahead { body: Box::new(body), negated }),
            },
            Kind::Behind { negated } => match one_char_behind(&body) {
                Some((sets, start)) => Ok(Ast::Behind(Behind { sets, start, negated })),
                None => Err(Unsupported::Feature {
                    offset: opening,
                    what: "a look-behind over more than one character".into(),
                }),
            },
        }
    }

    /// Reads `i-s:` or `i-s)` after `(?`; true if the group ended there.
    fn inline_flags(&mut self) -> Result<bool, Unsupported> {
        let (mut on, mut count) = (true, 0);
        loop {
            match self.next() {
                Some('i') => self.flags.ignore_case = on,
                Some('s') => self.flags.dot_matches_newline = on,
                Some('m') => self.flags.multi_line = on,
                Some('U') => self.flags.swap_greed = on,
                Some('-') if on => {
                    on = false;
                    continue;
                }
                Some(':') if on || count > 0 => return Ok(false),
                Some(')') if count > 0 => return Ok(true),
                Some(c) => return Err(self.feature(format!("a group that opens with `(?…{c}`"))),
                None => return Err(self.syntax("a group that is not closed")),
            }
            count += 1;
        }
    }

    fn escape(&mut self) -> Result<Ast, Unsupported> {
        let start = self.at;
        self.at += 1;
        let Some(c) = self.next() else { return Err(self.syntax("a backslash at the end")) };
        match c {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => {
                let source = self.pattern[start..self.at].to_string();
                self.set_of(&source, self.flags.ignore_case)
            }
            'h' => self.set_of("[0-9A-Fa-f]", false),
            'H' => self.set_of("[^0-9A-Fa-f]", false),
            'N' => self.set_of("[^\\n]", false),
            'O' => self.set_of("(?s:.)", false),
            'p' | 'P' => {
                let source = self.property(start)?;
                self.set_of(&source, self.flags.ignore_case)
            }
            'b' | 'B' if !self.rest().starts_with('{') => self.word_boundary(c == 'B'),
            'A' => Ok(Ast::Start),
            'z' => Ok(Ast::Look(Look { sets: Vec::new(), end: true, negated: false })),
            'x' | 'u' | 'U' => {
                let c = self.hex(c)?;
                self.literal(c, self.flags.ignore_case)
            }
            c => match escaped_literal(c) {
                Some(literal) => self.literal(literal, false),
                None => Err(self.feature(format!("`\\{c}`"))),
            },
        }
    }

    /// `\b`: a word character on one side only; `\B`: on both or none.
    fn word_boundary(&mut self, negated: bool) -> Result<Ast, Unsupported> {
        let Ast::Set(word) = self.set_of("\\w", false)? else { return Err(self.feature("`\\b`")) };
        let branch = |is_word_behind: bool| {
            let behind = Behind { sets: vec![word], start: false, negated: !is_word_behind };
            let ahead = Look { sets: vec![word], end: false, negated: is_word_behind != negated };
            Ast::Concat(vec![Ast::Behind(behind), Ast::Look(ahead)])
        };
        Ok(Ast::Alt(vec![branch(true), branch(false)]))
    }

    /// Reads the rest of `\p{..}` or `\pL`; gives its source back.
    fn property(&mut self, start: usize) -> Result<String, Unsupported> {
        match self.next() {
            Some('{') => {
                let Some(len) = self.rest().find('}') else { return Err(self.syntax("`\\p{` that is not closed")) };
                let name = self.rest()[..len].to_lowercase();
                self.at += len + 1;
                // fancy-regex gives these names (and `^`) meanings of its own.
                const REMAPPED: [&str; 7] = ["alnum", "blank", "cntrl", "word", "graph", "print", "cs"];
                if name.starts_with('^') || REMAPPED.contains(&name.as_str()) {
                    return Err(self.feature(format!("`\\p{{{name}}}`")));
                }
                Ok(self.pattern[start..self.at].to_lowercase().replacen("\\p", &self.pattern[start..start + 2], 1))
            }
            Some(_) => Ok(self.pattern[start..self.at].to_string()),
            None => Err(self.syntax("`\\p` at the end")),
        }
    }

    fn hex(&mut self, kind: char) -> Result<char, Unsupported> {
        let width = match kind {
            'x' => 2,
            'u' => 4,
            _ => 8,
        };
        let hex = |s: &str| !s.is_empty() && s.len() <= 8 && s.bytes().all(|b| b.is_ascii_hexdigit());
        let (digits, len) = match self.rest().get(..width) {
            Some(digits) if hex(digits) => (digits, width),
            _ => {
                let braced = self.rest().strip_prefix('{').and_then(|body| body.split_once('}'));
                match braced {
                    Some((digits, _)) if hex(digits) => (digits, digits.len() + 2),
                    _ => return Err(self.syntax("an escape without hexadecimal digits")),
                }
            }
        };
        let c = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
        let c = c.ok_or_else(|| self.syntax("an escape that is no code point"))?;
        self.at += len;
        Ok(c)
    }

    /// A bracketed class. Escapes are rewritten into those that regex-syntax knows.
    fn class(&mut self) -> Result<Ast, Unsupported> {
        let mut source = String::new();
        let mut nesting = 0;
        while let Some(c) = self.peek() {
            let start = self.at;
            self.at += c.len_utf8();
            match c {
                '[' => {
                    nesting += 1;
                    source.push('[');
                    if self.eat("^") {
                        source.push('^');
                    }
                    // A `]` that comes first is a literal.
                    if self.eat("]") {
                        source.push_str("\\]");
                    }
                }
                ']' => {
                    nesting -= 1;
                    source.push(']');
                    if nesting == 0 {
                        return self.set_of(&source, self.flags.ignore_case);
                    }
                }
                '\\' => match self.next() {
                    Some('d' | 'D' | 's' | 'S' | 'w' | 'W') => source.push_str(&self.pattern[start..self.at]),
                    Some('p' | 'P') => source.push_str(&self.property(start)?),
                    Some(kind @ ('x' | 'u' | 'U')) => {
                        let c = self.hex(kind)?;
                        source.push_str(&format!("\\x{{{:X}}}", c as u32));
                    }
                    Some(c) => match escaped_literal(c) {
                        Some(c) => source.push_str(&format!("\\x{{{:X}}}", c as u32)),
                        None => return Err(self.feature(format!("`\\{c}` in a class"))),
                    },
                    None => break,
                },
                c => source.push(c),
            }
        }
        Err(self.syntax("a class that is not closed"))
    }

    fn literal(&mut self, c: char, ignore_case: bool) -> Result<Ast, Unsupported> {
        if ignore_case {
            return self.set_of(&format!("\\x{{{:X}}}", c as u32), true);
        }
        let set = CharSet::from_ranges([(c, c)]);
        Ok(Ast::Set(self.intern(set)))
    }

    fn set_of(&mut self, source: &str, ignore_case: bool) -> Result<Ast, Unsupported> {
        let set = CharSet::parse(source, ignore_case).map_err(|reason| self.syntax(reason))?;
        Ok(Ast::Set(self.intern(set)))
    }

    fn intern(&mut self, set: CharSet) -> SetId {
        self.sets.iter().position(|known| *known == set).unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        })
    }
}

/// The character that fancy-regex reads `\c` as; None for escapes that are not plain literals.
fn escaped_literal(c: char) -> Option<char> {
    match c {
        'a' => Some('\x07'),
        'f' => Some('\x0C'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'v' => Some('\x0B'),
        'e' => Some('\x1B'),
        '<' | '>' => None,
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(c),
        _ => None,
    }
}

/// `(?>body)`. Over runs of one class it is a lookahead: `X*+` is `X*(?!X)`, since giving back a character
/// leaves an X next; bounded ones stop early only where no X is next.
fn atomic(body: Ast) -> Ast {
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
fn one_char_condition(body: &Ast) -> Option<(Vec<SetId>, bool)> {
    match body {
        Ast::Set(set) => Some((vec![*set], false)),
        Ast::Look(Look { sets, end, negated: false }) => Some((sets.clone(), *end)),
        // What follows the first character of the run does not matter: one will do.
        Ast::Repeat { body, min: 1, .. } if matches!(**body, Ast::Set(_)) => one_char_condition(body),
        Ast::Alt(parts) => {
            let (mut sets, mut end) = (Vec::new(), false);
            for part in parts {
                let (more, at_end) = one_char_condition(part)?;
                sets.extend(more);
                end |= at_end;
            }
            Some((sets, end))
        }
        _ => None,
    }
}

/// A look-behind's body as a condition on the character before alone: its sets, and whether the start will do.
fn one_char_behind(body: &Ast) -> Option<(Vec<SetId>, bool)> {
    match body {
        Ast::Set(set) => Some((vec![*set], false)),
        Ast::Start => Some((Vec::new(), true)),
        Ast::Repeat { body, min: 1, .. } if matches!(**body, Ast::Set(_)) => one_char_behind(body),
        Ast::Alt(parts) => {
            let (mut sets, mut start) = (Vec::new(), false);
            for part in parts {
                let (more, at_start) = one_char_behind(part)?;
                sets.extend(more);
                start |= at_start;
            }
            Some((sets, start))
        }
        _ => None,
    }
}
