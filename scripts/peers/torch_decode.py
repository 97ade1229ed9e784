#!/usr/bin/env python3
"""Decodes one token after another with Hugging Face transformers under torch.compile, as a peer to trace and to time.

Random weights of Qwen2.5-1.5B in bf16, batch 1, a static cache, greedy: what `rafter bench --random-weights qwen2.5-1.5b` runs.
Each step is an NVTX range "step" in the measured part. Prints one JSON line. Needs a GPU, PyTorch and transformers.

    scripts/peers/torch_decode.py --context 512 --steps 100
    rafter trace --range step --html torch.html -- python3 scripts/peers/torch_decode.py --context 512 --steps 30
"""

import argparse
import json
import time

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM, StaticCache


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--context", type=int, default=512, help="tokens in the cache when the first step begins")
    parser.add_argument("--steps", type=int, default=100, help="steps that are measured")
    parser.add_argument("--mode", default="max-autotune", choices=["max-autotune", "reduce-overhead", "default", "eager"],
                        help="of torch.compile; eager: no compilation")
    return parser.parse_args()


def make_model():
    config = Qwen2Config(vocab_size=151936, hidden_size=1536, intermediate_size=8960, num_hidden_layers=28,
                         num_attention_heads=12, num_key_value_heads=2, max_position_embeddings=32768, rope_theta=1e6,
                         rms_norm_eps=1e-6, tie_word_embeddings=True)
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = Qwen2ForCausalLM(config).eval()
    return config, model


def main():
    arguments = parse_arguments()
    torch.manual_seed(1)
    config, model = make_model()
    cache = StaticCache(config=config, max_cache_len=2 * arguments.context + 256)

    def one(token, position):
        return model(token, cache_position=position, position_ids=position[None], past_key_values=cache,
                     use_cache=True).logits.argmax(-1)

    step = one if arguments.mode == "eager" else torch.compile(one, mode=arguments.mode)
    with torch.inference_mode():
        prompt = torch.randint(0, 150000, (1, arguments.context), device="cuda")
        model(prompt, past_key_values=cache, use_cache=True, cache_position=torch.arange(arguments.context, device="cuda"))
        token = torch.randint(0, 150000, (1, 1), device="cuda")
        position = torch.tensor([arguments.context], device="cuda")
        for _ in range(8):  # compiles, then captures
            token = step(token, position).clone()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(arguments.steps):
            torch.cuda.nvtx.range_push("step")
            token = step(token, position).clone()
            torch.cuda.nvtx.range_pop()
        torch.cuda.synchronize()
        seconds = (time.perf_counter() - start) / arguments.steps
    print(json.dumps({"peer": f"transformers, torch {torch.__version__}, {arguments.mode}", "model": "qwen2.5-1.5b",
                      "dtype": "bf16", "context": arguments.context, "steps": arguments.steps, "step_s": seconds,
                      "tokens_per_s": 1 / seconds}))


if __name__ == "__main__":
    main()
