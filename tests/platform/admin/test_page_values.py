"""Pages hold values: what the settings say is what a page says, also after a date, a quota or a budget has moved."""

import html
import re
from datetime import UTC, datetime

import pytest
from httpx2 import Response
from sqlalchemy import select

from anyshot_platform.contest.bundles.page_values import fill, has_values, unknown_in
from anyshot_platform.contest.bundles.reading import BundleInvalid, read_bundle
from anyshot_platform.contest.bundles.ready import read_ready_made, ready_made
from anyshot_platform.contest.competitions.actions.texts import values_now
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase
from tests.platform.admin.test_bundle_reading import FILES, GOOD
from tests.platform.admin.zips import zipped
from tests.platform.site import SLUG, Person, Site

MANAGE = f"/api/v1/competitions/{SLUG}/manage"
READY = ("cross-domain-metadl-2022", "within-domain-metadl-2021")


def text_of(answer: Response) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text)))


def begin(owner: Person, name: str, **more: str) -> None:
    sent = owner.call("POST", "/organize/import", data={"ready": name, **more}, follow_redirects=False)
    assert sent.status_code in (200, 303), sent.text[:400]


def test_moving_a_date_a_quota_and_a_budget_moves_the_words_of_the_template(site: Site) -> None:
    """The review's S16: "Public June 15 to 30 ... September 1 to 30" beside phases of November to March."""
    owner, slug = site.owner(), READY[0]
    begin(owner, slug)
    overview = text_of(owner.call("GET", f"/competitions/{slug}"))
    assert "July 1 to August 31, 2022" in overview
    assert "on 1,000 hidden tasks of Set-1" in overview
    with site.services.database.writing() as session:
        phase = (
            session.query(Phase)
            .join(Competition)
            .filter(Competition.slug == slug, Phase.slug == "feedback")
            .one()
        )
        phase.starts_at = datetime(2027, 11, 20, tzinfo=UTC)
        phase.ends_at = datetime(2028, 3, 8, 12, tzinfo=UTC)
        phase.quota_day, phase.live.tasks, phase.live.run_seconds = 3, 700, 7200.0
    overview = text_of(owner.call("GET", f"/competitions/{slug}"))
    assert "November 20, 2027 to March 8, 2028" in overview
    assert "on 700 hidden tasks of Set-1" in overview
    assert "July 1" not in overview
    rules = text_of(owner.call("GET", f"/competitions/{slug}/pages/evaluation"))
    assert "3 a day, 100 in all" in rules
    assert "2 h" in rules
    assert "0.587 in the free-style league" in rules


@pytest.mark.parametrize("name", READY)
def test_no_text_of_a_template_types_a_date_a_quota_a_budget_or_a_number_of_tasks(name: str) -> None:
    """A figure that the settings hold stands in no text beside them."""
    bundle = read_ready_made(name)
    texts = {path: data.decode() for path, data in bundle.files.items() if path.endswith(".md")}
    texts |= {f"phase {phase.key}": phase.description for phase in bundle.spec.phases}
    months = "January|February|March|April|May|June|July|August|September|October|November|December"
    typed = re.compile(
        rf"\b(?:{months}) \d|\b20\d\d-\d\d|\b\d+ a day|\b[\d,]{{3,}} (?:hidden )?tasks|\b\d+ hours|\b0\.\d{{3}}\b"
        r"|\b(?:two|three|four|five) (?:submissions|runs|hours)\b|runs three times",
        re.IGNORECASE,
    )
    found = {path: typed.findall(text) for path, text in texts.items() if typed.search(text)}
    assert found == {}


def test_every_ready_made_competition_uses_values_and_all_are_known() -> None:
    assert {row.name for row in ready_made()} == set(READY)
    for name in READY:
        pages = [data.decode() for path, data in read_ready_made(name).files.items() if path.endswith(".md")]
        assert any(has_values(text) for text in pages)


def test_a_page_with_an_unknown_value_is_not_saved_and_the_nearest_is_named(site: Site) -> None:
    owner = site.owner()
    body = {"title": "When", "body": "Until {{ phases.feedbak.end }}."}
    refused = owner.call("POST", f"{MANAGE}/pages", json=body)
    assert refused.status_code == 422
    assert "Did you mean {{ phases.feedback.end }}?" in refused.json()["message"]
    body["body"] = "Until {{phases.feedback.end}}, {{ user.name }} and {{x}} are text."
    assert owner.call("POST", f"{MANAGE}/pages", json=body).status_code == 201
    page = text_of(owner.call("GET", f"/competitions/{SLUG}/pages/when"))
    assert re.search(
        r"Until \d+ \w+ 20\d\d, \d\d:\d\d UTC, \{\{ user.name \}\} and \{\{x\}\} are text\.", page
    )
    kept = owner.call("GET", f"{MANAGE}/pages").json()
    assert kept[-1]["body"] == body["body"]  # what was written, not what it said that day


