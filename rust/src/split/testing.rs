//! What the tests and the campaign share: the oracle, and generators of patterns and texts.

use super::Span;

/// What the oracle gives; None where it gives up.
pub fn expected(regex: &fancy_regex::Regex, text: &str) -> Option<Vec<Span>> {
    let (mut spans, mut at) = (Vec::new(), 0);
    while at < text.len() {
        match regex.find_from_pos(text, at).ok()? {
            Some(found) => {
                spans.push(Span { start: found.start(), end: found.end() });
                at = found.end();
            }
            None => break,
        }
    }
    Some(spans)
}

/// xorshift64*: the same sequence on every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.max(1))
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize) % bound
    }

    pub fn of<'a, T: ?Sized>(&mut self, options: &[&'a T]) -> &'a T {
        options[self.below(options.len())]
    }
}

/// A random pattern: alternatives as tokenizers write them.
pub fn random_pattern(random: &mut Random) -> String {
    let mut branches: Vec<String> = (0..1 + random.below(6)).map(|_| tokenizer_branch(random)).collect();
    for (index, tail) in [r"\s+(?!\S)", r"\s+"].iter().enumerate() {
        if random.below(3) > index {
            branches.push(tail.to_string());
        }
    }
    branches.join("|")
}

/// A contraction, or: an optional prefix, a run (or two that a class or case tells apart), an optional suffix.
fn tokenizer_branch(random: &mut Random) -> String {
    const SETS: [&str; 16] = [
        r"\p{L}",
        r"\p{N}",
        r"[^\s\p{L}\p{N}]",
        r"[\r\n]",
        r"[\p{L}\p{M}]",
        r"[\p{P}\p{S}]",
        r"\p{Han}",
        "[a-z&&[^b]]",
        r"\d",
        r"\w",
        r"[A-Za-z]",
        r"\s",
        r"\S",
        r"[^\s]",
        "[ab1]",
        "\\x61",
    ];
    let run = |random: &mut Random| {
        let quantifier = random.of(&["", "+", "+", "++", "{1,3}", "{1,3}+", "{2}", "{2,}", "{2,4}"]);
        format!("{}{quantifier}", random.of(&SETS))
    };
    let whole = match random.below(8) {
        0 => random
            .of(&[
                "(?i:'s|'t|'re)",
                "'(?:[sdmt]|ll)",
                "'(?i:[sdmt]|ll|ve|re)",
                "(?>'s|'t)",
                "b|ab",
                "(?:a|ab)(?:1|b1)?",
            ])
            .to_string(),
        1 => random
            .of(&[
                r"\s++$",
                r"\s*[\r\n]+",
                r"\s*[\r\n]",
                r"\s+$",
                r"\n+",
                r"\s+?(?=\S)",
                r"(?>\s+)(?!a)",
                r"\s{2,}(?=\s)",
                "^a+",
                r"\A\s",
            ])
            .to_string(),
        2 => format!("[^\\r\\n\\p{{L}}\\p{{N}}]?{}*{}+", r"[\p{Lu}\p{Lt}\p{M}]", r"[\p{Ll}\p{M}]"),
        _ => {
            let prefix =
                random.of(&["", "", " ?", " ", " ?+", "[^\\r\\n\\p{L}\\p{N}]?", "[^\\r\\n\\p{L}\\p{N}]?+", "(?: |-)?"]);
            let suffix = random.of(&["", "", "", "[\\r\\n]*", "[\\r\\n/]*+", "(?i:'s|'t|'re)?", "(?>'s)?", "?+"]);
            let body = run(random);
            let suffix = if suffix == "?+" && !body.ends_with(['}', ']']) {
                ""
            } else if suffix == "?+" {
                "-?+"
            } else {
                suffix
            };
            format!("{prefix}{body}{suffix}")
        }
    };
    let look = random.of(&["", "", "", "", "", "", "", r"(?!\S)", r"(?=\s|$)", "(?!a)", r"(?=\p{L})"]);
    format!("{whole}{look}")
}

/// A random pattern of any shape, most of which no bounded memory can split.
pub fn wild_pattern(random: &mut Random) -> String {
    let branches: Vec<String> = (0..1 + random.below(6)).map(|_| random_branch(random, 0)).collect();
    branches.join("|")
}

