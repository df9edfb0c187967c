"""A competition's settings, texts and state over JSON, for its organizers."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from anyshot_platform.actions.concurrency import tag_of
from anyshot_platform.actions.service import ActOutcome
from anyshot_platform.contest.bundles.actions.reporting import ImportReport, read_report
from anyshot_platform.contest.bundles.actions.service import clone_competition
from anyshot_platform.contest.bundles.schema import QuestionSpec
from anyshot_platform.contest.competitions import files
from anyshot_platform.contest.competitions.actions import acts, file_acts, organizing, page_acts
from anyshot_platform.contest.competitions.actions.texts import values_now
from anyshot_platform.contest.competitions.models import Competition, CompetitionFile, CompetitionPage
from anyshot_platform.contest.competitions.states import CompetitionState, Due, Registration, Visibility
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.judging.submissions.uploads import take_upload
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.shell.act_frame import IfMatch
from anyshot_platform.site.shell.act_routes import add_acts
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer
from anyshot_platform.site.shell.merge_patch import Patch, patched
from anyshot_platform.site.web.access import may_organize
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/api/v1/competitions/{slug}/manage", tags=["organizing: settings and texts"])
PageParam = Annotated[str, Path(max_length=32)]
NameParam = Annotated[str, Path(max_length=100)]
Line = Annotated[str, Field(max_length=200)]
Text = Annotated[str, Field(max_length=1_000_000)]


class CompetitionSettings(BaseModel):
    """What belongs to a competition as a whole. New terms are shown to everybody again."""

    model_config = ConfigDict(extra="forbid")

    title: Annotated[str, Field(min_length=1, max_length=200)]
    summary: Annotated[str, Field(max_length=10_000)] = ""
    contact_email: Annotated[str, Field(max_length=320)] = ""
    terms: Text = ""
    visibility: Visibility = Visibility.PUBLIC
    opens_at: AwareDatetime | None = Field(
        default=None, description="published before, it is seen from then on"
    )
    registration: Registration = Registration.OPEN
    email_domains: Annotated[list[Line], Field(max_length=1000)] = []
    team_size: int = Field(default=1, ge=1, le=100)
    discussion_open: bool = True
    prizes: Annotated[str, Field(max_length=10_000)] = ""
    fact_sheet: Annotated[list[QuestionSpec], Field(max_length=100)] = []
    fact_sheet_from: Due = Due.FINALISTS
    fact_sheet_by: AwareDatetime | None = None


class CloneIn(BaseModel):
    """A copy of a competition; all dates move so that its first phase begins at `start`."""

    model_config = ConfigDict(extra="forbid")

    slug: Annotated[str, Field(min_length=1, max_length=64)]
    title: Annotated[str, Field(max_length=200)] = ""
    start: AwareDatetime | None = None


class CloneOut(BaseModel):
    """The copy, and what its organizers should know about it."""

    slug: str
    notices: list[str]


class PageIn(BaseModel):
    """A page of text, in Markdown."""

    model_config = ConfigDict(extra="forbid")

    title: Annotated[str, Field(min_length=1, max_length=200)]
    body: Text = ""


class PageOut(PageIn):
    """A page of text at its place."""

    id: str
    key: str
    tag: str


class PageFileOut(BaseModel):
    """An image or another file of the pages; in Markdown `![words](files/NAME)` or `[words](files/NAME)`."""

    name: str
    size: int
    digest: str
    image: bool


class FileIn(BaseModel):
    """A complete upload of one's own (`POST /api/v1/uploads`)."""

    model_config = ConfigDict(extra="forbid")

    upload_id: str = Field(max_length=32)


class StateOut(BaseModel):
    """Where a competition stands; `missing` keeps it from being published, `odd` is worth a look."""

    slug: str
    state: CompetitionState
    deleted: bool
    missing: list[str]
    odd: list[str]


@router.get("/settings")
def show_settings(access: AsReviewer, response: Response) -> CompetitionSettings:
    """The settings of the competition; their ETag belongs into the `If-Match` of a change."""
    response.headers["etag"] = tag_of(organizing.settings_of(access.competition))
    return _settings(access.competition)


@router.put("/settings")
def change_settings(
    access: AsOrganizer,
    session: SessionDep,
    body: CompetitionSettings,
    response: Response,
    if_match: IfMatch = None,
) -> CompetitionSettings:
    """Replace the settings; what is left out gets its default."""
    return _change_settings(access, session, body.model_dump(), response, if_match)


@router.patch("/settings")
def change_some_settings(
    access: AsOrganizer, session: SessionDep, body: Patch, response: Response, if_match: IfMatch = None
) -> CompetitionSettings:
    """Change the settings that are named; the others stay."""
    wanted = patched(_settings(access.competition), body).model_dump()
    return _change_settings(access, session, {name: wanted[name] for name in body}, response, if_match)


def _change_settings(
    access: CompetitionAccess,
    session: Session,
    values: dict[str, Any],
    response: Response,
    if_match: str | None,
) -> CompetitionSettings:
    organizing.change_settings(session, access.competition, values, access.viewer.id, if_match)
    response.headers["etag"] = tag_of(organizing.settings_of(access.competition))
    return _settings(access.competition)


@router.put("/logo", status_code=204)
def set_logo(access: AsOrganizer, session: SessionDep, services: ServicesDep, body: FileIn) -> None:
    """Show an uploaded image as the logo."""
    upload, content = take_upload(services, session, access.viewer.id, body.upload_id)
    organizing.set_logo(
        session, services.storage, access.competition, upload.filename, content, access.viewer.id
    )


