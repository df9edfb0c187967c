"""The live page against a real worker: every line of a talkative run arrives, and cancelling frees the slot."""

from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from anyshot_platform.app import make_services
from anyshot_platform.foundation.migration import migrate
from anyshot_platform.server.demo.organizer import set_the_stage
from anyshot_platform.server.demo.server import make_settings, serving
from tests.end_to_end.site import ready_sandbox, small_data
from tests.end_to_end.watching import talker, watch_and_cancel


@pytest.mark.slow("a site, a worker and a browser as they are installed")
@pytest.mark.timeout(1200)
def test_live_log_and_cancel(browser: Chrome, demo_packs: dict[str, Path], tmp_path: Path) -> None:
    """Lines arrive while the run goes on, which talks for twenty minutes unless it is cancelled: both waits end before.

    How late lines are and how long cancelling takes is measured by `python -m benchmarks.pages`.
    """
    sandbox = ready_sandbox()
    settings = make_settings(tmp_path, None, None)
    services = make_services(settings)
    migrate(services.database)
    stage = set_the_stage(services, small_data(demo_packs), tasks=8, budget_seconds=1200)
    services.database.dispose()
    with serving(settings, sandbox) as server:
        seen = watch_and_cancel(browser, server, settings, stage, talker(tmp_path, 100), lines=300)
    assert seen.complete, "a line was lost or came twice"
    assert len(seen.lags) >= 300
