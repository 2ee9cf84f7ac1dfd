//! `UnicodeScripts`: a piece ends where the script changes. The rules are SentencePiece's, the scripts Unicode 9's.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

use crate::error::Result;
use crate::pulse::Pulse;

/// The scripts of Unicode 9; a character of none of them is of any script.
const SCRIPTS: &str = "Adlam Ahom AnatolianHieroglyphs Arabic Armenian Avestan Balinese Bamum BassaVah Batak Bengali \
    Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid CanadianAboriginal Carian CaucasianAlbanian Chakma Cham Cherokee \
    Common Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Duployan EgyptianHieroglyphs Elbasan Ethiopic Georgian \
    Glagolitic Gothic Grantha Greek Gujarati Gurmukhi Han Hangul Hanunoo Hatran Hebrew Hiragana ImperialAramaic \
    Inherited InscriptionalPahlavi InscriptionalParthian Javanese Kaithi Kannada Katakana KayahLi Kharoshthi Khmer \
    Khojki Khudawadi Lao Latin Lepcha Limbu LinearA LinearB Lisu Lycian Lydian Mahajani Malayalam Mandaic Manichaean \
    Marchen MeeteiMayek MendeKikakui MeroiticCursive MeroiticHieroglyphs Miao Modi Mongolian Mro Multani Myanmar \
    Nabataean NewTaiLue Newa Nko Ogham OlChiki OldHungarian OldItalic OldNorthArabian OldPermic OldPersian \
    OldSouthArabian OldTurkic Oriya Osage Osmanya PahawhHmong Palmyrene PauCinHau PhagsPa Phoenician PsalterPahlavi \
    Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala SoraSompeng Sundanese SylotiNagri \
    Syriac Tagalog Tagbanwa TaiLe TaiTham TaiViet Takri Tamil Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta \
    Ugaritic Vai WarangCiti Yi";

/// Characters whose script has changed since Unicode 9.
const CHANGED: [(char, &str); 4] =
    [('\u{589}', "Common"), ('\u{61C}', "Common"), ('\u{953}', "Devanagari"), ('\u{954}', "Devanagari")];

/// A script by its place in `SCRIPTS`, from 1 on.
type Script = u8;

/// What goes with every script.
const ANY: Script = 0;

struct Table {
    by_character: Vec<Script>,
    han: Script,
    /// Counted as Han.
    kana: [Script; 2],
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut by_character = vec![ANY; char::MAX as usize + 1];
    let place = |name: &str| SCRIPTS.split(' ').position(|script| script == name).map_or(ANY, |at| at as Script + 1);
    for name in SCRIPTS.split(' ') {
        let script = place(name);
        if let Ok(hir) = regex_syntax::parse(&format!(r"[\p{{sc={name}}}&&\p{{age:9.0}}]"))
            && let HirKind::Class(Class::Unicode(class)) = hir.kind()
        {
            for range in class.ranges() {
                if let Some(slots) = by_character.get_mut(range.start() as usize..=range.end() as usize) {
                    slots.fill(script);
                }
            }
        }
    }
    for (character, name) in CHANGED {
        if let Some(slot) = by_character.get_mut(character as usize) {
            *slot = place(name);
        }
    }
    Table { by_character, han: place("Han"), kana: [place("Hiragana"), place("Katakana")] }
});

/// The script of `character`, with Japanese as one and spaces as any.
fn script(character: char) -> Script {
    match character {
        ' ' => ANY,
        '\u{30FC}' => TABLE.han,
        _ => {
            let script = TABLE.by_character.get(character as usize).copied().unwrap_or(ANY);
            if TABLE.kana.contains(&script) { TABLE.han } else { script }
        }
    }
}

/// Appends the spans of `text` between changes of script. What stands before the first character of a script is left
/// out.
pub fn split(text: &str, spans: &mut Vec<(usize, usize)>, pulse: &mut Pulse) -> Result<()> {
    let mut last = None;
    let mut begin = None;
    for (at, character) in pulse.each(text.char_indices()) {
        let script = script(character);
        if script == ANY {
            continue;
        }
        if last != Some(script) {
            spans.extend(begin.replace(at).map(|begin| (begin, at)));
        }
        last = Some(script);
    }
    spans.extend(begin.map(|begin| (begin, text.len())));
    pulse.check()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<&str> {
        let mut spans = Vec::new();
        split(text, &mut spans, &mut Pulse::new(&mut || true)).expect("nobody stops it");
        spans.into_iter().map(|(start, end)| &text[start..end]).collect()
    }

    #[test]
    fn japanese_is_one_script_and_spaces_are_of_any() {
        assert_eq!(pieces("どこで生れ。Yes"), ["どこで生れ", "。", "Yes"]);
        assert_eq!(pieces("Apples are りんご 林檎"), ["Apples are ", "りんご 林檎"]);
    }

    #[test]
    fn what_has_no_script_goes_with_what_stands_before() {
        assert_eq!(pieces("a\u{378}b"), ["a\u{378}b"]);
        assert_eq!(pieces(" a"), ["a"]);
    }
}
