//! The heavy differential campaign of the splitter, and its speeds.
//!
//! `split_campaign report | corpus FILE.. | codepoints | strings LIMIT | texts COUNT | random COUNT | fuzz COUNT | linear |
//! speed FILE.. | classes PATTERN.. | cards | sequences COUNT FILE..`
//! `PATTERN=name` takes one pattern only, `WILD=1` random patterns of any shape, `SEED=n` other ones.
//! Oracle: repeated `fancy_regex::Regex::find_from_pos` on the whole text. Exit 1 at the first difference.

use std::time::Instant;

use merganser::split::patterns::{self, Published};
use merganser::split::{Machine, Span, Splitter, Unmatched};

#[path = "../src/split/cards.rs"]
mod cards;
#[path = "../src/split/testing.rs"]
mod testing;
use cards::CARDS;
use testing::{Random, expected, random_pattern, random_text, wild_pattern};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = || arguments.get(1).and_then(|n| n.parse::<usize>().ok()).unwrap_or(1000);
    match arguments.first().map(String::as_str) {
        Some("report") => report(),
        Some("corpus") => corpus(&arguments[1..]),
        Some("codepoints") => code_points(),
        Some("strings") => strings(number()),
        Some("texts") => texts(number()),
        Some("random") => random(number()),
        Some("fuzz") => fuzz(number()),
        Some("sequences") => sequences(number(), arguments.get(2..).unwrap_or_default()),
        Some("linear") => linear(),
        Some("speed") => speed(&arguments[1..]),
        Some("cards") => cards(),
        Some("classes") => classes(&arguments[1..]),
        _ => eprintln!(
            "usage: split_campaign report|corpus|codepoints|strings|texts|random|fuzz|linear|speed|classes|cards|sequences"
        ),
    }
}

fn machines() -> Vec<(Published, Machine)> {
    let only = std::env::var("PATTERN").ok();
    let wanted = |published: &&Published| only.as_deref().is_none_or(|name| name == published.name);
    let compile = |published: &Published| match Machine::compile(published.pattern) {
        Ok(machine) => (*published, machine),
        Err(reason) => fail(&format!("{}: {reason}", published.name)),
    };
    patterns::all().filter(wanted).map(compile).collect()
}

fn fail(message: &str) -> ! {
    println!("DIFFERENT {message}");
    std::process::exit(1)
}

fn report() {
    for published in patterns::all() {
        let start = Instant::now();
        match Machine::compile(published.pattern) {
            Ok(machine) => println!(
                "{:15} {:4} states {:3} classes {:5} of {:5} pairs safe  {:6.2} ms",
                published.name,
                machine.num_states(),
                machine.num_classes(),
                machine.num_safe_pairs(),
                machine.num_classes() * machine.num_classes(),
                start.elapsed().as_secs_f64() * 1e3
            ),
            Err(reason) => println!("{:15} {reason}", published.name),
        }
    }
}

/// Cards as fields that end in U+001F, a card in U+001E: name, origin, patterns.
fn cards() {
    for card in CARDS {
        print!("{}\u{1F}{}\u{1F}", card.name, card.origin);
        card.patterns.iter().for_each(|pattern| print!("{pattern}\u{1F}"));
        print!("\u{1E}");
    }
}

/// A character of each class of the machine of these patterns, one after another: as numbers, by line.
fn classes(patterns: &[String]) {
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    let machine = match patterns.as_slice() {
        [pattern] => Machine::compile(pattern),
        patterns => Machine::compile_sequence(patterns),
    };
    match machine {
        Ok(machine) => machine.representatives().iter().for_each(|&c| println!("{}", u32::from(c))),
        Err(reason) => fail(&reason.to_string()),
    }
}

fn found(machine: &Machine, text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    machine.for_each(text, |start, end| spans.push(Span { start, end }));
    spans
}

