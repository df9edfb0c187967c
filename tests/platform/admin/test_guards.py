"""Each row of the table of issue "A competition that cannot be broken by accident", with the tests that hold it."""

from __future__ import annotations

import re

import pytest

from anyshot_platform.artifacts.models import Blob
from anyshot_platform.baselines.models import Baseline
from tests.platform.admin.test_manage import BASE, flash, page, post
from tests.platform.entries.test_promises import names_in
from tests.platform.site import Site

A, C, E, W = "tests/platform/admin", "tests/platform/core", "tests/platform/entries", "tests/platform/web"
ROWS = {
    "one click publishes the hidden test pool": [
        f"{A}/test_guarded_acts.py::test_a_pool_that_a_phase_tests_on_is_not_published",
        f"{A}/test_guarded_acts.py::test_a_pool_is_published_by_its_name_and_every_log_says_so",
        f"{A}/test_acts.py::test_a_pool_is_published_by_the_clock_when_all_is_over",
    ],
    "results are published while runs are queued, and everybody is mailed again": [
        f"{A}/test_guarded_acts.py::test_results_wait_for_the_runs_and_are_told_once",
        f"{A}/test_guarded_acts.py::test_results_are_published_early_by_name_and_the_log_names_it",
    ],
    "making a version live drops what arrived meanwhile": [
        f"{A}/test_guarded_acts.py::test_what_arrives_while_a_version_is_scored_joins_it",
        f"{A}/test_guarded_acts.py::test_a_version_that_would_lose_a_row_is_not_made_live",
    ],
    "two organizers undo each other silently": [
        f"{A}/test_two_actors.py::test_two_organizers_change_one_field_of_a_phase",
        f"{A}/test_two_actors.py::test_every_form_says_what_two_people_meet_there",
    ],
    "a phase may meta-train and meta-test on the same images": [
        f"{A}/test_two_actors.py::test_a_phase_does_not_train_on_what_it_tests",
        f"{A}/test_leaking_images.py::test_an_image_under_another_name_is_not_trained_and_tested_on",
    ],
    "no competition shows its logo": [
        f"{W}/test_crawl.py::test_a_logo_is_shown_and_runs_nothing",
        f"{W}/test_crawl.py::test_every_address_on_every_page_answers",
    ],
    "nobody is asked to accept new terms": [
        f"{A}/test_two_actors.py::test_whoever_has_not_accepted_new_terms_is_asked"
    ],
    "the pool's version that a phase uses is invisible and moves": [
        f"{A}/test_two_actors.py::test_a_phase_keeps_its_version_of_a_pool_and_shows_it"
    ],
    "a co-organizer cannot see the pools; uploads have no limit, progress or resumption": [
        f"{A}/test_pools_of_competitions.py::test_every_organizer_repairs_a_pool_of_the_competition",
        f"{A}/test_pools_of_competitions.py::test_an_upload_that_breaks_off_goes_on_where_it_stopped",
        f"{A}/test_pools_of_competitions.py::"
        "test_packs_have_a_limit_of_their_own_and_no_upload_serves_for_another_end",
    ],
    "organizers lead the ranking; a disqualified winner's code stays published": [
        f"{A}/test_two_actors.py::test_a_participant_who_becomes_an_organizer_leaves_the_ranking",
        f"{A}/test_published_code.py::test_the_code_of_a_disqualified_winner_is_not_published",
    ],
    "the audit log says what was not, and not who took secrets": [
        f"{A}/test_two_actors.py::test_a_save_without_a_change_leaves_no_entry",
        f"{A}/test_any_moment.py::test_who_took_what_is_secret_is_in_the_log",
    ],
    "nonsense is saved": [
        f"{A}/test_sense.py::test_nonsense_is_refused_at_every_save",
        f"{A}/test_sense.py::test_phases_do_not_feed_each_other",
        f"{A}/test_guards.py::test_what_is_too_long_is_said_in_words_on_every_database",
    ],
    "dates, budgets and quotas are typed into texts": [
        f"{A}/test_page_values.py::test_moving_a_date_a_quota_and_a_budget_moves_the_words_of_the_template",
        f"{A}/test_page_values.py::"
        "test_no_text_of_a_template_types_a_date_a_quota_a_budget_or_a_number_of_tasks",
    ],
    "texts promise what no code does": [
        f"{E}/test_promises.py::test_every_sentence_of_a_template_is_listed_and_nothing_else",
        f"{E}/test_promises.py::test_every_promise_names_tests_that_exist",
    ],
}
SERIOUS = {  # of the review's list, what the table above does not hold
    "S1 addresses are confirmed": [
        f"{C}/test_people.py::test_nothing_is_sent_to_or_joined_by_an_address_that_is_not_confirmed",
        f"{C}/test_people.py::test_only_addresses_of_the_named_domains_join",
    ],
    "S10 logging in can give the scope": [
        "tests/starting_kit/cli/test_organize.py::test_logging_in_can_give_the_right_to_organize"
    ],
    "S11 a wheel serves": [
        "tests/packages/test_wheels.py::test_the_platform_serves_its_documentation_migrates_and_has_baselines"
    ],
    "S13 files are their user's alone": [
        f"{C}/test_people.py::test_files_of_a_site_are_its_users_alone",
        f"{A}/test_commands.py::test_a_backup_replaces_no_other_and_a_damaged_one_restores_nothing",
    ],
    "S14 limits hold in the service": [
        f"{A}/test_guards.py::test_what_is_too_long_is_said_in_words_on_every_database",
        f"{A}/test_two_actors.py::test_registration_is_one_of_three",
    ],
}


@pytest.mark.parametrize("row", [*ROWS, *SERIOUS])
def test_what_holds_a_row_exists(row: str) -> None:
    for test in {**ROWS, **SERIOUS}[row]:
        path, _, name = test.partition("::")
        assert name in names_in(path), test


def test_what_is_too_long_is_said_in_words_on_every_database(site: Site) -> None:
    """PostgreSQL answered 500, SQLite stored 5,000 characters; the answer to a form was raw JSON."""
    owner, long = site.owner(), "x" * 201
    for path, form in (
        ("/organize/new", {"title": long, "slug": "long"}),
        (f"{BASE}/settings", {"title": long, "registration": "open", "team_size": "1"}),
    ):
        answer = post(owner, path, **form)
        said = flash(answer) if answer.status_code == 303 else answer.text
        assert re.search("20[01] characters", said) and answer.status_code in (303, 422), path
        assert answer.status_code == 303 or "<!doctype html>" in said
        nul = post(owner, path, **{**form, "title": "a\x00b"})
        assert nul.status_code < 500, path


def test_a_baseline_that_ships_with_anyshot_says_so_after_its_first_run(site: Site) -> None:
    with site.services.database.writing() as session:
        where = site.competition(session).id
        session.add(Baseline(competition_id=where, slug="r", name="Random", builtin="random"))
    assert "ships with Anyshot" in page(site.owner(), f"{BASE}/baselines").text
    with site.services.database.writing() as session:
        session.query(Baseline).one().digest = session.query(Blob.digest).limit(1).scalar()
    assert "ships with Anyshot" in page(site.owner(), f"{BASE}/baselines").text
