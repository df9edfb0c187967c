"""Apply each mutant, one at a time, and demand that its tests fail: `python -m tests.mutants [AREA OR WORDS ...]`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.mutants.catalogue import FOLDER, ROOT, Mutant, read_mutants

# A decision is the same on either database, and SQLite is quicker.
PYTEST = (
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-x",
    "--no-header",
    "-p",
    "no:cacheprovider",
    "-k",
    "not postgres",
)
VERDICTS = {
    0: "SURVIVED",
    1: "killed",
}  # pytest's exit codes; anything else says that the tests could not run


def run_tests(tests: Sequence[str], mutant: Mutant | None) -> subprocess.CompletedProcess[str]:
    """Run the tests in a process of their own, whose imports see the mutant."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if mutant is not None:
        path = [str(FOLDER / "startup"), *filter(None, [env.get("PYTHONPATH")])]
        env |= {"PYTHONPATH": os.pathsep.join(path), "ANYSHOT_MUTANT": mutant.as_setting()}
    return subprocess.run([*PYTEST, *tests], cwd=ROOT, env=env, capture_output=True, text=True)


def judge(mutant: Mutant) -> str:
    """The verdict on one mutant, printed."""
    ran = run_tests(mutant.tests, mutant)
    verdict = VERDICTS.get(ran.returncode, "NOT RUN")
    print(f"{verdict:9} {mutant.area}: {mutant.name}", flush=True)
    if verdict == "NOT RUN":
        print(ran.stdout[-2000:] + ran.stderr[-2000:], flush=True)
    return verdict


def choose(words: Sequence[str]) -> list[Mutant]:
    """The mutants of these areas, or whose name holds one of the words; all of them without a word."""
    return [m for m in read_mutants() if not words or any(w == m.area or w in m.name for w in words)]


def main(words: Sequence[str]) -> int:
    """The exit status: 0 when the tests pass as things are, and each mutant makes one of its tests fail."""
    chosen = choose(words)
    if not chosen:
        print(f"No mutant is called {' or '.join(words)}.")
        return 2
    plain = run_tests(sorted({test for mutant in chosen for test in mutant.tests}), None)
    if plain.returncode != 0:
        print(f"The tests fail without a mutant:\n{plain.stdout[-4000:]}{plain.stderr[-2000:]}")
        return 2
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(judge, chosen))
    print(f"{verdicts.count('killed')} of {len(chosen)} mutants killed")
    return int(verdicts.count("killed") != len(chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
