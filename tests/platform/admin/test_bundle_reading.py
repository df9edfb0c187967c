"""competition.yaml: every problem at once, each with its line; nothing hostile gets through."""

import zipfile
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest

from anyshot_platform.contest.bundles import files
from anyshot_platform.contest.bundles.files import LIMIT_ENTRIES, BundleUnreadable
from anyshot_platform.contest.bundles.reading import BundleInvalid, read_bundle
from anyshot_platform.contest.bundles.writing import write_bundle, write_definition
from anyshot_platform.contest.bundles.yaml_lines import read_marked
from anyshot_platform.foundation.schema.quantities import parse_duration, parse_size
from tests.platform.admin.zips import zipped

GOOD = """\
anyshot: 1
slug: demo
title: Demo
timezone: Europe/Paris
pages:
  - {title: Overview, file: overview.md}
pools:
  - name: set-0
leagues:
  - key: free
    title: Free-style
phases:
  - key: feedback
    title: Feedback
    start: 2022-07-01
    end: 2022-08-31 12:00
    tasks:
      meta_train: set-0
      meta_test: set-0
      protocol: {name: any_way_any_shot}
      count: 30
    budget: {run: 5h}
"""
FILES = {"overview.md": "# Hello"}
MISTAKES = [  # words of `GOOD`, what stands there instead, what is said
    ("key: feedback", "key: Feed back", "phases[0].key"),
    ("timezone: Europe/Paris", "timezone: Europe/Pari", "There is no time zone Europe/Pari; write one"),
    ("start: 2022-07-01", "start: 2022-03-27 02:30", "Clocks in Europe/Paris skip 02:30 on 2022-03-27"),
    (
        "end: 2022-08-31 12:00",
        "end: 2023-03-26 02:15",
        "phases[0].end: Clocks in Europe/Paris skip 02:15",
    ),
    (
        "start: 2022-07-01",
        "timezone: America/New_York\n    start: 2022-03-13 02:30",
        "phases[0].start: Clocks in America/New_York skip 02:30 on 2022-03-13; the next one is 03:30.",
    ),
    ("title: Demo", "title: Demo\nopens: 2022-03-27 02:30", "opens: Clocks in Europe/Paris skip 02:30"),
    (
        "title: Demo",
        "title: Demo\nfact_sheet_by: 2022-03-27 02:30",
        "fact_sheet_by: Clocks in Europe/Paris skip 02:30",
    ),
    ("start: 2022-07-01", "start: yesterday", "write a moment like"),
    ("{name: any_way_any_shot}", "{name: any_way}", "Not a task protocol"),
    ("{name: any_way_any_shot}", "{name: gaussians}", "makes numbers and draws no images"),
    ("{name: any_way_any_shot}", "{name: any_way_any_shot, ways: [9, 2]}", "Not a task protocol"),
    (  # was taken, and every run of it died
        "{name: any_way_any_shot}",
        "{name: base_novel, shares: [0.5, 0.5]}",
        "shares must be three numbers (base, valid, novel); found [0.5, 0.5]",
    ),
    (  # were taken, and every run of them failed in our name when it was scored
        "{name: any_way_any_shot}",
        "{name: any_way_any_shot, ways: [1, 5]}",
        "tasks.protocol: Not a task protocol: ways must be at least 2 in tasks that are scored; found 1.",
    ),
    ("{name: any_way_any_shot}", "{name: fixed, query: 0}", "query must be at least 1 in tasks that are"),
    (
        "count: 30",
        "count: 30\n      train_protocol: {name: dice}",
        "tasks.train_protocol: Not a task protocol",
    ),
    ("count: 30", "count: 30\n      evaluations: base tasks=40", "phases[0].tasks.evaluations: "),
    ("count: 30", "count: 30\n      snapshots: 4", "phases[0].tasks.snapshots: "),
    (
        "start: 2022-07-01",
        "start: 0001-01-01",
        "phases[0].start: This must be a moment between 1971 and 8999.",
    ),
    ("title: Demo", "title: Demo\ntitle: Again", "this key stands here twice"),
    ("    budget:", "    scoring: {ranking: by_beauty}\n    budget:", "There is no rule by_beauty"),
    ("count: 30", "count: 30\n      test_seeds: [1, 2]", "2 seeds for 1 run of an entry"),
    (
        "    budget:",
        "    kind: final\n    accepts_uploads: no\n    budget:",
        "without uploads needs `entries: {phase: ...}`",
    ),
    ("    budget:", "    entries: {phase: feedback}\n    budget:", "cannot take its entries from itself"),
    ("overview.md", "../../etc/passwd", "points outside the bundle"),
    ("overview.md", "Overview.MD", "did you mean 'overview.md'?"),
    ("phases:", "phases: []\nphazes:", "phases"),
    ("title: Demo", "title: [", "not valid YAML"),
    ("anyshot: 1", "anyshot: 2", "anyshot"),
]


def problems_of(text: str, files: dict[str, str] | None = None) -> list[str]:
    """What is said about a definition."""
    with pytest.raises(BundleInvalid) as caught:
        read_bundle(zipped({"competition.yaml": text, **(FILES if files is None else files)}))
    return [str(problem) for problem in caught.value.problems]


