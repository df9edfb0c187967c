"""What the site says of the starting kit, and what its index answers; installing it is in `tests/packages`."""

from __future__ import annotations

import html

from tests.platform.site import Site


def test_the_guide_names_the_index_of_this_very_site(site: Site) -> None:
    page = html.unescape(site.client.get("/docs/participants/first-submission/").text)
    address = site.services.settings.base_url.rstrip("/")
    assert f"--extra-index-url {address}/kit/simple/" in page and "ADDRESS" not in page


def test_the_index_offers_the_kit_and_nothing_else(site: Site) -> None:
    client = site.client
    projects = ("anyshot-core", "anyshot-scoring", "anyshot-starting-kit")
    shown = client.get("/kit/simple/").text
    assert all(f'href="/kit/simple/{name}/"' in shown for name in projects) and shown.count("<a ") == 3
    assert str(client.get("/kit/simple/Anyshot_Core/").url).endswith("/kit/simple/anyshot-core/")
    assert client.get("/kit/simple/anyshot-platform/").status_code == 404
    old = client.get(f"/kit/files/{'0' * 64}/anyshot_core-0.0.1-py3-none-any.whl")
    assert old.status_code == 404 and "another version" in old.text
