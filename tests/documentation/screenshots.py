"""Makes the screenshots of the documentation: `python -m tests.documentation.screenshots [FOLDER]`.

Serves the scene of the page tests to a headless Chromium, so that pictures and product never drift apart. Without a
folder it writes the pictures that the documentation shows to `docs/images`; with one, every page there in every view
(`NAME-desktop.png`, `NAME-phone.png`, `NAME-desktop-dark.png`), to be looked at.
"""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from selenium import webdriver

from anyshot_platform.app import create_app, make_services
from anyshot_platform.foundation.migration import migrate
from anyshot_platform.people.accounts.service import begin_session
from anyshot_platform.site.web.viewer import SESSION_COOKIE
from tests.platform.conftest import make_settings
from tests.platform.web.scene import Scene, make_scene
from tests.services.browsers import chromium
from tests.services.processes import free_port
from tests.services.sites import served

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
TALLEST = 2600
# Name: width in pixels, colour scheme.
VIEWS = {"desktop": (1280, "light"), "phone": (390, "light"), "desktop-dark": (1280, "dark")}
# The pictures of the documentation, each with the height that it is cut to.
SHOWN = {
    ("competition", "desktop"): 1000,
    ("upload", "desktop"): 1300,
    ("live", "desktop"): 1000,
    ("failure", "desktop"): 1100,
    ("results", "desktop"): 1500,
    ("confusion", "desktop"): 1200,
    ("compare", "desktop"): 1400,
    ("leaderboard", "desktop"): 1500,
    ("leaderboard", "phone"): 1000,
    ("leaderboard", "desktop-dark"): 1000,
    ("submissions", "desktop"): 1200,
    ("phase", "desktop"): 1200,
}


@dataclass(frozen=True)
class Shot:
    """A page and who looks at it."""

    path: str
    user: str = "ada"


def pages(scene: Scene) -> dict[str, Shot]:
    """The main pages by name."""
    base = f"/competitions/{scene.competition.slug}"
    ids = {name: one.id for name, one in scene.submissions.items()}
    return {
        "competition": Shot(base),
        "upload": Shot(f"{base}/phases/feedback/submit", user="bob"),
        "mine": Shot(f"{base}/submissions"),
        "live": Shot(f"/submissions/{ids['running']}"),
        "failure": Shot(f"/submissions/{ids['failed']}"),
        "results": Shot(f"/submissions/{ids['finished']}"),
        "confusion": Shot(f"/submissions/{ids['finished']}/confusion"),
        "compare": Shot(f"/compare?id={ids['finished']}&id={ids['older']}"),
        "leaderboard": Shot(f"{base}/leaderboard"),
        "notifications": Shot("/account/notifications"),
        "account": Shot("/account/tokens"),
        "manage": Shot(f"{base}/manage", user="organizer"),
        "phases": Shot(f"{base}/manage/phases", user="organizer"),
        "phase": Shot(f"{base}/manage/phases/feedback", user="organizer"),
        "submissions": Shot(f"{base}/manage/submissions", user="organizer"),
    }


def take(
    browser: webdriver.Chrome, address: str, target: Path, width: int, scheme: str, tallest: int = TALLEST
) -> None:
    """One picture of a page, from its top."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(address)
    browser.execute_async_script("document.fonts.ready.then(arguments[0])")
    height = browser.execute_script("return document.documentElement.scrollHeight")
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {**size, "height": min(max(height, 900), tallest)}
    )
    browser.save_screenshot(str(target))


def shrink(path: Path) -> None:
    """Store the picture with a palette: a quarter of the bytes, and hardly a visible difference."""
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def take_all(
    browser: webdriver.Chrome, site: str, scene: Scene, secrets: dict[str, str], target: Path
) -> None:
    """The documentation's pictures where the target is its folder, else all pages in all views."""
    for name, shot in pages(scene).items():
        browser.get(f"{site}/health")
        browser.delete_all_cookies()
        browser.add_cookie({"name": SESSION_COOKIE, "value": secrets[shot.user], "path": "/"})
        for view, (width, scheme) in VIEWS.items():
            if target == IMAGES and (name, view) not in SHOWN:
                continue
            path = target / f"{name}-{view}.png"
            tallest = SHOWN[name, view] if target == IMAGES else TALLEST
            take(browser, site + shot.path, path, width, scheme, tallest)
            if target == IMAGES:
                shrink(path)


def main(target: Path) -> None:
    """Serve the scene and take the pictures."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        port = free_port()
        services = make_services(make_settings(Path(folder), base_url=f"http://127.0.0.1:{port}", port=port))
        migrate(services.database)
        with services.database.writing() as session:
            scene = make_scene(session, services.storage)
            scene.phase.show_confusion = True
            scene.phase.quota_day = 5
            secrets = {
                name: begin_session(session, getattr(scene, name), user_agent="pictures", days=1).secret
                for name in ("ada", "bob", "organizer")
            }
        app = create_app(services.settings, services)
        with served(app, port), chromium() as browser:
            take_all(browser, services.settings.base_url, scene, secrets, target)
        services.database.dispose()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
