"""From the description of a competition to its rows."""

import json
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from anyshot_core.evaluations import read_evaluation
from anyshot_platform.contest.bundles.files import write_zip
from anyshot_platform.contest.bundles.naming import key_from, unique
from anyshot_platform.contest.bundles.reading import CompetitionBundle
from anyshot_platform.contest.bundles.schema import FILES, BaselineSpec, CompetitionSpec
from anyshot_platform.contest.competitions.files import give_logo, put_file
from anyshot_platform.contest.competitions.models import Competition, CompetitionPage
from anyshot_platform.contest.competitions.service import add_member
from anyshot_platform.contest.competitions.states import CompetitionState, Role
from anyshot_platform.contest.leagues.description import league_values
from anyshot_platform.contest.leagues.models import Gate, League
from anyshot_platform.contest.phases.actions.checks import words_on_pool
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.rows import phase_values, version_values
from anyshot_platform.contest.pools.models import PoolVersion
from anyshot_platform.foundation.artifacts.service import store_bytes
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Conflict, Invalid
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.evaluations.points import hold_pools
from anyshot_platform.judging.runs.secrets import weaknesses
from anyshot_platform.judging.visibility.logs import shown_logs, wanted_logs
from anyshot_platform.judging.visibility.smoke import smoke_problem
from anyshot_platform.people.users.models import User
from anyshot_platform.standings.baselines.models import Baseline


