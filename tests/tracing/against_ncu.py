#!/usr/bin/env python3
"""Lays `rafter trace` beside Nsight Compute, on a machine with a GPU: the recorded times of a decode step's large matmuls against
gpu__time_duration, and its counted DRAM bytes against the modelled ones. Both within 10%. Prints a table and one line of verdict; ends
with 1 where something is further apart, with 77 where ncu is not there.

    tests/tracing/against_ncu.py build/dev/bin/rafter

Both run the step eagerly and without programmatic dependent launch: a kernel that starts early reads its weights while the one
before it still runs, and Nsight Compute, which runs kernels alone, cannot see that. Caches are left alone."""

import collections
import csv
import json
import shutil
import statistics
import subprocess
import sys

MODEL = ["--random-weights", "qwen2.5-1.5b", "--executor", "eager", "--no-pdl", "--device", "cuda:0", "-d", "512"]
LONG = 5e-6       # seconds in the trace: ncu's duration has half a microsecond of launching in it, which is much of a shorter kernel
LARGE = 5e6       # bytes of one launch
WITHIN = 0.10
STEPS = 3         # that ncu sees


def main():
    rafter = sys.argv[1]
    ncu = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    if shutil.which(ncu) is None:
        print("Nsight Compute (ncu) is not on this machine")
        sys.exit(77)
    trace = json.loads(run([rafter, "trace", *MODEL, "--counters", "--json"]))
    if trace["recorded"] is None or trace["no_counters"]:
        sys.exit(f"nothing to compare: {trace['no_counters'] or trace['method']}")
    matmuls = [op for op in trace["ops"] if op["kind"] == "matmul" and len(op["launches"]) == 1]
    known = ncu_times(ncu, rafter, len(matmuls))
    rows, bad = [], 0
    times, counted = collections.defaultdict(list), collections.defaultdict(list)
    for index, op in enumerate(matmuls):
        times[op["name"]].append((op["time_s"], statistics.median(known[index::len(matmuls)])))
        modelled = op["bytes_read"] + op["bytes_written"]
        if modelled >= LARGE:
            counted[op["name"]].append((op["counters"]["dram_bytes_read"] + op["counters"]["dram_bytes_written"]) / modelled)
    for name, pairs in times.items():
        ours, theirs = (statistics.median(side) for side in zip(*pairs))
        apart = ours / theirs - 1
        far = ours > LONG and abs(apart) > WITHIN
        ratio = statistics.median(counted[name]) if counted[name] else None
        wrong = ratio is not None and abs(ratio - 1) > WITHIN
        bad += far + wrong
        rows.append(f"{name:16} {ours * 1e6:9.2f} us {theirs * 1e6:9.2f} us {apart:+8.1%} "
                    f"{'-' if ratio is None else format(ratio, '.3f'):>10} {'FAR' if far or wrong else ''}")
    print(f"{'op':16} {'trace':>12} {'ncu':>12} {'apart':>8} {'counted/modelled':>10}")
    print("\n".join(rows))
    print(f"trace against ncu: {'agrees' if bad == 0 else f'{bad} further apart than 10%'}")
    sys.exit(1 if bad else 0)


def run(command):
    return subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout


def ncu_times(ncu, rafter, per_step):
    """Seconds of the matmul kernels of STEPS decode steps, in order; the first step warms up and is left out."""
    text = run([ncu, "--clock-control", "none", "--cache-control", "none", "--metrics", "gpu__time_duration.sum", "--csv",
                "--kernel-name", "regex:decode_", "--kernel-name-base", "function", "--launch-count", str((STEPS + 1) * per_step * 2),
                rafter, "bench", *MODEL, "-p", "0", "-n", str(STEPS + 2), "-r", "1"])
    rows = csv.DictReader(line for line in text.splitlines() if line.startswith('"'))
    times = [float(row["Metric Value"].replace(",", "")) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}[row["Metric Unit"]]
             for row in rows if "decode_ring" in row["Kernel Name"]]
    if len(times) < 2 * per_step:
        sys.exit(f"ncu saw {len(times)} matmul kernels; expected {2 * per_step} or more")
    whole = len(times) // per_step * per_step
    return times[per_step:whole]


if __name__ == "__main__":
    main()
