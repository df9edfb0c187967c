"""A package index of the kit and the worker (PEP 503), the tutorial notebook, and what is in the sandbox.

Used by `pip install --extra-index-url ADDRESS/kit/simple/ anyshot-starting-kit==VERSION`. Without the version, pip
would take a higher one from the public index, whoever put it there.
"""

import html
import json
import re

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from starlette.responses import Response

from anyshot_core.installation import install_line, package_folder
from anyshot_platform.contest.kit.wheels import PROJECTS, Wheel, kit_version, make_wheel
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.judging.workers.inventories import offered_inventories
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import SessionDep, site_address

router = APIRouter(include_in_schema=False, dependencies=[Depends(public)])
_PAGE = (
    '<!DOCTYPE html><html><head><meta name="pypi:repository-version" content="1.0">'
    "<title>{title}</title></head><body>{links}</body></html>"
)
_FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}  # the address has the digest
_NOTEBOOK = "anyshot-tutorial.ipynb"


@router.get("/kit/simple/")
def list_projects() -> HTMLResponse:
    """The projects of the index."""
    links = "".join(f'<a href="/kit/simple/{name}/">{name}</a><br>' for name in PROJECTS)
    return HTMLResponse(_PAGE.format(title="Starting kit and worker", links=links))


@router.get("/kit/simple/{project}/")
def list_files(project: str) -> Response:
    """The one wheel of a project: that of this site's version."""
    name = re.sub(r"[-_.]+", "-", project).lower()
    if name != project:
        return redirect(f"/kit/simple/{name}/")
    wheel = _find(name)
    return HTMLResponse(_PAGE.format(title=name, links=_link(wheel)))


@router.get("/kit/files/{digest}/{filename}")
def send_file(digest: str, filename: str) -> Response:
    """Send a wheel that this site serves."""
    wheel = _find(filename.partition("-")[0].replace("_", "-"))
    if (wheel.digest, wheel.filename) != (digest, filename):
        raise NotFound("This site serves another version; install it again.")
    return Response(wheel.content, media_type="application/octet-stream", headers=_FOR_EVER)


@router.get("/kit/tutorial.ipynb")
def send_tutorial(request: Request) -> Response:
    """The notebook that leads from a task to a dry run, and installs the kit first."""
    headers = {"content-disposition": f'attachment; filename="{_NOTEBOOK}"'}
    return Response(
        _make_tutorial(site_address(request)), media_type="application/x-ipynb+json", headers=headers
    )


@router.get("/sandbox")
def show_sandbox(request: Request, session: SessionDep) -> Response:
    """The packages in each sandbox image."""
    return render(request, "sandbox.html", section="docs", images=offered_inventories(session))


def _link(wheel: Wheel) -> str:
    href = f"/kit/files/{wheel.digest}/{wheel.filename}#sha256={wheel.digest}"
    asked = html.escape(wheel.requires_python)
    return f'<a href="{href}" data-requires-python="{asked}">{wheel.filename}</a>'


def _find(project: str) -> Wheel:
    if project not in PROJECTS:
        raise NotFound(f"This index has {', '.join(PROJECTS)}; everything else comes from your usual index.")
    return make_wheel(project)


def _make_tutorial(address: str) -> bytes:
    """The notebook of `anyshot init --notebook`, with a first cell that installs the kit from the site `address`."""
    template = package_folder("anyshot_starting_kit") / "templates" / "tutorial.ipynb"
    made = json.loads(template.read_text(encoding="utf-8"))
    cells = made["cells"]
    set_up = ["# Once, on a machine without the starting kit; the torch that is there stays.\n"]
    set_up += [f"%{install_line(address, kit_version())}\n", "!anyshot init my-method"]
    code = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    cell = {"id": "set-up", **code, "source": set_up}
    made["cells"] = [cells[0], cell, *cells[1:]]
    return (json.dumps(made, indent=1, ensure_ascii=False) + "\n").encode()