def test_a_good_bundle_is_read_with_its_moments_in_utc() -> None:
    bundle = read_bundle(zipped({"competition.yaml": GOOD, **FILES, "stray.txt": "x"}))
    phase = bundle.spec.phases[0]
    assert phase.start == datetime(2022, 6, 30, 22, tzinfo=UTC)
    assert phase.end == datetime(2022, 8, 31, 10, tzinfo=UTC)
    assert phase.budget.run == 5 * 3600
    assert bundle.files == {"overview.md": b"# Hello"}


def test_a_final_phase_that_takes_uploads_as_phases_do_needs_no_entries_of_another() -> None:
    final = read_bundle(
        zipped({"competition.yaml": GOOD.replace("    budget:", "    kind: final\n    budget:"), **FILES})
    )
    assert final.spec.phases[0].accepts_uploads


def test_all_problems_come_at_once_with_their_lines() -> None:
    broken = (
        GOOD.replace("title: Free-style", "titel: Free-style")
        .replace("overview.md", "missing.md")
        .replace("end: 2022-08-31 12:00", "end: 2021-01-01")
        .replace("meta_test: set-0", "meta_test: set-9")
        .replace("count: 30", "count: -3")
        .replace("run: 5h", "run: soon")
    )
    said = problems_of(broken)
    for expected in (
        "competition.yaml, line 6: pages[0].file: the file 'missing.md' is not in the bundle",
        "competition.yaml, line 10: leagues[0].title: this key is needed",
        "competition.yaml, line 11: leagues[0].titel: unknown key; did you mean `title`?",
        "competition.yaml, line 16: phases[0].end: The phase ends",
        "competition.yaml, line 19: phases[0].tasks.meta_test: there is no pool 'set-9'; known: set-0",
        "competition.yaml, line 21: phases[0].tasks.count: This must be at least 1, not “-3”",
        "competition.yaml, line 22: phases[0].budget.run: write a duration",
    ):
        assert any(line.startswith(expected) for line in said), (expected, said)
    assert len(said) == 7


@pytest.mark.parametrize(("old", "new", "expected"), MISTAKES)
def test_each_mistake_is_named(old: str, new: str, expected: str) -> None:
    assert any(expected in line for line in problems_of(GOOD.replace(old, new, 1)))


def test_a_wrong_time_zone_is_said_where_it_stands_and_nowhere_else() -> None:
    (said,) = problems_of(GOOD.replace("timezone: Europe/Paris", "timezone: Europe/Pari"))
    assert ": timezone: There is no time zone Europe/Pari" in said
    own = GOOD.replace("start: 2022-07-01", "timezone: Mars/Olympus\n    start: 2022-07-01", 1)
    assert [line for line in problems_of(own) if "phases[0].timezone: There is no time zone Mars" in line]


def test_yaml_that_grows_by_aliases_is_refused_quickly() -> None:
    layers = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    layers += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    marked = read_marked("\n".join(layers).encode())
    assert "too large" in str(marked.problems[0])


def test_tags_of_other_languages_are_text() -> None:
    marked = read_marked(b"a: !!python/object/apply:os.system ['true']\nb: !!python/unicode 'x'\n")
    assert marked.data == {"a": ["true"], "b": "x"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"readme.md": "x"}, "there is no competition.yaml"),
        ({"../competition.yaml": GOOD}, "climbs out"),
        ({"competition.yaml": GOOD} | {f"f{i}": "" for i in range(LIMIT_ENTRIES + 1)}, "at most"),
    ],
)
def test_zips_that_cannot_be_a_bundle(content: dict[str, str], expected: str) -> None:
    with pytest.raises(BundleUnreadable, match=expected):
        read_bundle(zipped(content))


def test_a_text_named_zip_is_refused() -> None:
    with pytest.raises(BundleUnreadable, match="zip"):
        read_bundle(b"not a zip at all")


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LIMIT_TOTAL", 1 << 20)
    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("big.bin", bytes(8 << 20))
        archive.writestr("competition.yaml", "title: x")
    assert len(target.getvalue()) < 20_000
    with pytest.raises(BundleUnreadable, match="are over 1 MiB together"):
        read_bundle(target.getvalue())


def test_folders_and_zips_with_a_folder_inside_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "competition.yaml").write_text(GOOD)
    (tmp_path / "overview.md").write_text("# Hello")
    from_folder = read_bundle(tmp_path)
    inside = {f"my-competition/{name}": text for name, text in {"competition.yaml": GOOD, **FILES}.items()}
    assert read_bundle(zipped({**inside, "__MACOSX/my-competition/._x": "junk"})) == from_folder


def test_writing_and_reading_again_changes_nothing() -> None:
    text = GOOD.replace("count: 30", "count: 30\n      train_seeds: [4]\n      test_seeds: [5]")
    bundle = read_bundle(zipped({"competition.yaml": text, **FILES}))
    written = write_bundle(bundle.spec, bundle.files, secrets=True)
    again = read_bundle(written)
    assert (again.spec, again.files) == (bundle.spec, bundle.files)
    assert write_bundle(again.spec, again.files, secrets=True) == written
    assert b"seeds" not in write_definition(bundle.spec, secrets=False)


def test_durations_and_sizes() -> None:
    assert [parse_duration(text) for text in ("5h", "1h 30m", "90s", "2 hours", "45")] == [
        18000,
        5400,
        90,
        7200,
        45,
    ]
    assert [parse_size(text) for text in ("16 GiB", "16 GB", "512", "1.5KiB")] == [
        16 << 30,
        16 * 10**9,
        512,
        1536,
    ]
    for text in ("", "soon", "5 parsecs"):
        with pytest.raises(ValueError, match="write a duration"):
            parse_duration(text)
