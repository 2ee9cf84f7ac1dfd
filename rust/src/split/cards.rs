//! Splits of published models beyond those in `patterns`, each with where its text was read: what a stranger brings.
//!
//! Data for the tests and the campaign, so that no pattern of the list is the measure of what compiles.

/// Patterns one after another, each of every piece of the one before.
#[derive(Debug, Clone, Copy)]
pub struct Card {
    pub name: &'static str,
    pub patterns: &'static [&'static str],
    pub origin: &'static str,
}

/// In the spelling of their files, which is Oniguruma's for all but the last two; both dialects read them.
pub const CARDS: &[Card] = &[
    Card {
        name: "spark-2.5",
        patterns: &[
            r"\p{N}{1,3}",
            r"[一-龥぀-ゟ゠-ヿ]+",
            r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+"##,
            r"\p{N}",
        ],
        origin: "llama.cpp, src/llama-vocab.cpp",
    },
    Card {
        name: "youtu",
        patterns: &[
            r"[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        origin: "llama.cpp, src/llama-vocab.cpp",
    },
    Card {
        name: "deepseek-llm",
        patterns: &[
            r"[\r\n]",
            r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\x{1F7D}ᾀ-ᾴᾶ-ᾼ\x{1FBE}ῂ-ῄῆ-ῌῐ-\x{1FD3}ῖ-\x{1FDB}ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\x{2126}ℨ\x{212A}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+",
            r"\s?[!-/:-~！-／：-～‘-‟\x{3000}-。]+",
            r"\s+$",
            r"[一-龥\x{800}-一가-\x{D7FF}]+",
            r"\p{N}+",
        ],
        origin: "llama.cpp, src/llama-vocab.cpp",
    },
    Card {
        name: "deepseek-coder",
        patterns: &[r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥\x{800}-一가-\x{D7FF}]+", r"\p{N}"],
        origin: "llama.cpp, src/llama-vocab.cpp",
    },
    Card {
        name: "falcon, llama.cpp",
        patterns: &[
            r"[\p{P}\$\+<=>\^~\|`]+",
            r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)",
            r"[0-9][0-9][0-9]",
        ],
        origin: "llama.cpp, src/llama-vocab.cpp",
    },
    Card {
        name: "command-r, llama.cpp",
        patterns: &[r"\p{N}", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"],
        origin: "llama.cpp, src/llama-vocab.cpp (SmolLM, CodeShell, EXAONE and others too)",
    },
    Card {
        name: "viking",
        patterns: &[r" ?[^(\s|.,!?…。，、।۔،)]+", r"\p{N}"],
        origin: "llama.cpp, src/llama-vocab.cpp",
    },
    Card {
        name: "llama-3, llama.cpp",
        patterns: &[
            r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        origin: "llama.cpp, src/llama-vocab.cpp (ChatGLM 4, DBRX, Smaug too)",
    },
    Card {
        name: "chameleon",
        patterns: &[
            r"<sentinel:[0-9]+>",
            r"(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
            r"([\t\n]|    |  )",
            r"\p{N}",
            r"[\p{P}!-/:-@\[-`{-~]",
            r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)",
        ],
        origin: "llama.cpp, src/llama-vocab.cpp",
    },
    Card {
        name: "tekken, llama.cpp",
        patterns: &[
            r"[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))*((?=[\p{L}])([^A-Z]))+|[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))+((?=[\p{L}])([^A-Z]))*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        origin: "llama.cpp, src/llama-vocab.cpp",
    },
    Card {
        name: "gpt-4o, llama.cpp",
        patterns: &[
            r"[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))*((?=[\p{L}])([^A-Z]))+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))+((?=[\p{L}])([^A-Z]))*(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        origin: "llama.cpp, src/llama-vocab.cpp (MiniMax M2 too)",
    },
    Card {
        name: "granite-embedding",
        patterns: &[
            r"[^\r\n\p{L}\p{N}]?((?=[\p{L}\p{M}])([^a-z]))*((?=[\p{L}\p{M}])([^A-Z]))+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|[^\r\n\p{L}\p{N}]?((?=[\p{L}\p{M}])([^a-z]))+((?=[\p{L}\p{M}])([^A-Z]))*(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        origin: "llama.cpp, src/llama-vocab.cpp",
    },
    Card {
        name: "tiny-aya",
        patterns: &[
            r"\d{1,3}(?=(?:\d{3})*\b)",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        origin: "llama.cpp, src/llama-vocab.cpp (from tokenizer.json)",
    },
    Card {
        name: "bailing-moe",
        patterns: &[
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
        ],
        origin: "llama.cpp, src/llama-vocab.cpp (from tokenizer.json)",
    },
    Card {
        name: "seed-coder",
        patterns: &[
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        origin: "llama.cpp, src/llama-vocab.cpp (from tokenizer.json)",
    },
    Card {
        name: "ufakzeka",
        patterns: &[r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"],
        origin: "llama.cpp, src/llama-vocab.cpp",
    },
    Card {
        name: "afmoe, without its digits",
        patterns: &[
            r"[一-鿿㐀-䶿豈-\x{FAFF}぀-ゟ゠-ヿ･-ﾟ⼀-\x{2FDF}\x{E00}-\x{E7F}\x{E80}-\x{EFF}ក-\x{17FF}က-႟ꩠ-ꩿꧠ-\x{A9FF}가-\x{D7AF}ᄀ-ᇿ]+",
            r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##,
        ],
        origin: "llama.cpp, src/llama-vocab.cpp",
    },
    Card {
        name: "laguna",
        patterns: &[
            r"[^\n]+|[\n]+",
            r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        origin: "llama.cpp, src/llama-vocab.cpp",
    },
    Card {
        name: "exaone-moe",
        patterns: &[
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+",
        ],
        origin: "llama.cpp, src/llama-vocab.cpp (from tokenizer.json)",
    },
    Card {
        name: "gemma-4, llama.cpp",
        patterns: &[r"[^\n]+|[\n]+"],
        origin: "llama.cpp, src/llama-vocab.cpp (Sarvam too)",
    },
    Card {
        name: "minicpm-5",
        patterns: &[
            r"\p{N}{1,3}",
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        origin: "llama.cpp, src/llama-vocab.cpp (from tokenizer.json)",
    },
    Card { name: "jina-embeddings-zh", patterns: &[r"\S+"], origin: "llama.cpp, src/llama-vocab.cpp" },
    Card {
        name: "minbpe",
        patterns: &[
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
        ],
        origin: "README of psarna/bpe-match (minbpe, nanochat)",
    },
    Card {
        name: "cs336",
        patterns: &[r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"],
        origin: "public repositories of Stanford's CS336",
    },
];
