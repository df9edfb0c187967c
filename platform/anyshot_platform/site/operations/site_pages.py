"""Privacy, imprint and contact: texts of the site's operators, Markdown files in a folder of theirs."""

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.frame import SITE_PAGES
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import ServicesDep

router = APIRouter(include_in_schema=False, dependencies=[Depends(public)])


@router.get("/privacy")
@router.get("/imprint")
@router.get("/contact")
def show_site_page(request: Request, services: ServicesDep) -> Response:
    """The text, as it is in the folder now; or that the operators have not written it."""
    path = request.url.path
    title = next(words for words, address in SITE_PAGES.items() if address == path)
    file = services.settings.texts_folder / f"{path[1:]}.md"
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return render(request, "site_page.html", title=title, file=file.name, text=text.strip())
