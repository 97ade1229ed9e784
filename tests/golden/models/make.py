#!/usr/bin/env python3
"""Makes the golden files of this folder: tiny random models and what `transformers` computes with them. README.md has
the formats.

    python3 -m venv venv && venv/bin/pip install torch==2.15.0 transformers==5.24.0 numpy==2.4.6
    venv/bin/python tests/golden/models/make.py tests/golden/models

A GPU is not used. The weights come from numpy's PCG64 with the seeds below and are the same bytes on every machine; the
logits may differ in their last bits with the machine and the version of torch.

The usual initialisation (normal, 0.02, norms of one, biases of zero) makes a model that hides mistakes: flat logits,
attention that is nearly uniform, norms and biases that do nothing. So the weights here are lively, epsilon and theta are
not the usual ones, and `mutants` proves for each model that typical mistakes (a bias dropped, rotary pairs taken wrongly,
heads of k and v mapped wrongly, ...) move the logits far beyond the tolerance of the tests.

Equal greedy tokens are a fair test only where the two best logits are well apart. Prompts are therefore drawn (seeded)
until, along the whole continuation, the gap is at least MIN_GAP of the stored dtype; a model stored in 16 bits must also
choose the same tokens when transformers runs it in those 16 bits. Continuations that repeat few tokens are refused too,
as are those with the end-of-sequence token, which so never cuts a continuation short.
"""

import argparse
import dataclasses
import json
import pathlib
import shutil

import numpy as np
import torch
import transformers

LENGTHS = (1, 2, 7, 17, 33, 50)  # around pages of 16 positions: within one, just into the second and third, and beyond
GREEDY_TOKENS = 24
MIN_DISTINCT = 12  # of the 24
MIN_GAP = {torch.float32: 0.02, torch.float16: 0.1, torch.bfloat16: 0.1}
TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 2e-2}  # of Rafter's tests; see relative_error
MIN_MUTATION = 5  # a mutant is at least this many tolerances away
EOS = 2


@dataclasses.dataclass
class Model:
    folder: str
    seed: int
    dtype: torch.dtype
    config: transformers.PretrainedConfig
    # Released models have config.json as transformers 4 wrote it (rope_theta, rope_scaling, torch_dtype), new ones as
    # transformers 5 does (rope_parameters, dtype). Here are both.
    config_of_v4: bool = False
    drop_keys: tuple = ()  # keys that older files lack; their defaults say the same
    shard_bytes: int = 2**30
    # Its square is how far the scores of attention spread: at 1.3 attention picks a few positions. Sharper attention also
    # amplifies rounding, so a model in bf16 has less, or a correct run in bf16 would not stay within the tolerance.
    sharpness: float = 1.3


def rope(theta, **scaling):
    return {"rope_type": "llama3" if scaling else "default", "rope_theta": theta, **scaling}


def models():
    """Two layers each. Sizes are odd on purpose: rows that are no multiple of a vector, heads that do not fill hidden."""
    llama, qwen2, qwen3 = transformers.LlamaConfig, transformers.Qwen2Config, transformers.Qwen3Config
    f32, f16, bf16 = torch.float32, torch.float16, torch.bfloat16

    def sizes(hidden, ffn, q_heads, kv_heads, vocab):
        return dict(hidden_size=hidden, intermediate_size=ffn, num_attention_heads=q_heads, num_key_value_heads=kv_heads,
                    vocab_size=vocab, num_hidden_layers=2, max_position_embeddings=160, bos_token_id=1, eos_token_id=EOS)

    # The original context is so short that all three bands (kept, blended, divided) are met within head_dim.
    scaled = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
    scaled_other = dict(factor=3.0, low_freq_factor=1.5, high_freq_factor=5.0, original_max_position_embeddings=48)
    return [
        Model("llama-f32", 11, f32, llama(**sizes(54, 61, 6, 2, 181), head_dim=16, rms_norm_eps=3e-3,
              tie_word_embeddings=False, rope_parameters=rope(3000.0)), config_of_v4=True),
        Model("llama-tied-rope3-f32", 12, f32, llama(**sizes(64, 77, 4, 2, 199), rms_norm_eps=2e-3,
              tie_word_embeddings=True, rope_parameters=rope(10000.0, **scaled)), config_of_v4=True,
              drop_keys=("head_dim", "attention_bias", "mlp_bias")),
        Model("llama-rope3-bf16", 13, bf16, llama(**sizes(75, 101, 3, 1, 199), head_dim=24, rms_norm_eps=1e-2,
              tie_word_embeddings=False, rope_parameters=rope(500.0, **scaled_other)),
              sharpness=0.8),
        Model("qwen2-tied-f32", 14, f32, qwen2(**sizes(64, 61, 4, 2, 211), rms_norm_eps=1e-3, use_sliding_window=False,
              tie_word_embeddings=True, rope_parameters=rope(1000.0)), config_of_v4=True),
        Model("qwen2-bf16", 35, bf16, qwen2(**sizes(96, 67, 6, 2, 173), rms_norm_eps=1e-2, use_sliding_window=False,
              tie_word_embeddings=False, rope_parameters=rope(2000.0)), sharpness=1.0),
        Model("qwen3-sharded-f32", 16, f32, qwen3(**sizes(50, 61, 6, 2, 151), head_dim=24, rms_norm_eps=3e-3,
              use_sliding_window=False, tie_word_embeddings=False, rope_parameters=rope(700.0)), shard_bytes=100_000),
        Model("qwen3-tied-f16", 17, f16, qwen3(**sizes(40, 101, 5, 1, 199), head_dim=32, rms_norm_eps=1e-2,
              use_sliding_window=False, tie_word_embeddings=True, rope_parameters=rope(5000.0)), config_of_v4=True),
    ]


