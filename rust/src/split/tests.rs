//! Pieces equal fancy-regex's; the heavy campaign is `examples/split_campaign.rs`.

use super::cards::CARDS;
use super::patterns;
use super::testing::{
    Random, expected, pattern_like, random_ascii, random_bytes, random_pattern, random_text, random_unicode,
    wild_pattern,
};
use super::{Cursor, Error, Machine, Span, Splitter, Unmatched, Unsupported};

fn machine(pattern: &str) -> Machine {
    Machine::compile(pattern).unwrap_or_else(|reason| panic!("{pattern}: {reason}"))
}

fn spans(machine: &Machine, text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    machine.for_each(text, |start, end| spans.push(Span { start, end }));
    spans
}

fn pieces<'t>(pattern: &str, text: &'t str) -> Vec<&'t str> {
    spans(&machine(pattern), text).iter().map(|span| &text[span.start..span.end]).collect()
}

fn oracle(pattern: &str) -> fancy_regex::Regex {
    fancy_regex::Regex::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

/// Panics unless the pieces are the oracle's, where it does not give up, and safe splits are safe.
fn check(pattern: &str, oracle: &fancy_regex::Regex, machine: &Machine, text: &str) {
    let found = spans(machine, text);
    if let Some(expected) = expected(oracle, text) {
        assert_eq!(found, expected, "{pattern} on {text:?}");
    }
    if let Some(at) = machine.safe_split(text, 0, text.len()) {
        let behind =
            spans(machine, &text[at..]).into_iter().map(|span| Span { start: span.start + at, end: span.end + at });
        let both: Vec<Span> = spans(machine, &text[..at]).into_iter().chain(behind).collect();
        assert_eq!(found, both, "{pattern} cut at {at} of {text:?}");
    }
}

#[test]
fn published_patterns_compile_into_small_tables() {
    for published in patterns::all() {
        let machine = machine(published.pattern);
        assert!(machine.is_one_pass() && machine.num_states() < 64 && machine.num_classes() < 32, "{}", published.name);
    }
}

#[test]
fn pieces_equal_fancy_regex_on_all_short_strings() {
    for published in patterns::all() {
        let (machine, oracle) = (machine(published.pattern), oracle(published.pattern));
        let alphabet = machine.representatives();
        let mut texts = vec![String::new()];
        let mut from = 0;
        while texts.len() - from > 0 && texts.len() * alphabet.len() < 15_000 {
            let longer: Vec<String> =
                texts[from..].iter().flat_map(|text| alphabet.iter().map(move |c| format!("{text}{c}"))).collect();
            from = texts.len();
            texts.extend(longer);
        }
        texts.iter().for_each(|text| check(published.pattern, &oracle, &machine, text));
    }
}

#[test]
fn pieces_equal_fancy_regex_on_sampled_code_points_in_context() {
    for published in patterns::all() {
        let (machine, oracle) = (machine(published.pattern), oracle(published.pattern));
        for c in
            ('\0'..=char::MAX).step_by(997).chain('\0'..'\u{180}').chain(['ſ', 'K', '\u{180E}', '\u{200B}', '\u{3000}'])
        {
            for text in
                [format!("{c}"), format!("a{c}"), format!(" {c}"), format!("{c}1"), format!("{c}\n"), format!("'{c}e")]
            {
                check(published.pattern, &oracle, &machine, &text);
            }
        }
    }
}

#[test]
fn random_tokenizer_patterns_compile_and_equal_fancy_regex() {
    let mut random = Random::new(1);
    for _ in 0..200 {
        let pattern = random_pattern(&mut random);
        let (machine, oracle) = (machine(&pattern), oracle(&pattern));
        (0..25).for_each(|_| check(&pattern, &oracle, &machine, &random_text(&mut random)));
    }
}

#[test]
fn wild_patterns_that_compile_equal_fancy_regex() {
    let mut random = Random::new(2);
    for _ in 0..100 {
        let pattern = wild_pattern(&mut random);
        let Ok(machine) = Machine::compile(&pattern) else { continue };
        let oracle = oracle(&pattern);
        (0..25).for_each(|_| check(&pattern, &oracle, &machine, &random_text(&mut random)));
    }
}

/// Which are read in two stretches at a time.
#[test]
fn pieces_of_long_ascii_texts_equal_fancy_regex() {
    let mut random = Random::new(5);
    let published = patterns::all().map(|published| published.pattern.to_owned());
    let made: Vec<String> = (0..300).map(|_| random_pattern(&mut random)).collect();
    for pattern in published.chain(made) {
        let (machine, oracle) = (machine(&pattern), oracle(&pattern));
        (0..10).for_each(|_| check(&pattern, &oracle, &machine, &random_ascii(&mut random)));
    }
}

#[test]
fn no_pattern_string_panics_and_what_compiles_is_a_pattern() {
    let mut random = Random::new(3);
    for _ in 0..4_000 {
        let pattern = pattern_like(&mut random);
        let Ok(machine) = Machine::compile(&pattern) else { continue };
        check(&pattern, &oracle(&pattern), &machine, &random_text(&mut random));
    }
}

#[test]
fn filling_any_number_of_spans_at_a_time_gives_the_same_pieces() {
    let mut random = Random::new(4);
    for pattern in patterns::all().map(|published| published.pattern).chain(["a*b|a", r"\s*1|\s"]) {
        let machine = machine(pattern);
        let text: String = (0..20).map(|_| random_text(&mut random) + &random_ascii(&mut random)).collect();
        for room in [1, 2, 3, 7, 130, 1000] {
            let (mut cursor, mut found, mut some) = (Cursor::default(), Vec::new(), vec![Span::default(); room]);
            while !cursor.is_done() {
                let count = machine.fill(&text, &mut cursor, &mut some);
                found.extend_from_slice(&some[..count]);
            }
            assert_eq!(found, spans(&machine, &text), "{pattern}, {room} at a time");
        }
    }
}

#[test]
fn what_a_reader_should_know_by_heart() {
    let cl100k = super::patterns::CL100K;
    let classic = super::patterns::CL100K_CLASSIC;
    for (pattern, text, expected) in [
        (cl100k, "a\n  ", vec!["a", "\n  "]),
        (classic, "a\n  ", vec!["a", "\n", "  "]),
        (classic, "a \n  b", vec!["a", " \n", " ", " b"]),
        (classic, "don'ſ 1234", vec!["don", "'ſ", " ", "123", "4"]),
        (r"\d+", "a1b22", vec!["1", "22"]),
        ("a*b|a", "aaab aaa", vec!["aaab", "a", "a", "a"]),
        ("(?>a|ab)c", "ac abc", vec!["ac"]),
        // The first way through the group reaches the end, where nothing can follow: no match, no other way.
        ("x(?>ab$|a?)b", "xabb xab", vec!["xab"]),
        (r"\Aa|b$", "aab b", vec!["a", "b"]),
        ("(?:a|b)+?", "ab", vec!["a", "b"]),
        ("b(?=a{2,})", "baab ba", vec!["b"]),
        (r"\d{1,3}(?=(?:\d{3})*\b)", "1234567 12345a", vec!["1", "234", "567"]),
        (r"(?<=^|\s)a+|\Bb(?!a+b)", "aa abbab b", vec!["aa", "a", "b", "b"]),
    ] {
        assert_eq!(pieces(pattern, text), expected, "{pattern} on {text:?}");
    }
}

#[test]
fn a_newline_before_a_letter_is_a_safe_split_where_newlines_end_a_piece() {
    let text = "12 \n\nab";
    for pattern in [super::patterns::CL100K, super::patterns::O200K] {
        assert_eq!(machine(pattern).safe_split(text, 3, 100), Some(5), "{pattern}");
    }
    // Here the run of spaces and newlines is one piece at the end of a text, and two in front of a letter.
    assert_eq!(machine(super::patterns::GPT2).safe_split(text, 3, 100), None);
    assert_eq!(machine("a+").safe_split("aaaa", 0, 100), None);
}

#[test]
fn a_pattern_without_a_machine_says_why() {
    for (pattern, reason) in [
        ("a*", "a pattern that may match nothing has no machine"),
        ("(?:a*)*b", "byte 7 of the pattern: a loop over what may match nothing has no machine"),
        ("(?<=ab)c", "byte 0 of the pattern: a look-behind over more than one character has no machine"),
        (r"\Ga", "byte 2 of the pattern: `\\G` has no machine"),
        (r"(a)\1", "byte 5 of the pattern: `\\1` has no machine"),
        (r"a\b{start}", "byte 3 of the pattern: `\\b` has no machine"),
        ("a)", "byte 1 of the pattern: found an unmatched `)`"),
        ("[a", "byte 2 of the pattern: found a class that is not closed"),
        ("a{3000}", "no machine of bounded size: a pattern of over 2000 nodes"),
    ] {
        assert_eq!(
            Machine::compile(pattern).map_err(|reason| reason.to_string()).err().as_deref(),
            Some(reason),
            "{pattern}"
        );
    }
    assert_eq!(Machine::compile(r"\s*").err(), Some(Unsupported::EmptyMatch));
}

#[test]
fn spaces_before_a_letter_do_not_exhaust_anything() {
    let text = " ".repeat(1_000_000) + "x";
    let last = Span { start: 999_999, end: 1_000_001 };
    assert_eq!(spans(&machine(super::patterns::O200K), &text), [Span { start: 0, end: 999_999 }, last]);
}

fn splitter(pattern: &str, unmatched: Unmatched) -> Splitter {
    Splitter::new(pattern, unmatched).unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

fn split(splitter: &Splitter, text: &str) -> Vec<Span> {
    let mut pieces = Vec::new();
    let mut batch = |spans: &[Span]| {
        pieces.extend_from_slice(spans);
        Ok(())
    };
    splitter.for_each_batch(text, &mut batch).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    pieces
}

fn moved(spans: Vec<Span>, by: usize) -> impl Iterator<Item = Span> {
    spans.into_iter().map(move |span| Span { start: span.start + by, end: span.end + by })
}

/// Panics unless the sequence gives what its steps give in turn, and its cuts change nothing.
fn check_sequence(sequence: &Splitter, steps: &[Splitter], text: &str) {
    let mut expected = vec![Span { start: 0, end: text.len() }];
    for step in steps {
        let inner = |piece: &Span| moved(split(step, &text[piece.start..piece.end]), piece.start).collect::<Vec<_>>();
        expected = expected.iter().flat_map(inner).collect();
    }
    assert_eq!(split(sequence, text), expected, "{sequence:?} on {text:?}");
    let cuts = [sequence.next_safe_cut(text, 1), sequence.last_safe_cut(text, text.len())];
    for cut in cuts.into_iter().flatten() {
        let both: Vec<Span> =
            split(sequence, &text[..cut]).into_iter().chain(moved(split(sequence, &text[cut..]), cut)).collect();
        assert_eq!(both, expected, "{sequence:?} cut at {cut} of {text:?}");
    }
}

#[test]
fn published_sequences_are_one_small_table_and_equal_their_steps() {
    let mut random = Random::new(5);
    for published in patterns::SEQUENCES {
        let steps: Vec<Splitter> = published.patterns.iter().map(|step| splitter(step, Unmatched::Keep)).collect();
        let sequence = Splitter::sequence(steps.clone());
        let machine = Machine::compile_sequence(published.patterns).unwrap_or_else(|reason| panic!("{reason}"));
        assert!(machine.num_states() < 32 && machine.num_classes() < 16 && sequence.can_cut(), "{}", published.name);
        assert!(sequence.certificate()[0].starts_with(&format!("{} steps as one: a table", steps.len())));
        for _ in 0..3_000 {
            let alphabet = machine.representatives();
            let text: String = (0..random.below(9)).map(|_| alphabet[random.below(alphabet.len())]).collect();
            check_sequence(&sequence, &steps, &text);
        }
    }
}

#[test]
fn random_sequences_equal_their_steps_whether_they_are_one_table_or_not() {
    let mut random = Random::new(6);
    let mut as_one = 0;
    for _ in 0..30 {
        let kinds = [Unmatched::Keep, Unmatched::Keep, Unmatched::Keep, Unmatched::Keep, Unmatched::Drop];
        let step = |random: &mut Random| {
            let pattern = if random.below(9) == 0 { r"(?<=a)b|\s+".into() } else { random_pattern(random) };
            splitter(&pattern, kinds[random.below(kinds.len())])
        };
        let steps: Vec<Splitter> = (0..2 + random.below(2)).map(|_| step(&mut random)).collect();
        let sequence = Splitter::sequence(steps.clone());
        as_one += usize::from(sequence.certificate().len() == 1);
        (0..25).for_each(|_| check_sequence(&sequence, &steps, &random_text(&mut random)));
    }
    assert!((2..25).contains(&as_one), "{as_one} of 30");
}

#[test]
fn a_sequence_that_is_no_table_says_why() {
    let account = |patterns: &[(&str, Unmatched)]| {
        let steps = patterns.iter().map(|&(pattern, unmatched)| splitter(pattern, unmatched)).collect();
        let last = Splitter::sequence(steps).certificate().pop();
        last.and_then(|account| account.split_once("no table for all: ").map(|(_, reason)| reason.to_string()))
    };
    let far = "no machine of bounded size: over 16 positions to remember";
    let dropped = "a sequence with a step that drops or refuses text has no machine";
    assert_eq!(account(&[(r"\d", Unmatched::Keep), ("a*b|a", Unmatched::Keep)]).as_deref(), Some(far));
    assert_eq!(account(&[(r"\d", Unmatched::Drop), ("a", Unmatched::Keep)]).as_deref(), Some(dropped));
    assert_eq!(account(&[(r"\d", Unmatched::Keep), ("a", Unmatched::Keep)]), None);
}

#[test]
fn cards_have_machines_and_equal_fancy_regex() {
    let mut random = Random::new(7);
    let mut step_by_step = Vec::new();
    for card in CARDS {
        assert!(!card.origin.is_empty(), "{}", card.name);
        let steps: Vec<Splitter> = card.patterns.iter().map(|step| splitter(step, Unmatched::Keep)).collect();
        for pattern in card.patterns {
            let (machine, oracle) = (machine(pattern), oracle(pattern));
            for _ in 0..100 {
                check(pattern, &oracle, &machine, &random_unicode(&mut random, machine.representatives()));
                check(pattern, &oracle, &machine, &random_text(&mut random));
            }
        }
        let sequence = Splitter::sequence(steps.clone());
        if sequence.certificate().len() > 1 {
            step_by_step.push(card.name);
        }
        let few = sequence.machine().map_or(&['a'][..], Machine::representatives);
        (0..100).for_each(|_| check_sequence(&sequence, &steps, &random_unicode(&mut random, few)));
    }
    assert_eq!(step_by_step, ["deepseek-llm", "tiny-aya"]);
}

#[test]
fn pieces_equal_fancy_regex_on_random_unicode_and_on_random_bytes() {
    let mut random = Random::new(8);
    for published in patterns::all() {
        let (machine, oracle) = (machine(published.pattern), oracle(published.pattern));
        for _ in 0..500 {
            check(published.pattern, &oracle, &machine, &random_unicode(&mut random, machine.representatives()));
            let bytes = random_bytes(&mut random);
            check(published.pattern, &oracle, &machine, &String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn an_error_in_a_later_step_names_the_place_in_the_text() {
    let steps = vec![splitter(r"\n", Unmatched::Keep), splitter(r"\d+|\n", Unmatched::Error)];
    let error = Splitter::sequence(steps).for_each_batch("12\n34x\n", &mut |_| Ok(())).err();
    assert_eq!(error, Some(Error::Unmatched { offset: 5, found: "x".into() }));
}