@dataclass
class Intake:
    """One import: what is being made, and what there is to say about it."""

    session: Session
    storage: Storage
    bundle: CompetitionBundle
    actor_id: str
    pools: dict[str, PoolVersion]
    notices: list[str]

    @property
    def spec(self) -> CompetitionSpec:
        return self.bundle.spec

    def make_competition(self, slug: str, state: CompetitionState) -> Competition:
        """The competition with pages, terms, logo, leagues, baselines and phases."""
        spec = self.spec
        competition = Competition(
            slug=slug,
            title=spec.title,
            summary=spec.summary,
            contact_email=spec.contact,
            terms=self._text(spec.terms),
            registration=spec.registration,
            email_domains=spec.email_domains,
            team_size=spec.team_size,
            visibility=spec.visibility,
            opens_at=spec.opens,
            discussion_open=spec.discussion,
            prizes=spec.prizes,
            retention=dict(spec.retention),
            fact_sheet=[question.model_dump() for question in spec.fact_sheet],
            fact_sheet_from=spec.fact_sheet_from,
            fact_sheet_by=spec.fact_sheet_by,
            state=state,
            created_by=self.actor_id,
        )
        self._add_logo(competition)
        self._add_pages(competition)
        self.session.add(competition)
        self.session.flush()
        self._add_files(competition)
        leagues = self._add_leagues(competition)
        self._add_baselines(competition)
        self._add_phases(competition, leagues)
        add_member(self.session, competition, self.session.get_one(User, self.actor_id), Role.OWNER)
        self.session.flush()
        return competition

    def _text(self, file: str | None) -> str:
        content = self.bundle.files.get(file) if file else None
        return content.decode(errors="replace") if content else ""

    def _add_logo(self, competition: Competition) -> None:
        content = self.bundle.files.get(self.spec.logo) if self.spec.logo else None
        if content is None or self.spec.logo is None:
            return
        try:
            give_logo(self.session, self.storage, competition, self.spec.logo, content)
        except Invalid as error:
            self._say_left_out(self.spec.logo, error.message)

    def _say_left_out(self, name: str, why: str) -> None:
        self.notices.append(f"{name} was left out: {why}")

    def _add_pages(self, competition: Competition) -> None:
        taken = {"terms"}
        for position, page in enumerate(self.spec.pages):
            slug = unique(key_from(page.title, "page"), taken)
            taken.add(slug)
            body = self._text(page.file)
            competition.pages.append(
                CompetitionPage(slug=slug, title=page.title, body=body, position=position)
            )

    def _add_files(self, competition: Competition) -> None:
        """Keep what lies in the bundle's folder `files`, for the pages; say what is not taken."""
        for name, content in self.bundle.files.items():
            if name.startswith(FILES):
                try:
                    put_file(self.session, self.storage, competition, name.removeprefix(FILES), content)
                except (Conflict, Invalid) as error:
                    self._say_left_out(name, error.message)

    def _add_leagues(self, competition: Competition) -> dict[str, League]:
        leagues: dict[str, League] = {}
        for position, spec in enumerate(self.spec.leagues):
            leagues[spec.key] = League(
                competition_id=competition.id,
                slug=spec.key,
                position=position,
                **league_values(spec),
            )
        self.session.add_all(leagues.values())
        self.session.flush()
        return leagues

    def _add_baselines(self, competition: Competition) -> None:
        for position, spec in enumerate(self.spec.baselines):
            content = self._baseline_zip(spec)
            digest = store_bytes(self.session, self.storage, content) if content else None
            self.session.add(
                Baseline(
                    competition_id=competition.id,
                    slug=spec.key,
                    name=spec.title,
                    position=position,
                    digest=digest,
                    builtin=spec.builtin,
                    settings=spec.settings,
                    weights=spec.weights,
                    leagues=list(spec.leagues),
                )
            )

    def _baseline_zip(self, spec: BaselineSpec) -> bytes | None:
        if spec.file is None:
            return None
        whole = self.bundle.files.get(spec.file)
        if whole is not None:
            return whole
        prefix = spec.file.rstrip("/") + "/"
        inside = {
            name.removeprefix(prefix): data
            for name, data in self.bundle.files.items()
            if name.startswith(prefix)
        }
        return write_zip(inside) if inside else None

    def _add_phases(self, competition: Competition, leagues: dict[str, League]) -> None:
        phases: dict[str, Phase] = {}
        for position, spec in enumerate(self.spec.phases):
            phase = Phase(
                competition_id=competition.id, **phase_values(spec, spec.timezone or self.spec.timezone)
            )
            phase.position = position
            smoke = self.pools.get(spec.smoke.pool or "")
            phase.smoke_pool_version_id = smoke.id if smoke else None
            phase.versions.append(
                PhaseVersion(
                    number=1, created_by=self.actor_id, live_at=now(), **version_values(spec, self.pools)
                )
            )
            phases[spec.key] = phase
        self.session.add_all(phases.values())
        self.session.flush()
        for phase in phases.values():
            phase.evaluations = self._with_pools_meant(phase)
            hold_pools(self.session, phase, among=self.pools.values())
            self._say_what_is_not_shown(phase)
            weak = weaknesses(phase.versions[0])
            self.notices += [join_texts((phase.name, words), by=": ") for _, words in weak]
        for spec in self.spec.phases:
            if spec.entries is None:
                continue
            phases[spec.key].gate_phase_id = phases[spec.entries.phase].id
            for gate in spec.entries.gates:
                self.session.add(
                    Gate(
                        phase_id=phases[spec.key].id,
                        league_id=leagues[gate.league].id,
                        score=gate.score,
                        note=gate.note,
                    )
                )

    def _with_pools_meant(self, phase: Phase) -> str:
        """A phase's evaluations with the pools that the bundle's names mean here; those without one are left out."""
        lines: list[str] = []
        for line in phase.evaluations.splitlines():
            evaluation = read_evaluation(line)
            version = self.pools.get(evaluation.pool)
            if evaluation.pool and version is None:
                words = (
                    f"{phase.name}: the evaluation {evaluation.short_name} was left out. "
                    f"{words_on_pool(evaluation.pool)}"
                )
                self.notices.append(words)
            elif version is not None and version.pool.slug != evaluation.pool:
                lines.append(json.dumps(replace(evaluation, pool=version.pool.slug).to_dict()))
            else:
                lines.append(line)
        return "\n".join(lines)

    def _say_what_is_not_shown(self, phase: Phase) -> None:
        """What the bundle asks to show of hidden data stays hidden until its pool is public."""
        problem = smoke_problem(self.session, phase)
        if problem is not None:
            self.notices.append(f"{phase.name} has no smoke test yet: {problem}")
        if shown_logs(phase, phase.versions[0]) != wanted_logs(phase):
            words = f"{phase.name} shows no logs of meta-testing while its meta-test pool is hidden."
            self.notices.append(words)