def lively_weights(state, spec):
    """Normal weights, in the order of their names. A matrix has gain / sqrt(inputs), so that each output is about `gain`."""
    rng = np.random.default_rng(spec.seed)
    # With a tied head the layers must outweigh the embedding, or every token predicts itself.
    layer_gain = 2.0 if spec.config.tie_word_embeddings else 1.0
    weights = {}
    for name in sorted(state):
        shape = tuple(state[name].shape)
        noise = rng.standard_normal(shape, dtype=np.float32)
        if "q_norm" in name or "k_norm" in name:
            value = spec.sharpness + 0.3 * noise
        elif "norm" in name:
            value = 1.0 + 0.25 * noise
        elif name.endswith("bias"):
            value = 0.5 * noise
        elif "embed_tokens" in name or "lm_head" in name:
            value = 0.3 * noise
        else:
            gain = {"q_proj": spec.sharpness, "k_proj": spec.sharpness, "o_proj": layer_gain, "down_proj": layer_gain}.get(
                name.split(".")[-2], 1.0)
            value = noise * np.float32(gain / shape[1] ** 0.5)
        weights[name] = torch.from_numpy(np.asarray(value, dtype=np.float32))
    return weights


def make_model(config, weights):
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="eager")
    model.load_state_dict(weights, strict=False)  # lm_head is not among them where it is tied
    model.tie_weights()
    return model.eval()


def untied_names(model):
    """Its weights, without the second name that a tied head has."""
    return {name: tensor for name, tensor in model.state_dict().items()
            if not (model.config.tie_word_embeddings and name == "lm_head.weight")}


def save(spec, folder):
    model = make_model(spec.config, {})
    model = make_model(spec.config, lively_weights(untied_names(model), spec)).to(spec.dtype)
    model.config.dtype = spec.dtype
    model.save_pretrained(folder, max_shard_size=spec.shard_bytes)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    if spec.config_of_v4:
        scaling = config.pop("rope_parameters")
        config["rope_theta"] = scaling.pop("rope_theta")
        config["rope_scaling"] = scaling if scaling["rope_type"] != "default" else None
        config["torch_dtype"] = config.pop("dtype")
        config.pop("layer_types", None)
        del config["transformers_version"]
    for key in spec.drop_keys:
        del config[key]
    path.write_text(json.dumps(dict(sorted(config.items())), indent=2) + "\n")


def load(folder, dtype):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager").eval()


def logits_of(model, ids):
    """Float32 [len(ids), vocab], from one forward pass without a cache."""
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].float()


def continue_greedily(model, prompt, min_gap=0.0):
    """GREEDY_TOKENS ids, a full forward pass for each, and the smallest gap between the two best logits on the way. Stops
    where the gap is below `min_gap`."""
    ids, smallest_gap = list(prompt), float("inf")
    for _ in range(GREEDY_TOKENS):
        best = logits_of(model, ids)[-1].topk(2)
        smallest_gap = min(smallest_gap, (best.values[0] - best.values[1]).item())
        if smallest_gap < min_gap:
            break
        ids.append(best.indices[0].item())
    return ids[len(prompt):], smallest_gap


def find_prompt(spec, length, model, model_in_stored_dtype):
    for attempt in range(2000):
        rng = np.random.default_rng((spec.seed, length, attempt))
        ids = rng.integers(0, spec.config.vocab_size, length).tolist()
        greedy, gap = continue_greedily(model, ids, MIN_GAP[spec.dtype])
        if gap < MIN_GAP[spec.dtype] or len(set(greedy)) < MIN_DISTINCT or EOS in greedy:
            continue
        if spec.dtype != torch.float32 and continue_greedily(model_in_stored_dtype, ids)[0] != greedy:
            continue
        return {"ids": ids, "greedy": greedy, "smallest_gap": round(gap, 4)}
    raise SystemExit(f"{spec.folder}: no prompt of {length} ids has a clear continuation; take another seed")


def relative_error(got, expected):
    """The largest over the positions of max |got - expected| / max |expected|."""
    return ((got - expected).abs().amax(-1) / expected.abs().amax(-1)).max().item()


def rearrange_heads(weights, which, rearrange):
    """`rearrange` takes and returns the rows of one tensor, for each tensor whose name has one of `which` in it."""
    return {name: rearrange(tensor) if any(part in name for part in which) else tensor for name, tensor in weights.items()}