fn random_branch(random: &mut Random, depth: usize) -> String {
    let mut branch = String::new();
    if random.below(6) == 0 {
        branch.push_str(random.of(&["(?<=a)", r"(?<!\s)", r"(?<=^|\s)", r"\b", "(?<=b+)", "(?!a+b)", r"(?=\S\s)"]));
    }
    for _ in 0..1 + random.below(3) {
        let atom = random_atom(random, depth);
        let quantifier =
            random.of(&["", "", "", "?", "+", "*", "{1,3}", "{2}", "?+", "++", "*+", "{1,3}+", "??", "+?", "*?"]);
        branch.push_str(&atom);
        branch.push_str(quantifier);
    }
    if random.below(5) == 0 {
        branch.push_str(random.of(&[
            r"(?!\S)",
            r"(?=\s|$)",
            "$",
            r"\z",
            "(?!a)",
            "(?=[ab])",
            r"(?!\p{N})",
            r"\b",
            r"\B",
            "(?=a+b)",
            "(?!ab|a*1)",
            r"(?=(?:\S{2})*\b)",
            r"(?=\S+(?!1))",
        ]));
    }
    branch
}

fn random_atom(random: &mut Random, depth: usize) -> String {
    const SETS: [&str; 22] = [
        r"\s",
        r"\S",
        r"\p{L}",
        r"\p{N}",
        r"[^\s\p{L}\p{N}]",
        r"[\r\n]",
        " ",
        "a",
        "b",
        "'",
        r"\p{Lu}",
        r"\p{Ll}",
        r"[^\r\n\p{L}\p{N}]",
        "[ab]",
        "[a-z&&[^b]]",
        r"\d",
        r"\w",
        ".",
        r"\p{M}",
        r"\p{Han}",
        "1",
        "(?i:s)",
    ];
    match random.below(if depth < 2 { 12 } else { 9 }) {
        9 => format!("(?:{}|{})", random_branch(random, depth + 1), random_branch(random, depth + 1)),
        10 => format!("(?>{}|{})", random_branch(random, depth + 1), random_branch(random, depth + 1)),
        11 => format!("(?i:{}|{})", random_branch(random, depth + 1), random_branch(random, depth + 1)),
        _ => random.of(&SETS).to_string(),
    }
}

/// A string of what patterns are made of, most often no pattern.
pub fn pattern_like(random: &mut Random) -> String {
    const PARTS: [&str; 52] = [
        "a", "b", "é", "漢", " ", "\n", "(", ")", "(", ")", "[", "]", "[^", "{", "}", "?", "*", "+", "|", "|", "^",
        "$", "\\", ".", "-", "&&", "(?:", "(?i)", "(?i:", "(?>", "(?=", "(?!", "(?<=", r"\s", r"\S", r"\p{L}", r"\p{",
        r"\P{Lu}", r"\pN", r"\x41", r"\x{41}", r"\u0041", r"\b", r"\z", r"\A", r"\1", "{1,3}", "{2}", "{,3}", "1", "'",
        "++",
    ];
    (0..1 + random.below(14)).map(|_| random.of(&PARTS)).collect()
}

/// A short text over the classes that the random patterns tell apart.
pub fn random_text(random: &mut Random) -> String {
    let alphabet: Vec<char> = "ab 's1\n\t.AB\u{301}漢ſK²\u{a0}\r-é/".chars().collect();
    let (few, offset) = (1 + random.below(alphabet.len()), random.below(alphabet.len()));
    (0..random.below(30)).map(|_| alphabet[(offset + random.below(few)) % alphabet.len()]).collect()
}

/// Some hundred ASCII characters, mostly in runs of letters, signs, digits or white space.
pub fn random_ascii(random: &mut Random) -> String {
    const KINDS: [&str; 8] = ["abcdefgh", "thelrsd'", "ABLRSTDV", "0123", " ", " \t", " \n\r\t", "'.,(_)=/\"x"];
    let mut text = String::new();
    for _ in 0..random.below(200) {
        let kind = random.of(&KINDS).as_bytes();
        (0..1 + random.below(6)).for_each(|_| text.push(char::from(kind[random.below(kind.len())])));
    }
    text
}

/// Up to 15 characters: any, neighbours of one another, or those of `few`, one for each class of a pattern.
pub fn random_unicode(random: &mut Random, few: &[char]) -> String {
    let (length, mut near) = (1 + random.below(15), 0);
    let character = |_| match random.below(4) {
        0 => {
            near = random.below(0x11_0000) as u32;
            char::from_u32(near).unwrap_or('\u{FFFD}')
        }
        1 => char::from_u32(near + random.below(64) as u32).unwrap_or(' '),
        2 => char::from(random.below(128) as u8),
        _ => few[random.below(few.len())],
    };
    (0..length).map(character).collect()
}

/// Up to 23 bytes: any, ASCII, or such as begin and go on with characters.
pub fn random_bytes(random: &mut Random) -> Vec<u8> {
    let length = 1 + random.below(23);
    let byte = |_| match random.below(4) {
        0 => random.below(256) as u8,
        1 => random.below(128) as u8,
        2 => 0xC0 + random.below(64) as u8,
        _ => 0x80 + random.below(64) as u8,
    };
    (0..length).map(byte).collect()
}
