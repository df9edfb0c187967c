"""Makes the screenshots of the documentation: `python -m tests.documentation.screenshots [FOLDER]`.

Serves the scene of the page tests to a headless Chromium and writes `NAME-desktop.png` and `NAME-phone.png` (and
the desktop ones in dark), so that pictures and product never drift apart.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from pathlib import Path

import uvicorn
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from anyshot_platform.app import create_app, make_services
from anyshot_platform.migration import migrate
from anyshot_platform.users.service import begin_session
from anyshot_platform.web.viewer import SESSION_COOKIE
from tests.platform.conftest import make_settings
from tests.platform.web.scene import Scene, make_scene
from tests.services.browsers import FLAGS
from tests.services.processes import find_program, free_port

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
TALLEST = 2600
VIEWS = (("desktop", 1280, "light"), ("phone", 390, "light"), ("desktop-dark", 1280, "dark"))


def pages(scene: Scene) -> dict[str, str]:
    """The main pages by name."""
    base = f"/competitions/{scene.competition.slug}"
    ids = {name: one.id for name, one in scene.submissions.items()}
    return {
        "competition": base,
        "upload": f"{base}/phases/feedback/submit",
        "live": f"/submissions/{ids['running']}",
        "failure": f"/submissions/{ids['failed']}",
        "results": f"/submissions/{ids['finished']}",
        "compare": f"/compare?id={ids['finished']}&id={ids['older']}",
        "leaderboard": f"{base}/leaderboard",
        "account": "/account/tokens",
    }


def open_browser(profile: str) -> webdriver.Chrome:
    """A headless Chromium with a fresh profile."""
    options = Options()
    options.binary_location = find_program("chromium", "chromium-browser", "google-chrome") or "chromium"
    for flag in (*FLAGS, "--hide-scrollbars", f"--user-data-dir={profile}"):
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=Service(find_program("chromedriver") or "chromedriver"))


def take(browser: webdriver.Chrome, address: str, target: Path, width: int, scheme: str) -> None:
    """One picture of a whole page."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(address)
    browser.execute_script("return document.fonts.ready")
    height = browser.execute_script("return document.documentElement.scrollHeight")
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {**size, "height": min(max(height, 900), TALLEST)}
    )
    browser.save_screenshot(str(target))


def main(target: Path) -> None:
    """Serve the scene and take all pictures."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        port = free_port()
        services = make_services(make_settings(Path(folder), base_url=f"http://127.0.0.1:{port}", port=port))
        migrate(services.database)
        with services.database.writing() as session:
            scene = make_scene(session, services.storage)
            secret = begin_session(session, scene.ada, user_agent="pictures", days=1).secret
        app = create_app(services.settings, services)
        server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.05)
        browser = open_browser(f"{folder}/profile")
        try:
            browser.get(f"{services.settings.base_url}/health")
            browser.add_cookie({"name": SESSION_COOKIE, "value": secret, "path": "/"})
            for name, path in pages(scene).items():
                for view, width, scheme in VIEWS:
                    take(
                        browser,
                        services.settings.base_url + path,
                        target / f"{name}-{view}.png",
                        width,
                        scheme,
                    )
        finally:
            browser.quit()
            server.should_exit = True
            thread.join(timeout=20)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
