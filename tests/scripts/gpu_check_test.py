#!/usr/bin/env python3
"""scripts/gpu-check from end to end with no GPU: nvidia-smi, compute-sanitizer and the test binaries are stand-ins that say
what the real ones say, so that what is recorded, and the exit status, can be checked anywhere."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "gpu-check"

NVIDIA_SMI = """#!/bin/sh
case "$*" in
  *name,driver_version*) echo "NVIDIA H200, 580.1, GPU-00010203-0405-0607-0809-0a0b0c0d0e0f, 143771" ;;
  *clocks.sm*) echo "345, 3201"; echo "1980, 3201"; exec sleep 60 ;;
  *) echo "| NVIDIA-SMI 580.1   Driver Version: 580.1   CUDA Version: 13.0 |" ;;
esac
"""
TEST_BINARY = """#!/bin/sh
for argument; do case $argument in --gtest_output=json:*) file=${argument#--gtest_output=json:} ;; esac; done
[ -z "$file" ] || cat >"$file" <<'END'
%s
END
echo "[  PASSED  ] 1 test."
exit %d
"""
SANITIZER = """#!/bin/sh
echo "[       OK ] Cuda.One (3 ms)"
case "$*" in *memcheck*) echo "========= ERROR SUMMARY: %d errors" ;; *) echo "========= RACECHECK SUMMARY: 0 hazards displayed" ;; esac
exit %d
"""
RAFTER = """#!/bin/sh
echo "$*" >>"${0%%/*}/calls"
echo '%s'
"""


def result(*tests):
    return json.dumps({"testsuites": [{"name": "Cuda", "testsuite": [dict(name=name, result=kind, **more) for name, kind, more in tests]}]})


GOOD = result(("One", "COMPLETED", {}), ("Two", "SKIPPED", {}))
BAD = result(("One", "COMPLETED", {}), ("Two", "COMPLETED", {"failures": [{"failure": "no"}]}))


class GpuCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("bin", "build/tests", "build/bin"):
            (self.root / name).mkdir(parents=True)
        self.write("bin/nvidia-smi", NVIDIA_SMI)
        self.write("bin/compute-sanitizer", SANITIZER % (0, 0))
        self.write("build/tests/test_device", TEST_BINARY % (GOOD, 0))
        self.write("build/tests/test_kernels", TEST_BINARY % (GOOD, 0))

    def write(self, name, text):
        path = self.root / name
        path.write_text(text)
        path.chmod(0o755)

    def run_script(self, *more):
        environment = dict(os.environ, PATH=f"{self.root / 'bin'}:{os.environ['PATH']}")
        command = [sys.executable, SCRIPT, "--build", self.root / "build", "--out", self.root / "out", "--commit", "c0ffee",
                   "--cuda-tree", "7ee", *more]
        self.done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
        record = self.root / "out" / "tested.json"
        return json.loads(record.read_text()) if record.exists() else None

    def test_what_passed_is_recorded(self):
        record = self.run_script()
        self.assertEqual(self.done.returncode, 0, self.done.stdout + self.done.stderr)
        self.assertEqual(record["schema"], "rafter.tested/1")
        self.assertEqual((record["commit"], record["cuda_tree"]), ("c0ffee", "7ee"))
        self.assertEqual(record["machine"]["name"], "NVIDIA H200")
        self.assertEqual((record["machine"]["driver"], record["machine"]["cuda"]), ("580.1", "13.0"))
        self.assertEqual((record["machine"]["sm_clock_hz"], record["machine"]["mem_clock_hz"]), (1980e6, 3201e6))
        self.assertEqual([record["tests"][key] for key in ("passed", "failed", "skipped")], [2, 0, 2])
        self.assertEqual([run["outcome"] for run in record["sanitizers"]], ["clean"] * 4)
        self.assertEqual(record["sanitizers"][0]["tests_passed"], 1)
        self.assertIn("2 passed, 0 failed, 2 skipped", self.done.stdout)

    def test_tests_run_side_by_side_are_counted_once(self):
        part = 'case $* in *list_tests*) printf "Cuda.\\n  One\\n  Two\\n"; exit ;; esac\n'
        self.write("build/tests/test_kernels", TEST_BINARY.replace("#!/bin/sh\n", "#!/bin/sh\n" + part) % (GOOD, 0))
        record = self.run_script("--tests", "test_kernels", "--sanitizer-seconds", "0")
        self.assertIn("running test_kernels in 2 processes", self.done.stdout)
        self.assertEqual([record["tests"][key] for key in ("passed", "failed", "skipped")], [2, 0, 2])  # each half is GOOD

    def test_one_of_several_processes_that_crashes_is_a_failure(self):
        part = 'case $* in *list_tests*) printf "Cuda.\\n  One\\n  Two\\n"; exit ;; esac\n[ $GTEST_SHARD_INDEX = 0 ] || kill -SEGV $$\n'
        self.write("build/tests/test_kernels", TEST_BINARY.replace("#!/bin/sh\n", "#!/bin/sh\n" + part) % (GOOD, 0))
        record = self.run_script("--tests", "test_kernels", "--sanitizer-seconds", "0")
        self.assertEqual(self.done.returncode, 1)
        self.assertEqual([record["tests"][key] for key in ("passed", "failed", "skipped")], [1, 1, 1])

    def test_a_failed_test_fails_the_run_and_is_named(self):
        self.write("build/tests/test_kernels", TEST_BINARY % (BAD, 1))
        record = self.run_script()
        self.assertEqual(self.done.returncode, 1)
        self.assertEqual(record["tests"]["failed"], 1)
        self.assertIn("failed: Cuda.Two", self.done.stdout)

    def test_a_crash_counts_as_a_failure(self):
        self.write("build/tests/test_kernels", "#!/bin/sh\nkill -SEGV $$\n")
        record = self.run_script()
        self.assertEqual(self.done.returncode, 1)
        self.assertEqual(record["tests"]["failed"], 1)

    def test_a_fault_found_by_a_sanitizer_fails_the_run(self):
        self.write("bin/compute-sanitizer", SANITIZER % (4, 99))
        record = self.run_script()
        self.assertEqual(self.done.returncode, 1)
        self.assertEqual([run["outcome"] for run in record["sanitizers"]], ["faults"] * 4)
        self.assertEqual(record["sanitizers"][0]["faults"], 4)

    def test_a_sanitizer_that_takes_too_long_is_stopped(self):
        self.write("bin/compute-sanitizer", "#!/bin/sh\nsleep 50\n")
        record = self.run_script("--sanitizer-seconds", "0.4")
        self.assertEqual([run["outcome"] for run in record["sanitizers"]], ["timed out"] * 4)

    def test_a_fault_seen_before_the_time_ran_out_is_a_fault(self):
        self.write("bin/compute-sanitizer", "#!/bin/sh\necho '========= Invalid __global__ write of size 4 bytes'\nsleep 50\n")
        record = self.run_script("--sanitizer-seconds", "2")
        self.assertEqual(self.done.returncode, 1)
        self.assertEqual((record["sanitizers"][0]["outcome"], record["sanitizers"][0]["faults"]), ("faults", 1))

    def test_a_bench_is_kept_as_it_was_printed(self):
        self.write("build/bin/rafter", RAFTER % '{"schema": "rafter.results/1", "rows": []}')
        self.run_script("--bench", "qwen2.5-1.5b", "--sanitizer-seconds", "0")
        self.assertEqual(self.done.returncode, 0, self.done.stdout + self.done.stderr)
        self.assertEqual(json.loads((self.root / "out" / "qwen2.5-1.5b.json").read_text())["rows"], [])

    def test_a_machine_without_roofs_is_probed_before_the_benches_and_only_then(self):
        for probed, probes in (("null", 1), ('"2026-12-01T00:00:00Z"', 0)):
            (self.root / "build/bin/calls").unlink(missing_ok=True)
            self.write("build/bin/rafter", RAFTER % ('{"devices": [{"device": "cuda:0", "probed": %s}]}' % probed))
            self.run_script("--bench", "qwen2.5-1.5b", "--sanitizer-seconds", "0")
            calls = (self.root / "build/bin/calls").read_text().splitlines()
            self.assertEqual(sum(call.startswith("probe --quick") for call in calls), probes, calls)

    def test_a_bench_that_prints_no_json_fails_the_run(self):
        self.write("build/bin/rafter", RAFTER % "oh no")
        record = self.run_script("--bench", "qwen2.5-1.5b", "--sanitizer-seconds", "0")
        self.assertEqual(self.done.returncode, 1)
        self.assertEqual(len(record["bench_failures"]), 1)

    def test_no_gpu_is_said_in_one_line(self):
        self.write("bin/nvidia-smi", "#!/bin/sh\nexit 9\n")
        self.assertIsNone(self.run_script())
        self.assertEqual(self.done.returncode, 1)
        self.assertEqual(self.done.stderr.count("\n"), 1)
        self.assertIn("no NVIDIA GPU", self.done.stderr)


if __name__ == "__main__":
    unittest.main()
