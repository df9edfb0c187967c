"""Apply each mutant, one at a time, and demand that its tests fail: `python -m tests.mutants [AREA OR WORDS ...]`."""

import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.mutants.catalogue import Mutant, read_mutants
from tests.mutants.judging import judge, run_tests


def choose(words: Sequence[str]) -> list[Mutant]:
    """The mutants of these areas, or whose name holds one of the words; all of them without a word."""
    return [m for m in read_mutants() if not words or any(w == m.area or w in m.name for w in words)]


def say(mutant: Mutant) -> str:
    """The verdict on one mutant, printed."""
    began = time.monotonic()
    verdict, output = judge(mutant)
    print(f"{verdict:9} {mutant.area}: {mutant.name} ({time.monotonic() - began:.0f} s)", flush=True)
    if verdict not in ("killed", "SURVIVED"):
        print(output[-2000:], flush=True)
    return verdict


def main(words: Sequence[str]) -> int:
    """The exit status: 0 when the tests pass as things are, and each mutant makes one of its tests fail."""
    began, chosen = time.monotonic(), choose(words)
    if not chosen:
        print(f"No mutant is called {' or '.join(words)}.")
        return 2
    status, output = run_tests(sorted({test for mutant in chosen for test in mutant.tests}), None)
    if status != 0:
        print(f"The tests fail without a mutant:\n{output[-6000:]}")
        return 2
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(say, chosen))
    print(f"{verdicts.count('killed')} of {len(chosen)} mutants killed, {time.monotonic() - began:.0f} s")
    return int(verdicts.count("killed") != len(chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