fn oracle(pattern: &str) -> fancy_regex::Regex {
    fancy_regex::Regex::new(pattern).unwrap_or_else(|error| fail(&format!("{pattern}: {error}")))
}

/// Compares on one text; false where the oracle gives up.
fn agree(name: &str, regex: &fancy_regex::Regex, machine: &Machine, text: &str) -> bool {
    let Some(expected) = expected(regex, text) else { return false };
    let found = found(machine, text);
    if expected != found {
        let place = expected.iter().zip(&found).position(|(a, b)| a != b).unwrap_or(expected.len().min(found.len()));
        let from = expected.get(place).map_or(0, |span| span.start).saturating_sub(20);
        let show = |spans: &[Span]| {
            let spans = spans.iter().skip(place.saturating_sub(2)).take(6);
            spans
                .map(|span| format!("{}..{} {:?}", span.start, span.end, &text[span.start..span.end]))
                .collect::<Vec<_>>()
        };
        let near: String =
            text[(0..=from).rev().find(|&p| text.is_char_boundary(p)).unwrap_or(0)..].chars().take(60).collect();
        fail(&format!("{name}: near {near:?}\n expected {:?}\n found    {:?}", show(&expected), show(&found)));
    }
    check_safe_splits(name, machine, text, &found);
    true
}

/// Cuts the text at a few safe places and compares the pieces of both sides.
fn check_safe_splits(name: &str, machine: &Machine, text: &str, whole: &[Span]) {
    let tries = if text.len() < 200 { 3 } else { 1 };
    let mut from = if text.len() < 200 { 0 } else { text.len() / 2 };
    for _ in 0..tries {
        let Some(at) = machine.safe_split(text, from, 200) else { return };
        let mut both = found(machine, &text[..at]);
        let behind = found(machine, &text[at..]);
        both.extend(behind.iter().map(|span| Span { start: span.start + at, end: span.end + at }));
        if both != whole {
            fail(&format!("{name}: the safe split at {at} of {:?} is not", text.chars().take(200).collect::<String>()));
        }
        from = at + 1;
    }
}

fn corpus(files: &[String]) {
    for (published, machine) in machines() {
        let regex = oracle(published.pattern);
        let (mut bytes, mut skipped, start) = (0, 0, Instant::now());
        for file in files {
            let text = std::fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let text = text.unwrap_or_else(|error| fail(&format!("{file}: {error}")));
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let cut = (0..=rest.len().min(1 << 20)).rev().find(|&p| rest.is_char_boundary(p)).unwrap_or(rest.len());
                let (part, behind) = rest.split_at(cut);
                if agree(published.name, &regex, &machine, part) {
                    bytes += part.len();
                } else {
                    skipped += 1;
                }
                rest = behind;
            }
        }
        println!(
            "{:15} {:6.1} MB equal, {skipped} parts skipped, {:.0} s",
            published.name,
            bytes as f64 / 1e6,
            start.elapsed().as_secs_f64()
        );
    }
}

fn code_points() {
    for (published, machine) in machines() {
        let regex = oracle(published.pattern);
        let (mut count, start) = (0, Instant::now());
        for c in '\0'..=char::MAX {
            for text in [format!("{c}"), format!("a{c}"), format!(" {c}"), format!("{c}1"), format!("{c}\n")] {
                if !agree(published.name, &regex, &machine, &text) {
                    fail("the oracle gave up");
                }
                count += 1;
            }
        }
        println!("{:15} {count} texts equal, {:.0} s", published.name, start.elapsed().as_secs_f64());
    }
}