def mutants(config, weights):
    """(name, config, weights) of the mistakes that an implementation may make."""
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    kv_heads = config.num_key_value_heads

    def with_config(**changes):
        return type(config).from_dict({**config.to_dict(), **changes})

    def with_weights(part, value):
        return {name: torch.full_like(tensor, value) if part in name else tensor for name, tensor in weights.items()}

    plain_rope = {"rope_type": "default", "rope_theta": config.rope_parameters["rope_theta"]}
    yield "epsilon of 1e-5", with_config(rms_norm_eps=1e-5), weights
    yield "another theta", with_config(rope_parameters={**config.rope_parameters, "rope_theta": 20000.0}), weights
    if config.rope_parameters["rope_type"] == "llama3":
        yield "rope not scaled", with_config(rope_parameters=plain_rope), weights
        yield "rope scaled by another factor", with_config(rope_parameters={**config.rope_parameters, "factor": 4.0}), weights
    for part in ("input_layernorm", "post_attention_layernorm", "model.norm", "q_norm", "k_norm"):
        if any(part in name for name in weights):
            yield f"{part} of one", config, with_weights(part, 1.0)
    for part in ("q_proj.bias", "k_proj.bias", "v_proj.bias"):
        if any(part in name for name in weights):
            yield f"no {part}", config, with_weights(part, 0.0)
    yield "uniform attention", config, with_weights("q_norm" if "qwen3" in config.model_type else "q_proj", 0.0)
    if kv_heads > 1:
        yield "heads of k and v swapped", config, rearrange_heads(
            weights, ("k_proj", "v_proj"), lambda t: t.unflatten(0, (kv_heads, head_dim)).flip(0).flatten(0, 1))
    yield "rotary pairs (2i, 2i+1)", config, rearrange_heads(
        weights, ("q_proj", "k_proj", "q_norm", "k_norm"),
        lambda t: t.unflatten(0, (-1, head_dim // 2, 2)).transpose(1, 2).flatten(0, 2))
    swap = {"gate_proj": "up_proj", "up_proj": "gate_proj"}
    yield "gate and up swapped", config, {
        name: weights[next((name.replace(a, b) for a, b in swap.items() if a in name), name)] for name in weights}


def check_mutants(spec, model, ids, expected):
    weights = untied_names(model)
    unchanged = relative_error(logits_of(make_model(model.config, weights), ids), expected)
    assert unchanged < 1e-6, f"{spec.folder}: its own weights and config give other logits: {unchanged}"
    for name, config, changed in mutants(model.config, weights):
        error = relative_error(logits_of(make_model(config, changed), ids), expected)
        print(f"  {error:8.4f} {name}")
        assert error > MIN_MUTATION * TOLERANCE[spec.dtype], f"{spec.folder}: {name} moves the logits by {error} only"


def make(spec, out):
    folder = out / spec.folder
    shutil.rmtree(folder, ignore_errors=True)
    save(spec, folder)
    # From here on the files are the truth: what is expected is computed from what a reader of them gets.
    model, stored, double = load(folder, torch.float32), load(folder, spec.dtype), load(folder, torch.float64)
    assert model.config.rope_parameters == spec.config.rope_parameters, f"{spec.folder}: read as {model.config}"
    prompts = [find_prompt(spec, length, model, stored) for length in LENGTHS]
    logits = [logits_of(model, prompt["ids"]) for prompt in prompts]
    rounding = max(relative_error(logits_of(double, p["ids"]), x) for p, x in zip(prompts, logits))
    in_stored = max(relative_error(logits_of(stored, p["ids"]), x) for p, x in zip(prompts, logits))
    gap, largest = min(prompt["smallest_gap"] for prompt in prompts), max(x.abs().max().item() for x in logits)
    print(f"{spec.folder}: smallest gap {gap}, largest logit {largest:.2f}, from float64 {rounding:.1e}, "
          f"from the stored dtype {in_stored:.1e}")
    assert rounding < 0.2 * TOLERANCE[torch.float32] and in_stored < 0.9 * TOLERANCE[spec.dtype]
    check_mutants(spec, model, prompts[-1]["ids"], logits[-1])

    (folder / "logits.bin").write_bytes(b"".join(x.numpy().astype("<f4").tobytes() for x in logits))
    golden = {"vocab": spec.config.vocab_size, "dtype": str(spec.dtype).removeprefix("torch."), "prompts": []}
    offset = 0
    for prompt in prompts:
        golden["prompts"].append({"ids": prompt["ids"], "logits_offset": offset, "greedy": prompt["greedy"],
                                  "smallest_gap": prompt["smallest_gap"]})
        offset += len(prompt["ids"]) * spec.config.vocab_size
    one_line_each = ",\n".join("  " + json.dumps(prompt) for prompt in golden.pop("prompts"))
    (folder / "golden.json").write_text(json.dumps(golden)[:-1] + ', "prompts": [\n' + one_line_each + "\n]}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, help="the folder that gets one folder a model; those are replaced")
    parser.add_argument("--only", default="", help="models whose name contains this")
    args = parser.parse_args()
    torch.set_num_threads(1)
    for spec in models():
        if args.only in spec.folder:
            make(spec, args.out)


if __name__ == "__main__":
    main()
