"""What happens is told to all that the root lists, and to nobody else; an event that nobody knows is an error."""

import inspect

import pytest

from anyshot_platform.foundation.domain_events import publish
from anyshot_platform.judging import domain_events
from anyshot_platform.judging.domain_events import ScoresChanged
from anyshot_platform.running.subscribers import list_subscribers
from tests.platform.site import Site


def test_an_event_without_subscribers_is_an_error(site: Site) -> None:
    with (
        site.services.database.writing() as session,
        pytest.raises(LookupError, match="nobody subscribes to object"),
    ):
        publish(session, object())


def test_everything_that_judging_tells_has_somebody_who_listens(site: Site) -> None:
    told = {
        kind
        for _, kind in inspect.getmembers(domain_events, inspect.isclass)
        if kind.__module__ == domain_events.__name__
    }
    assert ScoresChanged in told
    listed = list_subscribers(site.services.storage, site.services.settings.base_url)
    assert told == set(listed)
    assert all(listed.values())