/// All strings over one representative per class, up to the longest length that keeps them under `limit`.
fn strings(limit: usize) {
    for (published, machine) in machines() {
        let regex = oracle(published.pattern);
        let alphabet = machine.representatives().to_vec();
        let (mut length, mut total) = (1, alphabet.len());
        while length < 6 && total + alphabet.len().pow(length as u32 + 1) <= limit {
            length += 1;
            total += alphabet.len().pow(length as u32);
        }
        let (mut count, start) = (0, Instant::now());
        let mut digits = vec![0];
        let mut text = String::new();
        while digits.len() <= length {
            text.clear();
            text.extend(digits.iter().map(|&digit| alphabet[digit]));
            if !agree(published.name, &regex, &machine, &text) {
                fail("the oracle gave up");
            }
            count += 1;
            let full = digits.iter().rposition(|&digit| digit + 1 < alphabet.len());
            match full {
                Some(place) => {
                    digits[place] += 1;
                    digits[place + 1..].fill(0);
                }
                None => digits = vec![0; digits.len() + 1],
            }
        }
        println!(
            "{:15} {count} strings to length {length} over {} classes equal, {:.0} s",
            published.name,
            alphabet.len(),
            start.elapsed().as_secs_f64()
        );
    }
}

/// Random Unicode strings, and random byte strings with U+FFFD for what is not UTF-8: `count` of each.
fn texts(count: usize) {
    for (published, machine) in machines() {
        let regex = oracle(published.pattern);
        let (mut random, start) = (Random::new(seed()), Instant::now());
        let mut total = 0;
        for _ in 0..count {
            let text = testing::random_unicode(&mut random, machine.representatives());
            let bytes = testing::random_bytes(&mut random);
            let ascii = if random.below(100) == 0 { testing::random_ascii(&mut random) } else { String::new() };
            for text in [text, String::from_utf8_lossy(&bytes).into_owned(), ascii] {
                if !agree(published.name, &regex, &machine, &text) {
                    fail("the oracle gave up");
                }
                total += text.len();
            }
        }
        println!(
            "{:15} {count} random Unicode and {count} random byte strings, and long ASCII, equal, {:.1} MB, {:.0} s",
            published.name,
            total as f64 / 1e6,
            start.elapsed().as_secs_f64()
        );
    }
}

/// `SEED`, or a fixed one.
fn seed() -> u64 {
    std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x9E37_79B9_7F4A_7C15)
}

fn random(count: usize) {
    let mut random = Random::new(seed());
    let wild = std::env::var("WILD").is_ok();
    let (mut compiled, mut texts, mut skipped, mut one_pass) = (0, 0, 0, 0);
    let mut reasons = std::collections::BTreeMap::<String, usize>::new();
    let start = Instant::now();
    while compiled < count {
        let pattern = if wild { wild_pattern(&mut random) } else { random_pattern(&mut random) };
        let machine = match Machine::compile(&pattern) {
            Ok(machine) => machine,
            Err(reason) => {
                let reason = reason.to_string();
                if !wild {
                    fail(&format!("{pattern} has no machine: {reason}"));
                }
                let reason = reason.split_once("pattern: ").map_or(reason.as_str(), |(_, reason)| reason).to_string();
                if std::env::var("SHOW").is_ok() {
                    println!("{reason}   {pattern}");
                }
                *reasons.entry(reason).or_default() += 1;
                continue;
            }
        };
        let regex = oracle(&pattern);
        compiled += 1;
        one_pass += usize::from(machine.is_one_pass());
        for _ in 0..200 {
            let text = random_text(&mut random);
            if agree(&pattern, &regex, &machine, &text) {
                texts += 1;
            } else {
                skipped += 1;
            }
        }
    }
    println!(
        "{compiled} patterns ({one_pass} in one pass), {texts} texts equal, {skipped} skipped, {:.0} s; not compiled: {reasons:?}",
        start.elapsed().as_secs_f64()
    );
}

