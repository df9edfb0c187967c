"""The pages of pools: upload, check, look, publish; downloads of public ones."""

import shutil
import tempfile
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_core.data.problems import BadPack
from anyshot_platform.actions.declaration import ActRequest
from anyshot_platform.actions.service import carry_out
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.pools.actions import acts, organizing, version_acts
from anyshot_platform.contest.pools.actions.overlaps import compare_pool
from anyshot_platform.contest.pools.actions.uses import competitions_using, owner_of, uses_of
from anyshot_platform.contest.pools.models import Pack, PoolPack, PoolVersion
from anyshot_platform.contest.pools.service import add_pack, create_pool
from anyshot_platform.foundation.errors import Invalid, NotFound, PlatformError
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.reports.actions.catalogue import find_kind
from anyshot_platform.judging.reports.actions.service import list_pool_reports
from anyshot_platform.judging.visibility.access import find_access, organized
from anyshot_platform.judging.visibility.pools import may_change
from anyshot_platform.people.audit.reads import note_read
from anyshot_platform.people.users.viewer import Scope, Viewer
from anyshot_platform.site.shell.act_frame import perform_named
from anyshot_platform.site.shell.manage_frame import carry_out_change
from anyshot_platform.site.web.access import may_organize, proved, signed_in_as
from anyshot_platform.site.web.files import send_stored
from anyshot_platform.site.web.forms import FormDep, SentForm
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/organize/pools", include_in_schema=False)
Owner = Annotated[Viewer, Depends(signed_in_as(Scope.ORGANIZE))]
_ACTS = acts.ACTS | version_acts.ACTS
_SHOWN, _LONGEST = 5, 300  # packs that a message names, characters about each
Looker = Annotated[Viewer, Depends(signed_in_as(Scope.READ))]  # at what is public, or their own
ProvedLooker = Annotated[Viewer, Depends(proved(signed_in_as(Scope.READ)))]


@router.get("")
def show_pools(request: Request, session: SessionDep, viewer: Looker) -> Response:
    """The viewer's pools and the public ones."""
    pools = organizing.list_pools(session, viewer)
    return render(
        request,
        "manage/pools.html",
        section="competitions",
        rows=[
            (
                pool,
                (organizing.list_versions(session, pool) or [None])[0],
                owner_of(session, pool, viewer),
                may_change(session, viewer, pool),
            )
            for pool in pools
        ],
    )


@router.post("")
def add_pool(
    session: SessionDep, viewer: Annotated[Viewer, Depends(may_organize)], form: FormDep
) -> Response:
    """A new pool, without packs."""
    slug = form.text("slug")

    def change() -> None:
        create_pool(
            session,
            slug=slug,
            name=form.text("name") or slug,
            owner_id=viewer.id,
            description=form.text("description"),
        )

    return carry_out_change(session, "/organize/pools", f"The pool {slug} is there: add packs to it.", change)


@router.get("/{slug}")
def show_pool(
    request: Request, session: SessionDep, services: ServicesDep, viewer: Looker, slug: str
) -> Response:
    """A pool: versions, packs with counts, digests and contact sheets."""
    pool = organizing.find_pool(session, viewer, slug)
    versions = organizing.list_versions(session, pool)
    owns = may_change(session, viewer, pool)
    receivers = [row for row in organized(session, viewer) if row.id != pool.competition_id] if owns else []
    return render(
        request,
        "manage/pool.html",
        section="competitions",
        pool=pool,
        versions=versions,
        uses=uses_of(session, pool, viewer) if owns else [],
        comparison=compare_pool(session, pool, versions[0], viewer) if owns and versions else None,
        owns=owns,
        acts=_ACTS,
        belongs_to=owner_of(session, pool, viewer),
        receivers=receivers,
        receiver_options=[(row.slug, row.title) for row in receivers],
        part_bytes=services.settings.upload_chunk_bytes,
        max_bytes=services.settings.pack_max_bytes,
        reports=[
            (report, find_kind(report.analysis).title, competition)
            for report, competition in list_pool_reports(session, [version.id for version in versions])
            if find_access(session, viewer, competition).may(Role.REVIEWER)
        ],
    )


