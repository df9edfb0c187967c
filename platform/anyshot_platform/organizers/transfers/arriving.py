"""A competition arrives from another site: everything in its archive is checked before any of it counts.

Nothing is matched by name. People become placeholders, files are known by digests that were computed here, rows refer
to rows of the archive alone, and scores are computed again from predictions, results and runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.artifacts.service import keep_file
from anyshot_platform.bundles.confined_reading import read_sent_bundle
from anyshot_platform.bundles.files import BundleUnreadable
from anyshot_platform.bundles.naming import unique
from anyshot_platform.bundles.reading import BundleInvalid, CompetitionBundle
from anyshot_platform.competitions.models import Competition, Placeholder
from anyshot_platform.confined.service import run_confined
from anyshot_platform.database import Base, count_anew, new_id, now
from anyshot_platform.errors import Invalid
from anyshot_platform.kernel.filters import decimal, join_texts
from anyshot_platform.kernel.texts import name_key
from anyshot_platform.leaderboards.service import forget_boards, rebuild_boards
from anyshot_platform.leagues.models import League
from anyshot_platform.organizers.bundles.service import ImportedCompetition, import_competition
from anyshot_platform.organizers.transfers.archive import (
    BLOBS,
    BUNDLE,
    ROWS,
    ArchiveManifest,
    unpacked_name,
    wrong_value,
)
from anyshot_platform.organizers.transfers.recomputing import recompute, require_same_boards
from anyshot_platform.organizers.transfers.travelling import (
    COMPETITION_STATE,
    PERSON,
    PHASE_STATE,
    PREDICTIONS,
    RESULTS,
    TRAVELLING,
    Attribute,
    attributes_of,
    moment_of,
)
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.phases.service import list_phases
from anyshot_platform.phases.states import VersionState
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.states import ENDED, RunState
from anyshot_platform.services import Services
from anyshot_platform.settings import PlatformSettings
from anyshot_platform.teams.models import Team
from anyshot_platform.users.models import User
from anyshot_platform.users.viewer import Viewer

_SECONDS = 120  # of CPU, to unpack an archive and compare its digests
_RUNS_AT_ONCE = 20
_OF_ONE_RUN = ("submission_id", "phase_version_id", "generation", "seed_index")  # the same for its parts


class BadTransfer(Invalid):
    """The archive does not fit together; the text says what was found."""

    code = "bad_transfer"


class PersonIn(BaseModel):
    """Somebody of the other site."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[str, Field(max_length=64)]
    username: Annotated[str, Field(min_length=1, max_length=64)]
    display_name: Annotated[str, Field(max_length=200)]
    affiliation: Annotated[str, Field(max_length=200)]
    country: Annotated[str, Field(max_length=200)]
    homepage: Annotated[str, Field(max_length=200, pattern=r"^(https?://\S*)?$")]
    claim: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None
    email: Annotated[str, Field(max_length=320)] | None


@dataclass
class Archive:
    """An archive that was unpacked and compared with its digests."""

    folder: Path
    manifest: ArchiveManifest
    bundle: CompetitionBundle
    rows: dict[str, Any]

    def blob(self, digest: str) -> Path:
        """Where the file of a digest lies."""
        return self.folder / unpacked_name(f"{BLOBS}{digest}")


def open_archive(settings: PlatformSettings, path: Path, folder: Path) -> Archive:
    """Unpack and read an archive in confined processes.

    A file of it may be as large as a submission or a file of a run here, all of it as the archive itself.

    Raises:
        BadTransfer: no archive, altered, or its description is wrong; `TooCostly` or `Busy` besides.
    """
    answer = run_confined(
        "transfer",
        path=str(path),
        folder=str(folder),
        cpu_seconds=_SECONDS,
        file_bytes=max(settings.upload_max_bytes, settings.artifact_max_bytes),
        most_bytes=settings.pack_max_bytes,
    )
    if "bad" in answer:
        raise BadTransfer(answer["bad"])
    try:
        bundle = read_sent_bundle((folder / BUNDLE).read_bytes())
    except (BundleInvalid, BundleUnreadable) as error:
        raise BadTransfer(join_texts((BUNDLE, str(error)), by=": ")) from error
    rows = json.loads((folder / ROWS).read_bytes())
    return Archive(folder, ArchiveManifest.model_validate(answer["manifest"]), bundle, rows)


