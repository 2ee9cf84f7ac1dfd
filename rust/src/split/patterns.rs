//! The split patterns that published tokenizers use, by name, each with where its text was read.
//!
//! Data only: no code asks whether a pattern is one of these.

/// A published pattern and the models that split by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    pub name: &'static str,
    pub pattern: &'static str,
    pub origin: &'static str,
}

macro_rules! contractions {
    () => {
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    };
}

macro_rules! cased_words {
    ($suffix:expr) => {
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
            $suffix,
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
            $suffix,
        )
    };
}

macro_rules! kimi_words {
    ($suffix:expr) => {
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+",
            $suffix,
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*",
            $suffix,
        )
    };
}

pub const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
pub const R50K: &str = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s";
pub const CL100K: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s";
pub const CL100K_CLASSIC: &str = concat!(
    contractions!(),
    r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
pub const O200K: &str = concat!(
    cased_words!(concat!(contractions!(), "?")),
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
pub const QWEN2: &str =
    concat!(contractions!(), r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+");
pub const QWEN3_5: &str = concat!(
    contractions!(),
    r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
pub const TEKKEN: &str = concat!(cased_words!(""), r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+");
pub const KIMI_K2: &str = concat!(
    r"[\p{Han}]+|",
    kimi_words!(concat!(contractions!(), "?")),
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
pub const DIGIT_GROUPS: &str = r"\p{N}{1,3}";
pub const DEEPSEEK_CJK: &str = "[\u{4E00}-\u{9FA5}\u{3040}-\u{309F}\u{30A0}-\u{30FF}]+";
pub const DEEPSEEK_MAIN: &str = concat!(
    r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"##,
    "|[^\r\n",
    r"\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[",
    "\r\n",
    r"]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
pub const BLOOM: &str = " ?[^(\\s|[.,!?\u{2026}\u{3002}\u{FF0C}\u{3001}\u{964}\u{6D4}\u{60C}])]+";
pub const CLIP: &str = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+";
pub const THREE_DIGITS: &str = "[0-9][0-9][0-9]";
pub const DIGITS: &str = r"\p{N}+";
pub const DIGIT: &str = r"\p{N}";
pub const PUNCTUATION: &str = r"[!-/:-@\[-`{-~\p{P}]+";

/// Those that split text by themselves.
pub const WHOLE: &[Published] = &[
    Published {
        name: "gpt2",
        pattern: GPT2,
        origin: "ByteLevel of tokenizers; comment in tiktoken_ext/openai_public.py",
    },
    Published { name: "r50k_base", pattern: R50K, origin: "tiktoken 0.14, tiktoken_ext/openai_public.py (r50k, p50k)" },
    Published { name: "cl100k_base", pattern: CL100K, origin: "tiktoken 0.14, tiktoken_ext/openai_public.py" },
    Published {
        name: "cl100k",
        pattern: CL100K_CLASSIC,
        origin: "transformers 5, convert_slow_tokenizer.py; Llama 3's tokenizer.json",
    },
    Published {
        name: "o200k",
        pattern: O200K,
        origin: "tiktoken 0.14, tiktoken_ext/openai_public.py (o200k_base, o200k_harmony)",
    },
    Published {
        name: "qwen2",
        pattern: QWEN2,
        origin: "Qwen2.5's tokenizer.json; transformers 5, tokenization_qwen2.py (Qwen 2, 2.5, 3)",
    },
    Published { name: "qwen3.5", pattern: QWEN3_5, origin: "transformers 5, tokenization_qwen3_5.py" },
    Published {
        name: "tekken",
        pattern: TEKKEN,
        origin: "transformers 5, tokenization_utils_tokenizers.py (Mistral Tekken)",
    },
    Published {
        name: "kimi-k2",
        pattern: KIMI_K2,
        origin: "tokenization_kimi.py of moonshotai, as copied in public repositories",
    },
    Published { name: "bloom", pattern: BLOOM, origin: "BLOOM's tokenizer.json, as copied in public repositories" },
    Published { name: "clip", pattern: CLIP, origin: "CLIP's tokenizer.json" },
];

/// The steps of sequences: DeepSeek's, StarCoder's, Falcon's.
pub const STEPS: &[Published] = &[
    Published { name: "digit-groups", pattern: DIGIT_GROUPS, origin: "DeepSeek-V3's tokenizer.json, first of three" },
    Published { name: "deepseek-cjk", pattern: DEEPSEEK_CJK, origin: "DeepSeek-V3's tokenizer.json, second of three" },
    Published { name: "deepseek-main", pattern: DEEPSEEK_MAIN, origin: "DeepSeek-V3's tokenizer.json, third of three" },
    Published { name: "three-digits", pattern: THREE_DIGITS, origin: "Falcon's tokenizer.json, last of its sequence" },
    Published { name: "punctuation", pattern: PUNCTUATION, origin: "Punctuation of tokenizers, contiguous (Falcon)" },
    Published { name: "digits", pattern: DIGITS, origin: "Digits of tokenizers, together (Falcon)" },
    Published { name: "digit", pattern: DIGIT, origin: "Digits of tokenizers, one by one (StarCoder)" },
];

/// Splits one after another, each of every piece of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequence {
    pub name: &'static str,
    pub patterns: &'static [&'static str],
    pub origin: &'static str,
}

pub const SEQUENCES: &[Sequence] = &[
    Sequence {
        name: "deepseek-v3",
        patterns: &[DIGIT_GROUPS, DEEPSEEK_CJK, DEEPSEEK_MAIN],
        origin: "DeepSeek-V3's tokenizer.json",
    },
    Sequence {
        name: "starcoder",
        patterns: &[DIGIT, GPT2],
        origin: "StarCoder's tokenizer.json, as copied in public repositories",
    },
    Sequence { name: "falcon", patterns: &[PUNCTUATION, GPT2], origin: "Falcon's tokenizer.json, up to its ByteLevel" },
];

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Published> {
    WHOLE.iter().chain(STEPS)
}