@router.post("/{slug}/packs")
def upload_packs(services: ServicesDep, viewer: Owner, slug: str, form: FormDep) -> Response:
    """Check uploaded packs and make a version of those that are sound; no transaction is open meanwhile.

    `left_out` of the form names packs that the browser has sent by itself and that were refused.
    """
    target = f"/organize/pools/{slug}"
    try:
        with services.database.reading() as session:
            organizing.find_pool(session, viewer, slug, to_change=True)
        ids, left_out = _store(services, viewer, form)
        left_out += [words[:_LONGEST] for words in form.all("left_out")]
        if left_out and not ids and not form.all("pack_digest"):
            raise Invalid(join_texts(left_out), field="packs")
        with services.database.writing() as session:
            pool = organizing.find_pool(session, viewer, slug, to_change=True)
            brought = [session.get_one(Pack, pack_id).digest for pack_id in ids]
            wishes = version_acts.Packs(
                packs=[*brought, *form.all("pack_digest")], keep=form.flag("keep"), note=form.text("note")
            )
            asked = ActRequest(viewer.id, options=wishes, viewer=viewer)
            made = carry_out(session, version_acts.VERSION, pool, asked)
            message = join_texts((made.message, *made.warnings))
    except PlatformError as error:
        if error.status not in (409, 422):
            raise
        return redirect(target, flash=error.message, tone="bad")
    if left_out:
        more = [f"{len(left_out) - _SHOWN} more"] if len(left_out) > _SHOWN else []
        named = join_texts([*left_out[:_SHOWN], *more])
        words = f"{message} Left out: {named}"
        return redirect(target, flash=words, tone="warn")
    return redirect(target, flash=message)


def _store(services: Services, viewer: Viewer, form: SentForm) -> tuple[list[str], list[str]]:
    """The packs of a form by their ids, and what is wrong with the others."""
    uploads = form.uploads("packs")
    if not uploads and not form.all("pack_digest"):
        raise Invalid("Choose the packs (files that end in .anyshot-pack).", field="packs")
    ids, left_out = list[str](), list[str]()
    with tempfile.TemporaryDirectory() as folder:
        for index, upload in enumerate(uploads):
            path = Path(folder) / f"{index}.anyshot-pack"
            with path.open("wb") as sink:
                shutil.copyfileobj(upload.file, sink, 1 << 20)
            try:
                ids.append(add_pack(services, path, viewer.id).id)
            except PlatformError as error:
                left_out.append(f"{upload.filename}: {error.message}")
            path.unlink()
    return ids, left_out


@router.post("/{slug}/{act}")
def act_on_pool(
    request: Request, session: SessionDep, viewer: Owner, slug: str, act: str, form: FormDep
) -> Response:
    """Do an act to a pool, as its declaration says."""
    pool = organizing.find_pool(session, viewer, slug, to_change=True)
    target = "/organize/pools" if act == "delete" else f"/organize/pools/{slug}"
    return perform_named(request, session, form, _ACTS, act, pool, viewer, target)


def _pack_of(session: SessionDep, viewer: Viewer, slug: str, pack_id: str) -> Pack:
    """A pack of a pool that the viewer may look into."""
    pool = organizing.find_pool(session, viewer, slug)
    pack = session.scalars(
        select(Pack)
        .join(PoolPack, PoolPack.pack_id == Pack.id)
        .join(PoolVersion, PoolVersion.id == PoolPack.pool_version_id)
        .where(Pack.id == pack_id, PoolVersion.pool_id == pool.id)
        .limit(1)
    ).one_or_none()
    if pack is None:
        raise NotFound("There is no such dataset in this pool.")
    return pack


@router.get("/{slug}/packs/{pack_id}/sheet.png")
def show_sheet(
    session: SessionDep, services: ServicesDep, viewer: Looker, slug: str, pack_id: str
) -> Response:
    """The contact sheet of a dataset."""
    pack = _pack_of(session, viewer, slug, pack_id)
    try:
        content = organizing.contact_sheet(services.storage, pack.digest)
    except (OSError, BadPack) as error:
        raise NotFound("The pack's file cannot be read.") from error
    return Response(content, media_type="image/png", headers={"Cache-Control": "private, max-age=86400"})


@router.get("/{slug}/packs/{pack_id}/download")
def download_pack(
    session: SessionDep, services: ServicesDep, viewer: ProvedLooker, slug: str, pack_id: str
) -> Response:
    """The pack's file: of a public pool for everybody who is signed in, else for its owner."""
    pack = _pack_of(session, viewer, slug, pack_id)
    _note_hidden(session, services, viewer, slug, pack)
    return send_stored(services, pack.digest, f"{pack.name}.anyshot-pack")


def _note_hidden(session: Session, services: Services, viewer: Viewer, slug: str, pack: Pack) -> None:
    """Keep in the logs of the competitions that use a hidden pool who took a dataset of it."""
    pool = organizing.find_pool(session, viewer, slug)
    if pool.published_at is None:
        where, subject = competitions_using(session, pool), ("pool", pool.id)
        note_read(services.database, viewer.user_id, "hidden_data", subject, where, pool=slug, pack=pack.name)