def test_terms_hold_no_values_because_they_are_accepted_as_they_are(site: Site) -> None:
    owner = site.owner()
    settings = owner.call("GET", f"{MANAGE}/settings").json()
    settings = {key: value for key, value in settings.items() if key not in ("terms_version",)}
    refused = owner.call(
        "PUT", f"{MANAGE}/settings", json={**settings, "terms": "At most {{ quota.per_day }} a day."}
    )
    assert refused.status_code == 422, refused.text
    assert "must not change by itself" in refused.json()["message"]


def test_a_name_of_a_phase_becomes_no_markup(site: Site) -> None:
    with site.services.database.writing() as session:
        session.query(Phase).one().name = "<img src=x onerror=alert(1)> [a](javascript:b) **c**"
    owner = site.owner()
    body = {"title": "Names", "body": "Now: {{ phases.feedback.name }}"}
    assert owner.call("POST", f"{MANAGE}/pages", json=body).status_code == 201
    page = (
        owner.call("GET", f"/competitions/{SLUG}/pages/names")
        .text.partition('class="prose"')[2]
        .partition("</article>")[0]
    )
    assert "<img" not in page
    assert "<a" not in page
    assert "<strong>" not in page
    assert "**c**" in page


def test_no_value_tells_a_secret(site: Site) -> None:
    with site.services.database.reading() as session:
        competition = session.query(Competition).filter_by(slug=SLUG).one()
        version = session.query(Phase).one().live
        said = "\n".join(values_now(session, competition).values())
        assert version.root not in said
        assert version.meta_test is not None
        assert version.meta_test.pool.name not in said
        assert not any(str(seed) in said for seed in version.test_seeds if seed > 100)


def test_the_preview_shows_values_and_problems_and_saves_nothing(site: Site) -> None:
    owner, pia = site.owner(), site.member("pia")
    sent = {"body": "# Rules\n\n{{ quota.per_day }} a day, {{ quota.perday }}."}
    path = f"/competitions/{SLUG}/manage/pages/preview"
    shown = owner.call("POST", path, data=sent).json()
    assert "<h2>Rules</h2>" in shown["html"]
    assert "3 a day" in shown["html"]
    assert shown["problems"] == ["There is no value {{ quota.perday }}. Did you mean {{ quota.per_day }}?"]
    saved = owner.call(
        "POST",
        path.removesuffix("/preview"),
        data={**sent, "title": "Rules"},
        headers={"accept": "text/html"},
    )
    assert shown["problems"][0] in html.unescape(saved.text)
    assert owner.call("GET", f"{MANAGE}/pages").json() == []
    assert pia.call("POST", path, data=sent).status_code == 403


def test_a_bundle_with_an_unknown_value_is_refused_by_line() -> None:
    files = {**FILES, "overview.md": "{{ phases.nowhere.end }}"}
    with pytest.raises(BundleInvalid) as refused:
        read_bundle(zipped({"competition.yaml": GOOD, **files}))
    (problem,) = refused.value.problems
    assert "overview.md: There is no value {{ phases.nowhere.end }}" in str(problem)
    assert problem.line > 0


def test_prizes_are_the_amounts_and_what_the_text_adds(site: Site) -> None:
    """A page said *no prizes* where the overview had them in words."""
    said = []
    for awards, prizes in (
        ([], ""),
        ([], "A talk for the first."),
        ([400.0, 250.0], "And a talk."),
        ([400.0], ""),
    ):
        with site.services.database.writing() as session:
            league = session.scalars(select(League).where(League.slug == "free")).one()
            league.awards, league.prizes, league.currency = awards, prizes, "EUR"
        with site.services.database.reading() as session:
            said.append(values_now(session, site.competition(session))["leagues.free.prizes"])
    assert said == ["no prizes", "A talk for the first.", "400 and 250 EUR. And a talk.", "400 EUR"]


def test_values_in_text() -> None:
    values = {"phases.a.end": "May 1", "quota.total": "5"}
    assert fill("{{phases.a.end}} {{  quota.total }} {{ quota.none }} {{ other }}", values) == (
        "May 1 5 {{ quota.none }} {{ other }}"
    )
    assert unknown_in("{{ gates.final.x }} {{ gates.final.x }}", values) == [
        "There is no value {{ gates.final.x }}."
    ]
