"""From the files of a bundle to a checked competition, with every problem at once."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from anyshot_core.zones import find_zone
from anyshot_platform.contest.bundles import codabench
from anyshot_platform.contest.bundles.codabench_report import Notice
from anyshot_platform.contest.bundles.consistency import judge, place_phase
from anyshot_platform.contest.bundles.crosschecks import cross_check
from anyshot_platform.contest.bundles.files import BundleFiles, nearest_instead, open_bundle
from anyshot_platform.contest.bundles.foreign_data import FoundData, data_paths, take_out
from anyshot_platform.contest.bundles.page_values import has_values, unknown_in, values_of
from anyshot_platform.contest.bundles.schema import FILES, CompetitionSpec
from anyshot_platform.contest.bundles.yaml_lines import FileProblem, Marked, read_marked
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.foundation.schema.parts import Part
from anyshot_platform.foundation.schema.problems import in_words
from anyshot_platform.foundation.zones import place


class BundleInvalid(Exception):
    """The bundle has problems; all of them are in `problems`, in the order of their lines."""

    def __init__(self, problems: list[FileProblem]) -> None:
        super().__init__(join_texts((problem.words for problem in problems), by="\n"))
        self.problems = problems


@dataclass(frozen=True)
class CompetitionBundle:
    """A checked competition with the files that it names, and what could not be taken over from elsewhere."""

    spec: CompetitionSpec
    files: dict[str, bytes]
    format: str = "anyshot 1"
    without_equivalent: list[Notice] = field(default_factory=list)
    input_data: dict[str, str] = field(
        default_factory=dict
    )  # by phase: the path of what a foreign one tests on
    datasets: dict[str, list[Path]] = field(default_factory=dict)  # by such a path: Meta-Album folders
    taken: list[str] = field(default_factory=list)  # in words, beside what the description says


def read_bundle(source: Path | bytes, data_folder: Path | None = None) -> CompetitionBundle:
    """Read and check a bundle of Anyshot, Codabench (version 2) or CodaLab (version 1.5).

    With a `data_folder`, the Meta-Album folders of a foreign bundle's input data are copied there.

    Raises:
        BundleUnreadable: not a zip or folder with a competition.yaml.
        BundleInvalid: with every problem and its line.
    """
    files = open_bundle(source, data_paths)
    marked = read_marked(files.definition, files.name)
    if marked.problems and not isinstance(marked.data, dict):
        raise BundleInvalid(marked.problems)
    if not isinstance(marked.data, dict):
        raise BundleInvalid([FileProblem(1, "", "a mapping with keys such as `title` is wanted", files.name)])
    flavour = codabench.detect(marked.data)
    if flavour is None:
        spec = check(marked, files)
        return CompetitionBundle(spec, named_files(marked.data, files))
    converted = codabench.convert(marked, files, flavour)
    if converted.problems:
        raise BundleInvalid(sorted(converted.problems))
    found = take_out(source, converted.input_data.values(), data_folder) if data_folder else FoundData()
    remarks = [Notice(0, path, words, "/phases") for path, words in found.remarks]
    return CompetitionBundle(
        converted.spec,
        converted.files,
        flavour.value,
        converted.notices + remarks,
        converted.input_data,
        found.folders,
    )


def check(marked: Marked, files: BundleFiles) -> CompetitionSpec:
    """The competition of an Anyshot bundle, its moments in UTC.

    Raises:
        BundleInvalid: with every problem of the YAML, the fields, the references and the files.
    """
    problems = list(marked.problems)
    spec: CompetitionSpec | None = None
    try:
        spec = CompetitionSpec.model_validate(marked.data)
    except ValidationError as error:
        problems += [_explain(marked, details) for details in error.errors()]
    problems += cross_check(marked, files)
    if spec is not None:
        problems += [marked.problem(found.path, found.words) for found in judge(spec) if found.error]
    if spec is not None and not problems:
        spec = in_utc(spec)
        problems += _wrong_values(marked, files, spec)
    if problems or spec is None:
        raise BundleInvalid(sorted(set(problems)))
    return spec


def _wrong_values(marked: Marked, files: BundleFiles, spec: CompetitionSpec) -> Iterator[FileProblem]:
    """Names in pages that are no values, and values in terms, which must not change by themselves."""
    values = values_of(
        spec.phases, spec.leagues, title=spec.title, contact=spec.contact, team_size=spec.team_size
    )
    for index, page in enumerate(spec.pages):
        text = (files.read(page.file) or b"").decode(errors="replace")
        for words in unknown_in(text, values):
            yield marked.problem(("pages", index, "file"), join_texts((page.file, words), by=": "))
    terms = (files.read(spec.terms) or b"").decode(errors="replace") if spec.terms else ""
    if has_values(terms):
        words = "terms hold no values: what people accept must not change by itself"
        yield marked.problem(("terms",), words)


def in_utc(spec: CompetitionSpec) -> CompetitionSpec:
    """Give every moment without an offset the competition's time zone."""
    phases = [place_phase(phase, spec.timezone) for phase in spec.phases]
    home = find_zone(spec.timezone) or UTC
    leagues = [
        league.model_copy(update={"opens": place(league.opens, home)}) if league.opens else league
        for league in spec.leagues
    ]
    due = place(spec.fact_sheet_by, home) if spec.fact_sheet_by else None
    opens = place(spec.opens, home) if spec.opens else None
    moved = {"phases": phases, "leagues": leagues, "fact_sheet_by": due, "opens": opens}
    return spec.model_copy(update=moved)


def named_files(data: dict[Any, Any], files: BundleFiles) -> dict[str, bytes]:
    """The files that the definition names: pages, terms, logo, baselines; and the folder of what pages show."""
    wanted: list[str] = [data[key] for key in ("logo", "terms") if isinstance(data.get(key), str)]
    for section in ("pages", "baselines"):
        entries = data.get(section) or []
        wanted += [
            entry["file"]
            for entry in entries
            if isinstance(entry, dict) and isinstance(entry.get("file"), str)
        ]
    found = {f"{FILES}{name}": data for name, data in files.under(FILES).items()}
    for path in wanted:
        content = files.read(path)
        if content is not None:
            found[path] = content
        found.update({f"{path.rstrip('/')}/{name}": data for name, data in files.under(path).items()})
    return found


def _explain(marked: Marked, details: Any) -> FileProblem:
    path = tuple(part for part in details["loc"])
    kind, found = details["type"], details.get("input")
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(str(path[-1]), _keys_at(path[:-1]), 1, 0.6)
        return marked.problem(path, nearest_instead("unknown key", f"`{near[0]}`" if near else ""))
    if kind == "missing":
        return marked.problem(path, "this key is needed")
    said = in_words(details)
    if isinstance(found, dict | list) or str(found)[:40] in said:
        return marked.problem(path, said)
    return marked.problem(path, join_texts((said, f"Found: {found!r:.100}.")))


def _keys_at(path: tuple[str | int, ...]) -> list[str]:
    """The keys that the schema knows where `path` leads."""
    model: type[Part] | None = CompetitionSpec
    for part in path:
        if isinstance(part, int) or model is None:
            continue
        known = model.model_fields.get(part)
        model = next(_parts_in(known.annotation), None) if known else None
    return list(model.model_fields) if model else []


def _parts_in(annotation: Any) -> Iterator[type[Part]]:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from _parts_in(inner)
