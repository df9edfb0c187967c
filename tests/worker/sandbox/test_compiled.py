"""torch.compile and Triton build a library when a submission runs: in a box, whose scratch space executes nothing."""

from pathlib import Path

import pytest

from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Limits
from anyshot_worker.sandbox import Sandboxes
from tests.hostile.bench import evaluate, make_data
from tests.hostile.cases import Expected
from tests.worker.sandbox.machine import sandbox_settings

COMPILED = """
import importlib.util
import subprocess
from pathlib import Path

import torch
from honest import HonestLearner, HonestMetaLearner as MyMetaLearner
from torch._inductor import cpu_vec_isa

EXTENSION = "#include <Python.h>\\nstatic struct PyModuleDef m = {PyModuleDef_HEAD_INIT, \\"%s\\", 0, -1, 0};\\n" \\
    "PyMODINIT_FUNC PyInit_%s(void) {return PyModule_Create(&m);}\\n"

class MyLearner(HonestLearner):
    def fit(self, support):
        compiled = torch.compile(lambda x: (x.sin() * 2).relu().mean(1))
        x = torch.randn(8, 64)
        assert torch.allclose(compiled(x), (x.sin() * 2).relu().mean(1), atol=1e-5)
        assert cpu_vec_isa.pick_vec_isa(), "no vectors"
        for name in ("one", "two"):  # in C, as Triton launches its kernels
            Path(f"{name}.c").write_text(EXTENSION % (name, name))
            command = ["gcc", f"{name}.c", "-O3", "-shared", "-fPIC", "-I/usr/include/python3.11", "-o", f"{name}.so"]
            subprocess.run(command, check=True)
            spec = importlib.util.spec_from_file_location(name, f"{name}.so")
            assert importlib.util.module_from_spec(spec).__name__ == name
        print("COMPILED")
        return super().fit(support)

MyMetaLearner.learner = MyLearner
"""


def compiles(sandboxes: Sandboxes, folder: Path) -> None:
    """A submission that compiles in each task ends well, with the limits that phases have unless they say otherwise."""
    method = folder / "method"
    method.mkdir()
    (method / "model.py").write_text(COMPILED)
    limits = Limits()
    expected = Expected(
        number=0,
        attack="none",
        verdict=[Verdict.OK],
        tasks=1,
        memory_mib=limits.memory_bytes >> 20,
        scratch_mib=limits.scratch_bytes >> 20,
        processes=limits.processes,
        run_seconds=900,
    )
    seen = evaluate(sandboxes, make_data(folder), method, expected, folder)
    assert seen.outcome.verdict == Verdict.OK, (seen.outcome.failure, seen.text)
    assert "COMPILED" in seen.text


@pytest.mark.slow("a C++ compiler reads the headers of torch")
def test_torch_compile_works_where_the_scratch_space_executes_nothing(
    sandbox_image: str, tmp_path: Path
) -> None:
    sandboxes = Sandboxes.from_settings(sandbox_settings(tmp_path))
    compiles(sandboxes, tmp_path)
    sandboxes.close()