/// Random strings of pattern characters: no panic, and whatever compiles is a pattern of the oracle's too.
fn fuzz(count: usize) {
    let mut random = Random::new(0xD1B5_4A32_D192_ED03);
    let (mut compiled, mut texts, start) = (0, 0, Instant::now());
    for _ in 0..count {
        let pattern = testing::pattern_like(&mut random);
        let Ok(machine) = Machine::compile(&pattern) else { continue };
        compiled += 1;
        let Ok(regex) = fancy_regex::Regex::new(&pattern) else { fail(&format!("fancy-regex refuses {pattern:?}")) };
        for _ in 0..5 {
            let text: String = (0..random.below(16))
                .map(|_| random.of(&["a", "b", "é", "漢", " ", "\n", "A", "1", "'", "{", "-", "&"]))
                .collect();
            texts += usize::from(agree(&pattern, &regex, &machine, &text));
        }
    }
    println!(
        "{count} strings without a panic, {compiled} compile, {texts} texts equal, {:.0} s",
        start.elapsed().as_secs_f64()
    );
}

/// The published sequences and the cards as one, against fancy-regex step by step: on `count` random texts of each kind
/// and on files.
fn sequences(count: usize, files: &[String]) {
    let published = patterns::SEQUENCES.iter().map(|sequence| (sequence.name, sequence.patterns));
    for (name, patterns) in published.chain(CARDS.iter().map(|card| (card.name, card.patterns))) {
        let start = Instant::now();
        let steps: Vec<fancy_regex::Regex> = patterns.iter().map(|pattern| oracle(pattern)).collect();
        let keep = |pattern: &&str| {
            Splitter::new(pattern, Unmatched::Keep).unwrap_or_else(|error| fail(&format!("{name}: {error}")))
        };
        let splitters: Vec<Splitter> = patterns.iter().map(keep).collect();
        let splitter = Splitter::sequence(splitters);
        let few = splitter.machine().map_or(&['1', 'a'][..], Machine::representatives);
        let (mut random, mut bytes, mut skipped) = (Random::new(seed()), 0, 0);
        let mut compare = |text: &str| match in_turn(&steps, text) {
            Some(expected) => {
                sequence_agrees(name, &splitter, text, &expected);
                bytes += text.len();
            }
            None => skipped += 1,
        };
        for _ in 0..count {
            compare(&testing::random_unicode(&mut random, few));
            compare(&random_text(&mut random));
            compare(&String::from_utf8_lossy(&testing::random_bytes(&mut random)));
        }
        for file in files {
            let text = std::fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let text = text.unwrap_or_else(|error| fail(&format!("{file}: {error}")));
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let cut = (0..=rest.len().min(1 << 16)).rev().find(|&p| rest.is_char_boundary(p)).unwrap_or(rest.len());
                let (part, behind) = rest.split_at(cut);
                compare(part);
                rest = behind;
            }
        }
        println!(
            "{name:25} {:.1} MB equal, {skipped} texts skipped, {:.0} s: {}",
            bytes as f64 / 1e6,
            start.elapsed().as_secs_f64(),
            splitter.certificate().join("; ")
        );
    }
}

/// The pieces by each oracle in turn, what it does not match being a piece; None where one gives up.
fn in_turn(steps: &[fancy_regex::Regex], text: &str) -> Option<Vec<Span>> {
    let mut pieces = vec![Span { start: 0, end: text.len() }];
    for step in steps {
        let mut cuts = vec![0, text.len()];
        for piece in &pieces {
            cuts.push(piece.end);
            let matches = expected(step, &text[piece.start..piece.end])?;
            cuts.extend(matches.iter().flat_map(|span| [piece.start + span.start, piece.start + span.end]));
        }
        cuts.sort_unstable();
        cuts.dedup();
        pieces = cuts.windows(2).map(|pair| Span { start: pair[0], end: pair[1] }).collect();
    }
    Some(pieces)
}