def keep_files(services: Services, archive: Archive) -> frozenset[str]:
    """Store the files of the archive; their digests. No transaction may be open."""
    kept = frozenset(name.removeprefix(BLOBS) for name in archive.manifest.files if name.startswith(BLOBS))
    for digest in sorted(kept):
        keep_file(services, archive.blob(digest), digest)
    return kept


def check_results(archive: Archive) -> int:
    """Compute what runs' files say again, in confined processes; how many scores have no file that says it.

    Raises `BadTransfer` with the first run whose score is not what its predictions or results give.
    """
    scores = _listed(archive.rows, "run_scores")
    evidence = _Evidence.of(archive)
    checked = [found for row in scores if (found := evidence.order(row)) is not None]
    for first in range(0, len(checked), _RUNS_AT_ONCE):
        runs = checked[first : first + _RUNS_AT_ONCE]
        order = archive.folder / f"order-{first}.json"
        order.write_text(json.dumps(runs))
        answer = run_confined("transfer_scores", order=str(order), cpu_seconds=_SECONDS)
        if answer["problems"]:
            raise BadTransfer(f"A score of the archive is not what its files give. {answer['problems'][0]}")
    return len(scores) - len(checked)


@dataclass(frozen=True)
class _Evidence:
    """The files by which the scores of an archive are computed again, and which runs are parts of one."""

    files: Mapping[str, Mapping[str, str]]  # by run and name
    parts: Mapping[str, Sequence[str]]  # by run of parts: all that finished

    @classmethod
    def of(cls, archive: Archive) -> _Evidence:
        files: dict[str, dict[str, str]] = {}
        for artifact in _listed(archive.rows, "artifacts"):
            run, name, digest = (str(artifact.get(key)) for key in ("run_id", "name", "digest"))
            if f"{BLOBS}{digest}" in archive.manifest.files:
                files.setdefault(run, {})[name] = str(archive.blob(digest))
        together: dict[str, list[str]] = {}
        parts: dict[str, list[str]] = {}
        for run in _listed(archive.rows, "runs"):
            if run.get("shard_index") is not None and run.get("state") == RunState.FINISHED:
                of = str([run.get(key) for key in _OF_ONE_RUN])
                parts[str(run.get("id"))] = members = together.setdefault(of, [])
                members.append(str(run.get("id")))
        return cls(files, parts)

    def order(self, score: dict[str, Any]) -> dict[str, Any] | None:
        """What `confined_program.transfer_scores` needs for a run's score; None where it has no file that says it."""
        run = str(score.get("run_id"))
        files, about = (
            self.files.get(run),
            {"run": run, "summary": score.get("summary"), "of_parts": run in self.parts},
        )
        if files is None or (run in self.parts and RESULTS not in files):
            return None
        if run not in self.parts:
            return {**about, "files": files}
        answers = [self.files.get(part, {}).get(PREDICTIONS) for part in self.parts[run]]
        return {**about, "results": files[RESULTS], "predictions": answers if all(answers) else []}


