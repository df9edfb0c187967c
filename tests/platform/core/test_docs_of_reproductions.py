"""The site draws the documentation's reproductions from the data that it ships with, and gives the data out."""

from tests.platform.site import Site


def test_the_sites_documentation_draws_the_same_pages(site: Site) -> None:
    page = site.client.get("/docs/reproductions/hellinger/")
    assert page.status_code == 200 and "Published and found" in page.text and "<svg" in page.text
    assert "All printed numbers" in site.client.get("/docs/reproductions/").text
    data = site.client.get("/docs/reproductions/hellinger/result.json")
    assert data.json()["estimates"][0]["unit"] == "squared distance"
    assert site.client.get("/docs/reproductions/published.toml").status_code == 200
    for bad in ("hellinger/nothing.json", "../../index.md", "a/b/result.json", ".hidden/result.json"):
        assert site.client.get(f"/docs/reproductions/{bad}").status_code == 404