@router.get("/pages")
def list_pages(access: AsReviewer) -> list[PageOut]:
    """The pages of text in their order."""
    return [_page(page) for page in access.competition.pages]


@router.post("/clone", status_code=201, dependencies=[Depends(may_organize)])
def clone(access: AsOrganizer, session: SessionDep, services: ServicesDep, body: CloneIn) -> CloneOut:
    """The same competition as a new draft: without people, submissions and results, with new keys and seeds."""
    made = clone_competition(
        session,
        services.storage,
        access.competition,
        access.viewer,
        slug=body.slug,
        title=body.title,
        start=body.start,
    )
    return CloneOut(slug=made.competition.slug, notices=made.notices)


@router.get("/files")
def list_files(access: AsReviewer, session: SessionDep) -> list[PageFileOut]:
    """The images and files of the pages, by name."""
    return [_file(row) for row in files.list_files(session, access.competition)]


@router.put("/files/{name}")
def put_file(
    access: AsOrganizer, session: SessionDep, services: ServicesDep, name: NameParam, body: FileIn
) -> PageFileOut:
    """Keep an upload as a file that pages show or link as `files/NAME`; one of the same name is replaced."""
    _, content = take_upload(services, session, access.viewer.id, body.upload_id)
    return _file(
        organizing.put_file(session, services.storage, access.competition, name, content, access.viewer.id)
    )


def _find_file(session: Session, competition: Competition, name: NameParam) -> CompetitionFile:
    return files.find_file(session, competition, name)


def _after_file(
    session: Session, access: CompetitionAccess, row: CompetitionFile, outcome: ActOutcome
) -> PageFileOut:
    return _file(row)


add_acts(router, file_acts.ACTS, _find_file, _after_file, at="/files/{name}")


def _file(row: CompetitionFile) -> PageFileOut:
    return PageFileOut(name=row.name, size=row.size, digest=row.digest, image=files.is_image(row.name))


@router.get("/import")
def show_import(access: AsReviewer, session: SessionDep) -> ImportReport:
    """What the import that made the competition took over, what is left to do, and what has no equivalent."""
    report = read_report(session, access.competition)
    if report is None:
        raise NotFound("This competition was not imported, or no report was kept.")
    return report


@router.get("/values")
def list_values(access: AsReviewer, session: SessionDep) -> dict[str, str]:
    """What pages may name as `{{ name }}`, with the value of each as the settings are now."""
    return values_now(session, access.competition)


@router.post("/pages", status_code=201)
def add_page(access: AsOrganizer, session: SessionDep, body: PageIn) -> PageOut:
    """Add a page behind the others."""
    return _page(organizing.save_page(session, access.competition, body.model_dump(), access.viewer.id))


@router.put("/pages/{page_id}")
def change_page(
    access: AsOrganizer, session: SessionDep, page_id: PageParam, body: PageIn, if_match: IfMatch = None
) -> PageOut:
    """Replace a page's title and text; `If-Match` takes the `tag` that it was listed with."""
    who = access.viewer.id
    return _page(organizing.save_page(session, access.competition, body.model_dump(), who, page_id, if_match))


@router.patch("/pages/{page_id}")
def change_part_of_page(
    access: AsOrganizer, session: SessionDep, page_id: PageParam, body: Patch, if_match: IfMatch = None
) -> PageOut:
    """Change a page's title or its text; the other stays."""
    page = organizing.find_page(access.competition, page_id)
    wanted = patched(PageIn(title=page.title, body=page.body), body).model_dump()
    sent = {name: wanted[name] for name in body}
    return _page(organizing.save_page(session, access.competition, sent, access.viewer.id, page_id, if_match))


def _find_page(session: Session, competition: Competition, page_id: PageParam) -> CompetitionPage:
    return organizing.find_page(competition, page_id)


def _pages_left(
    session: Session, access: CompetitionAccess, row: CompetitionPage, outcome: ActOutcome
) -> list[PageOut]:
    return [_page(page) for page in access.competition.pages]


add_acts(router, page_acts.ACTS, _find_page, _pages_left, at="/pages/{page_id}")


@router.get("/state")
def show_state(access: AsReviewer, session: SessionDep) -> StateOut:
    """Where the competition stands, and what is missing."""
    return _state(session, access.competition)


def _after(
    session: Session, access: CompetitionAccess, competition: Competition, outcome: ActOutcome
) -> StateOut:
    return _state(session, competition)


def _find(session: Session, competition: Competition) -> Competition:
    return competition


add_acts(router, acts.ACTS, _find, _after)


def _settings(row: Competition) -> CompetitionSettings:
    return CompetitionSettings(
        title=row.title,
        summary=row.summary,
        contact_email=row.contact_email,
        terms=row.terms,
        registration=row.registration,
        email_domains=row.email_domains,
        team_size=row.team_size,
        discussion_open=row.discussion_open,
        prizes=row.prizes,
        fact_sheet=[QuestionSpec.model_validate(question) for question in row.fact_sheet],
        fact_sheet_from=row.fact_sheet_from,
        fact_sheet_by=row.fact_sheet_by,
        visibility=row.visibility,
        opens_at=row.opens_at,
    )


def _page(page: CompetitionPage) -> PageOut:
    return PageOut(
        id=page.id, key=page.slug, title=page.title, body=page.body, tag=tag_of(organizing.page_fields(page))
    )


def _state(session: SessionDep, row: Competition) -> StateOut:
    return StateOut(
        slug=row.slug,
        state=row.state,
        deleted=row.deleted_at is not None,
        missing=organizing.what_is_missing(session, row),
        odd=organizing.what_is_odd(session, row),
    )