def _listed(rows: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = rows.get(name, [])
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise BadTransfer(f"{ROWS}: {name} is no list of rows.")
    return found


def receive(
    services: Services,
    session: Session,
    archive: Archive,
    files: frozenset[str],
    actor: Viewer,
    **wishes: Any,
) -> ImportedCompetition:
    """Make the competition of an archive, as a draft owned by the actor; `wishes` as `import_competition` takes them.

    Raises:
        BadTransfer: rows of a wrong form, that refer to what is not theirs, or scores and boards that do not follow.
    """
    people = len(_listed(archive.rows, "users"))
    handed = len(_listed(archive.rows, "submissions"))
    taken = [
        (
            f"1 person of {archive.manifest.site}, as a placeholder until the place is claimed"
            if people == 1
            else (
                f"{decimal(people)} people of {archive.manifest.site}, as placeholders until they claim "
                "their places"
            )
        ),
        (
            ("1 submission with code, results and scores: all computed again, and the boards are the same")
            if handed == 1
            else (
                f"{decimal(handed)} submissions with code, results and scores: all computed again, and the "
                "boards are the same"
            )
        ),
        (
            "1 thread of the discussion"
            if len(_listed(archive.rows, "threads")) == 1
            else f"{decimal(len(_listed(archive.rows, 'threads')))} threads of the discussion"
        ),
    ]
    bundle = replace(archive.bundle, taken=[*archive.bundle.taken, *taken])
    made = import_competition(session, services.storage, bundle, actor, **wishes)
    session.flush()
    _Arrival(session, archive.rows, files, made.competition).carry_out()
    return made


@dataclass
class _Arrival:
    """One competition's rows on their way into the database."""

    session: Session
    rows: dict[str, Any]
    files: frozenset[str]
    competition: Competition
    ids: dict[str, dict[str, str]] = field(default_factory=dict)  # by table: old to new

    def carry_out(self) -> None:
        """All rows, then everything that follows from them is computed again."""
        phases = {phase.slug: phase for phase in list_phases(self.session, self.competition)}
        try:
            self._place_what_the_bundle_made(phases)
            self._make_room_for_teams()
            self._add_people()
            for travelling in TRAVELLING:
                self._add_rows(travelling.table, travelling.left)
            self._require_ended()
            claimed = recompute(self.session, self.competition)
            for version in self._versions():
                settle = forget_boards if version.state == VersionState.RETIRED else rebuild_boards
                settle(self.session, version)
            require_same_boards(self.session, claimed)
            count_anew(self.session)
        except ValidationError as error:
            raise BadTransfer(wrong_value(ROWS, error)) from error
        except (KeyError, TypeError, ValueError) as error:
            raise BadTransfer(f"{ROWS} cannot be read: {type(error).__name__} {str(error)[:80]}") from error

    def _versions(self) -> Sequence[PhaseVersion]:
        query = select(PhaseVersion).join(Phase, Phase.id == PhaseVersion.phase_id)
        return self.session.scalars(query.where(Phase.competition_id == self.competition.id)).all()

    # -- what the description made already ---------------------------------------------------------------------

    def _place_what_the_bundle_made(self, phases: dict[str, Phase]) -> None:
        """Old ids of the competition, its phases, versions, pools and leagues; and their states."""
        about = self.rows["competition"]
        self.ids["competitions"] = {about["id"]: self.competition.id}
        self.competition.terms_version = _whole(about[COMPETITION_STATE[0]])
        self.competition.code_published_at = moment_of(about[COMPETITION_STATE[1]])
        for table in ("phases", "phase_versions", "pool_versions", "leagues"):
            self.ids[table] = {}
        for row in _listed(self.rows, "phases"):
            self._place_phase(phases[row["slug"]], row)
        mine = select(League).where(League.competition_id == self.competition.id)
        known = {league.slug: league.id for league in self.session.scalars(mine)}
        for row in _listed(self.rows, "leagues"):
            self.ids["leagues"][row["id"]] = known[row["slug"]]
        self.session.flush()

    def _place_phase(self, phase: Phase, row: dict[str, Any]) -> None:
        version = phase.live
        self.ids["phases"][row["id"]] = phase.id
        self.ids["phase_versions"][row["live"]] = version.id
        for key, new in (
            ("meta_train", version.meta_train_pool_version_id),
            ("meta_test", version.meta_test_pool_version_id),
        ):
            if row[key] is not None and new is not None:
                self.ids["pool_versions"][row[key]] = new
        for name in PHASE_STATE[:-1]:
            setattr(phase, name, moment_of(row[name]))
        version.number = phase.live_version = _whole(row["live_version"])
        version.live_at = moment_of(row["live_at"]) or version.live_at

    def _make_room_for_teams(self) -> None:
        """The team of whoever takes the competition in gives way to one that comes with the same name."""
        taken = self._name_teams()
        for team in self.session.scalars(select(Team).where(Team.competition_id == self.competition.id)):
            if team.name_key in taken:
                team.name_key = team.name = unique(f"{team.name_key[:50]}-here", taken)
        self.session.flush()

    def _name_teams(self) -> set[str]:
        """The keys by which names are compared, made here: those in the archive may be forged."""
        taken: dict[str, str] = {}
        for row in _listed(self.rows, "teams"):
            name, key = str(row.get("name")), name_key(str(row.get("name")))
            if row.get("name_key") == row.get(
                "id"
            ):  # dissolved before it handed anything in: its name is free
                key = new_id()
            if key in taken:
                raise BadTransfer(f"{ROWS}: the names of two teams look alike: {taken[key]} and {name}.")
            taken[key] = name
            if "name_key" in row:
                row["name_key"] = key
        return set(taken)

    # -- people ------------------------------------------------------------------------------------------------

    def _add_people(self) -> None:
        self.ids["users"] = {}
        taken = set(self.session.scalars(select(User.username_key)))
        for person in [PersonIn.model_validate(row) for row in _listed(self.rows, "users")]:
            name = unique(f"{_plain(person.username)}-moved", taken)
            taken.add(name)
            user = User(id=new_id(), username=name, username_key=name)
            for value in PERSON[1:]:
                setattr(user, value, getattr(person, value))
            user.deleted_at = now() if person.claim is None else None
            self.session.add(user)
            self.session.flush()
            self.ids["users"][person.id] = user.id
            if person.claim is not None:
                self.session.add(
                    Placeholder(
                        user_id=user.id,
                        competition_id=self.competition.id,
                        name=person.username,
                        claim_digest=person.claim,
                        email_key=person.email.casefold() if person.email else None,
                    )
                )
        self.session.flush()

    # -- rows --------------------------------------------------------------------------------------------------

    def _add_rows(self, table: type[Base], left: frozenset[str]) -> None:
        name, attributes = table.__tablename__, attributes_of(table)
        wanted = attributes.keys() - left
        found = sorted(_listed(self.rows, name), key=lambda row: str(row.get("id", "")))
        own = {key for key in wanted if attributes[key].refers_to == name}
        waiting: list[tuple[Base, dict[str, Any]]] = []
        new = self.ids.setdefault(name, {})
        if "id" in wanted:
            fresh = sorted(new_id() for _ in found)
            new.update({str(row["id"]): id_ for row, id_ in zip(found, fresh, strict=True)})
        for row in found:
            if row.keys() != wanted:
                odd = ", ".join(sorted(row.keys() ^ wanted)[:5])
                raise BadTransfer(f"{ROWS}: a row of {name} lacks or has too much: {odd}.")
            values = {key: self._value(attributes[key], row[key], name) for key in row.keys() - own}
            self.session.add(made := table(**values))
            waiting.append((made, row))
        self.session.flush()
        for made, row in waiting if own else []:  # what they refer to among themselves is there now
            for key in own:
                setattr(made, key, self._value(attributes[key], row[key], name))
        self.session.flush()

    def _value(self, attribute: Attribute, value: Any, table: str) -> Any:
        if attribute.name == "id":
            return self.ids[table][str(value)]
        if attribute.refers_to == "blobs" and value is not None and value not in self.files:
            raise BadTransfer(f"{ROWS}: a row of {table} names a file that is not in the archive.")
        if attribute.refers_to not in (None, "blobs") and value is not None:
            return self._row_of(attribute, value, table)
        return attribute.read(self._renamed(value))

    def _row_of(self, attribute: Attribute, value: Any, table: str) -> str | None:
        """The new id of a row that is referred to: one of the archive's, never any other of this site."""
        found = self.ids.get(attribute.refers_to or "", {}).get(str(value))
        if found is None and attribute.refers_to == "pool_versions":
            return None  # of an earlier version: its pool stays at home
        if found is None:
            raise BadTransfer(
                f"{ROWS}: {attribute.name} of a row of {table} names no row of "
                f"{attribute.refers_to} in the archive."
            )
        return found

    def _renamed(self, value: Any) -> Any:
        """The value with the old ids in it replaced: keys of rows, histories."""
        if isinstance(value, str) and len(value) == 32:
            return next((known[value] for known in self.ids.values() if value in known), value)
        if isinstance(value, list):
            return [self._renamed(one) for one in value]
        if isinstance(value, dict):
            return {key: self._renamed(one) for key, one in value.items()}
        return value

    def _require_ended(self) -> None:
        going = select(Run.id).where(Run.competition_id == self.competition.id, Run.state.not_in(ENDED))
        if self.session.scalar(going.limit(1)) is not None:
            raise BadTransfer(f"{ROWS}: a run of the archive has not ended.")


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 2**31:
        raise BadTransfer(f"{ROWS}: this must be a whole number from 1, not {str(value)[:40]!r}.")
    return value


def _plain(username: str) -> str:
    """What of a user name can begin another: letters, digits, hyphens."""
    kept = "".join(letter for letter in username.casefold() if letter.isascii() and letter.isalnum())
    return kept[:20] or "somebody"