fn sequence_agrees(name: &str, splitter: &Splitter, text: &str, expected: &[Span]) {
    let split = |text: &str, by: usize| {
        let mut pieces = Vec::new();
        let mut batch = |spans: &[Span]| {
            pieces.extend(spans.iter().map(|span| Span { start: span.start + by, end: span.end + by }));
            Ok(())
        };
        splitter.for_each_batch(text, &mut batch).unwrap_or_else(|error| fail(&format!("{name}: {error}")));
        pieces
    };
    let found = split(text, 0);
    if let Some(at) = found.iter().zip(expected).position(|(found, expected)| found != expected) {
        let from = found[at.saturating_sub(3)].start;
        let near: String = text[from..].chars().take(60).collect();
        fail(&format!("{name}: near {near:?}: expected {:?}, found {:?}", expected[at], found[at]));
    }
    if found.len() != expected.len() {
        fail(&format!("{name}: {} pieces where {} were expected, of {text:?}", found.len(), expected.len()));
    }
    for cut in
        [splitter.next_safe_cut(text, text.len() / 2), splitter.last_safe_cut(text, text.len())].into_iter().flatten()
    {
        let (mut both, behind) = (split(&text[..cut], 0), split(&text[cut..], cut));
        both.extend(behind);
        if both != found {
            fail(&format!("{name}: the cut at {cut} of {text:?} changes pieces"));
        }
    }
}

fn linear() {
    type Make = fn(usize) -> String;
    let kinds: [(&str, Make); 9] = [
        ("spaces", |n| " ".repeat(n)),
        ("newlines", |n| "\n".repeat(n)),
        ("a", |n| "a".repeat(n)),
        ("digits", |n| "1".repeat(n)),
        ("'", |n| "'".repeat(n)),
        ("spaces and x", |n| " ".repeat(n) + "x"),
        ("newline, space", |n| "\n ".repeat(n / 2)),
        ("CJK", |n| "漢A".repeat(n / 4)),
        ("random whitespace", |n| {
            let mut random = Random::new(7);
            (0..n).map(|_| random.of(&[" ", "\n", "\t", "\r"])).collect()
        }),
    ];
    for (published, machine) in machines() {
        let mut worst: (f64, &str, f64) = (0.0, "", 0.0);
        for (kind, make) in &kinds {
            let time = |n: usize| {
                let text = make(n);
                cpu_seconds_of(|| {
                    let mut count = 0;
                    machine.for_each(&text, |_, _| count += 1);
                    std::hint::black_box(count);
                })
            };
            let (half, full) = (time(2 << 20), time(4 << 20));
            if full / half > worst.0 {
                worst = (full / half, kind, 4.2 / full);
            }
        }
        println!("{:15} worst time(2n)/time(n) {:.2} on {} ({:.0} MB/s)", published.name, worst.0, worst.1, worst.2);
    }
}

fn speed(files: &[String]) {
    for file in files {
        let text = std::fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let text = text.unwrap_or_else(|error| fail(&format!("{file}: {error}")));
        for (published, machine) in machines() {
            let mut spans = vec![Span::default(); 256];
            let mut pieces = 0;
            let seconds = cpu_seconds_of(|| {
                let mut cursor = merganser::split::Cursor::default();
                pieces = 0;
                while !cursor.is_done() {
                    pieces += machine.fill(&text, &mut cursor, &mut spans);
                }
            });
            println!(
                "{:15} {file}: {:.0} MB/s of processor time; {pieces} pieces",
                published.name,
                text.len() as f64 / 1e6 / seconds
            );
        }
    }
}

/// Processor time of one run, the least of five groups of runs; other people's load hardly shows in it.
fn cpu_seconds_of(mut run: impl FnMut()) -> f64 {
    let mut group = || {
        let (start, mut runs) = (cpu_seconds(), 0.0);
        loop {
            run();
            runs += 1.0;
            let spent = cpu_seconds() - start;
            if spent >= group_seconds() {
                return spent / runs;
            }
        }
    };
    (0..5).map(|_| group()).fold(f64::INFINITY, f64::min)
}

/// `GROUP_SECONDS`, or 0.2.
fn group_seconds() -> f64 {
    std::env::var("GROUP_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(0.2)
}

/// User and system time of this process, in ticks of 10 ms (Linux).
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
