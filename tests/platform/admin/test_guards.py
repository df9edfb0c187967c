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
K, D, P = (
    "tests/starting_kit/cli",
    "tests/core/data/test_importing.py",
    "tests/platform/admin/test_page_files.py",
)
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
        f"{A}/test_two_actors.py::test_who_lets_the_others_value_stand_keeps_what_only_they_changed",
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
        f"{P}::test_a_logo_that_is_no_picture_is_refused",
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
        f"{E}/test_promises.py::test_every_promise_of_a_page_has_tests_and_nothing_else",
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

WANTED = {  # what the issue wants, and how we will know
    "1 every act is declared, and says what it does at each moment": [
        f"{A}/test_any_moment_others.py::test_every_act_that_is_declared_has_its_row",
        f"{A}/test_any_moment.py::test_every_act_on_a_phase_in_every_state",
        f"{A}/test_any_moment.py::test_every_act_on_a_competition_in_every_state",
        f"{A}/test_any_moment.py::test_every_act_on_a_person_in_every_state",
        f"{A}/test_any_moment_others.py::test_every_act_on_a_final_in_every_state",
        f"{A}/test_any_moment_more.py::test_acts_of_administrators",
        f"{C}/test_access.py::test_what_is_written_without_a_declared_act_says_why",
    ],
    "1 page, JSON and command follow from the declaration": [
        f"{K}/test_organize.py::test_every_declared_act_is_done_by_one_command",
        f"{C}/test_access.py::test_every_form_of_the_organizers_has_its_call",
    ],
    "1 an override is named in the log, and reads of secrets are there": [
        f"{A}/test_guarded_acts.py::test_results_are_published_early_by_name_and_the_log_names_it",
        f"{A}/test_any_moment.py::test_who_took_what_is_secret_is_in_the_log",
    ],
    "2 every form and endpoint that writes knows its version": [
        f"{A}/test_two_actors.py::test_every_form_says_what_two_people_meet_there",
        f"{A}/test_two_actors.py::test_the_api_takes_if_match",
        f"{A}/test_two_actors.py::test_two_organizers_edit_an_announcement",
        f"{W}/test_two_writers.py::test_every_form_says_what_two_people_meet_there",
    ],
    "2 only changed fields are sent, saved and logged": [
        f"{A}/test_two_actors.py::test_a_script_sends_only_what_it_changes",
        f"{A}/test_two_actors.py::test_two_organizers_change_two_fields_of_a_phase",
        f"{A}/test_two_actors.py::test_a_save_without_a_change_leaves_no_entry",
        f"{A}/test_two_actors.py::test_the_log_names_the_phase_and_what_changed_and_no_gate_that_was_kept",
        f"{W}/test_changed_fields.py::test_a_form_that_is_opened_and_left_alone_sends_no_field",
        f"{W}/test_changed_fields.py::test_a_participants_form_that_is_left_alone_sends_no_field",
        f"{W}/test_crawl.py::test_a_form_that_shows_what_is_there_sends_what_was_changed",
    ],
    "3 one validator, at import, save and publication": [
        f"{A}/test_sense.py::test_nonsense_is_refused_at_every_save",
        f"{A}/test_sense.py::test_nonsense_in_a_bundle_is_said_with_its_line",
        f"{A}/test_sense.py::test_what_is_imported_with_nonsense_is_not_published",
    ],
    "3 leaks by pack, by image, and near-duplicates as a warning": [
        f"{A}/test_two_actors.py::test_hidden_data_that_are_public_elsewhere_are_refused",
        f"{A}/test_leaking_images.py::test_an_image_under_another_name_is_not_trained_and_tested_on",
        f"{A}/test_leaking_images.py::test_images_that_look_alike_are_a_warning_and_named_on_the_pools_page",
    ],
    "4 what arrives joins the draft, and no row is lost": [
        f"{A}/test_guarded_acts.py::test_what_is_still_running_when_a_version_becomes_live_joins_it_too",
        f"{A}/test_guarded_acts.py::test_going_back_to_an_earlier_version_loses_nobody",
    ],
    "5 pools are the competition's, single datasets are replaced, a bad pack is left out": [
        f"{A}/test_pools_of_competitions.py::test_pools_of_an_import_belong_to_the_new_competition",
        f"{A}/test_pools_of_competitions.py::test_a_bad_pack_of_a_batch_is_named_and_the_good_ones_stay",
        f"{W}/test_browser_uploads.py::test_packs_are_sent_in_parts_and_go_on_after_a_broken_connection",
    ],
    "5 a Data tab, and a command that gets the data": [
        f"{K}/test_data_get.py::test_the_tab_shows_licence_checksum_classes_and_picture_of_what_is_public",
        f"{K}/test_data_get.py::test_the_public_data_come_with_split_and_checksums_and_a_dry_run_takes_them",
        f"{K}/test_data_get.py::test_the_command_that_repeats_a_run_gets_the_competitions_data_first",
        f"{K}/test_data_get.py::test_hidden_data_have_no_name_no_picture_and_no_download",
    ],
    "5 importers": [
        f"{D}::test_folder_of_digits_becomes_a_dataset_that_packs",
        f"{D}::test_leaves_of_plant_village_come_as_folders",
        f"{D}::test_blood_cells_and_omniglot_come_by_their_lists",
        f"{D}::test_blood_cells_come_in_the_file_of_medmnist",
        f"{D}::test_trash_comes_in_parquet",
        f"{D}::test_a_folder_that_save_to_disk_wrote",
        f"{D}::test_eurosat_comes_by_the_class_of_torchvision",
        f"{D}::test_csv_with_paths_and_super_classes_of_a_second_file",
        f"{D}::test_medmnist_file_gets_the_names_of_its_classes_and_its_licence",
        f"{D}::test_hugging_face_parquet_with_class_labels_and_a_card",
        f"{D}::test_torchvision_reads_what_its_own_class_reads",
    ],
    "6 images, files, formulas, preview and values": [
        f"{P}::test_a_page_shows_an_image_and_links_a_file",
        f"{W}/test_formulas.py::test_formulas_are_in_pages_and_in_the_forum",
        f"{W}/test_preview.py::test_the_preview_follows_what_is_written",
        f"{A}/test_page_values.py::test_every_ready_made_competition_uses_values_and_all_are_known",
    ],
    "7 a rehearsal with its forecast, and both checklists": [
        f"{E}/test_rehearsal.py::test_one_command_plays_the_competition_of_2022_to_published_results",
        f"{E}/test_rehearsal.py::test_a_rehearsal_says_what_the_competition_will_need",
        f"{E}/test_rehearsal.py::test_what_is_not_ready_is_not_rehearsed",
        f"{A}/test_guarded_acts.py::test_results_wait_for_the_runs_and_are_told_once",
    ],
    "8 private, unlisted, opened by the clock, cloned, looked at as another": [
        f"{A}/test_visibility.py::test_who_sees_what_in_every_setting",
        f"{A}/test_visibility.py::test_nobody_outside_learns_that_a_private_competition_exists",
        f"{A}/test_visibility.py::test_the_copy_for_next_year_has_all_but_people_results_and_secrets",
        f"{W}/test_look.py::test_the_pages_are_those_of_the_other_and_the_bar_says_so",
    ],
    "9 bundles of other platforms keep their meaning": [
        f"{A}/test_codabench.py::test_what_is_hidden_there_is_hidden_from_a_visitor_here",
        f"{A}/test_codabench.py::test_the_board_of_an_imported_competition_follows_its_rule",
        f"{A}/test_codabench.py::test_codabenchs_defaults_count_where_a_phase_is_silent",
        f"{A}/test_codabench.py::test_images_of_pages_come_along",
        f"{A}/test_codabench.py::test_fact_sheet_contact_and_reward_are_taken_over",
        f"{A}/test_codabench.py::test_parallel_phases_end_with_the_competition",
        f"{A}/test_codabench.py::test_the_report_of_an_import_is_kept_and_grouped",
        f"{A}/test_codabench_data.py::test_data_are_neither_read_nor_counted",
        f"{A}/test_codabench_data.py::test_datasets_in_input_data_become_a_hidden_pool_of_the_competition",
    ],
    "10 a competition travels with people and scores, and is checked on arrival": [
        f"{A}/test_transfers.py::test_the_board_after_the_journey_is_the_board_before_to_the_last_digit",
        f"{A}/test_transfers.py::test_an_archive_that_does_not_fit_together_leaves_nothing",
        f"{A}/test_transfers.py::test_taking_it_away_asks_and_is_in_the_log_and_waits_for_runs",
    ],
    "11 commands work as the pages say them": [
        "tests/documentation/test_commands.py::test_every_command_of_the_documentation_is_run_by_a_test",
        "tests/packages/test_documented_commands.py::test_the_commands_of_the_documentation_from_the_installed_packages",
        f"{A}/test_commands.py::test_a_bundle_goes_in_and_out_of_an_embedded_site",
        f"{A}/test_commands.py::test_a_backup_of_postgresql_by_its_own_tool_as_in_the_image",
        f"{C}/test_deployment.py::test_mail_log_ins_and_policy_are_passed_on_and_may_stay_empty",
        f"{C}/test_deployment.py::test_the_platforms_image_has_the_tools_of_composes_database",
    ],
    "a crawl as every role": [
        f"{W}/test_crawl.py::test_every_address_on_every_page_answers",
        f"{W}/test_crawl.py::test_the_walks_reach_every_page",
    ],
}
HELD = {**ROWS, **SERIOUS, **WANTED}


@pytest.mark.parametrize("row", HELD)
def test_what_holds_a_row_exists(row: str) -> None:
    for test in HELD[row]:
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
