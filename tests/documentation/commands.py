"""The commands in the fences of the documentation, and what runs those that the installed packages alone do not."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"\s+#.*$")
_COMPOSE = (
    "tests/end_to_end/test_compose.py::test_one_submission_goes_through_the_composed_site_to_the_leaderboard"
)
_IMAGES = "tests/platform/core/test_deployment.py::test_images_of_others_are_named_by_version"
_IMPORTING = "tests/core/data/test_importing.py"
_EXPERIMENT = "tests/studies/test_experiment.py"
_ROLES = "tests/starting_kit/cli/test_dry_run.py"

# What cannot be run from the wheels of one environment, by how a line begins: the test that runs it, and why there.
ELSEWHERE = {
    "anyshot admin simulate": (
        "tests/platform/admin/test_simulate.py::test_a_phase_of_the_site_is_played_with_what_its_runs_took"
    ),
    "anyshot admin serve": "tests/end_to_end/site.py",  # serves until it is ended
    'pip install --extra-index-url ADDRESS/kit/simple/ "anyshot-worker': (
        "tests/packages/test_wheels.py::test_a_worker_from_the_site_has_what_it_builds_sandboxes_of"
    ),
    "anyshot worker run": (  # runs until it is ended
        "tests/contract/test_joining.py::test_a_machine_joins_by_a_code_that_is_entered_on_the_page"
    ),
    "cp .env.example": _COMPOSE,
    "make hashes": _COMPOSE,
    "make image": _COMPOSE,
    "docker-compose": _COMPOSE,
    "docker cp": _COMPOSE,
    "docker/pin-images.sh": _IMAGES,
    "docker/debian/make-bases.sh": _COMPOSE,
    "pip download": _COMPOSE,
    "export ANYSHOT_BASE_IMAGE": _COMPOSE,
    "anyshot data import torchvision": f"{_IMPORTING}::test_torchvision_reads_what_its_own_class_reads",  # torch
    "anyshot data import huggingface": f"{_IMPORTING}::test_hugging_face_parquet_with_class_labels_and_a_card",
    "anyshot data import medmnist": f"{_IMPORTING}::test_medmnist_file_gets_the_names_of_its_classes_and_its_licence",
    "anyshot data download": "tests/core/data/test_download.py::test_the_command_downloads",  # a network
    "anyshot data check data/Meta_Album": "tests/core/data/test_download.py::test_the_command_downloads",
    "anyshot data get": "tests/starting_kit/cli/test_data_get.py",  # a public pool
    "anyshot dry-run": _ROLES,  # torch
    "anyshot replay 14 ": (  # a run of a site
        "tests/contract/test_replay.py::test_a_run_is_repeated_to_the_last_digit_or_with_the_reason_why_not"
    ),
    "anyshot verify receipts.json": (  # a run of a site
        "tests/starting_kit/cli/test_verify.py::test_a_receipt_is_verified_down_to_the_tasks"
    ),
    "python verify_receipts.py": (
        "tests/platform/core/test_receipts.py"
        "::test_the_archive_holds_all_receipts_and_a_program_that_verifies_them"
    ),
    "anyshot init mine --from": (
        "tests/starting_kit/cli/test_platform_commands.py::test_a_participant_without_a_clone_begins_with_a_baseline"
    ),
    **dict.fromkeys(
        ("anyshot experiment send", "anyshot experiment collect"),
        "tests/starting_kit/cli/test_experiment_on_a_site.py",  # an organizer's site
    ),
    "anyshot experiment": f"{_EXPERIMENT}::test_command_runs_and_goes_on",  # torch and hours
    "anyshot organize rehearse": (
        "tests/platform/entries/test_rehearsal.py::test_one_command_plays_the_competition_of_2022_to_published_results"
    ),
    "anyshot organize report": (
        "tests/platform/admin/test_reports.py::test_a_board_is_judged_from_the_results_of_its_tasks"
    ),
    "anyshot organize show final": "tests/starting_kit/cli/test_organize.py",  # a final phase
    # `do` itself is run; these acts need a pool of real images and a worker that keeps learners.
    "anyshot organize do COMPETITION phase.add_evaluation": "tests/contract/test_evaluations.py",
    "anyshot organize do COMPETITION phase.evaluate": "tests/contract/test_evaluations.py",
    "anyshot organize file baseline": "tests/starting_kit/cli/test_organize.py",  # a zip and a run
    **dict.fromkeys(
        ("anyshot organize do birds", "anyshot organize file import", "anyshot organize file export"),
        "tests/platform/admin/test_organizer_api.py::test_a_competition_lives_in_a_folder_by_command_line",
    ),
    **dict.fromkeys(
        ("cp OUT/", "python -m anyshot_studies.reproduce.conditions"),
        "tests/documentation/test_reproductions.py"
        "::test_a_joined_experiment_gets_its_conditions_by_the_documented_command",
    ),
    **dict.fromkeys(  # a cluster
        (
            *("anyshot worker slurm", "export ANYSHOT_PLATFORM_URL", "export ANYSHOT_HARDWARE_CLASS"),
            "export ANYSHOT_WORKSPACE",
        ),
        "tests/end_to_end/test_slurm.py"
        "::test_jobs_grow_and_shrink_with_the_queue_and_hand_over_when_they_are_killed",
    ),
    "anyshot worker image asked": (  # a site
        "tests/contract/test_asked_images.py::test_what_a_phase_asks_for_is_listed_and_built_on_a_workers_machine"
    ),
    # The job script of the guide, as one.
    **dict.fromkeys(
        ("set -euo", "source ", "export ANYSHOT_DATA", "export XDG_CACHE_HOME"),
        "tests/starting_kit/test_tutorial.py::test_the_job_script_of_the_guide_runs_without_slurm",
    ),
}


def documented() -> Iterator[tuple[Path, str]]:
    """Each command line with its page: of consoles after the prompt, of shells, and of fences that name no language."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for language, body in _FENCE.findall(page.read_text()):
            if language not in ("", "console", "bash", "sh"):
                continue
            for line in body.replace("\\\n", " ").splitlines():
                command = _COMMENT.sub("", line.removeprefix("$ ")).strip()
                if _is_command(line, language) and command:
                    yield page, command


def _is_command(line: str, language: str) -> bool:
    if language == "console":
        return line.startswith("$ ")
    if language in ("bash", "sh"):
        return not line.startswith("#")
    return line.startswith(("anyshot ", "cp ", "pip ", "make ", "python "))


def elsewhere(command: str) -> str | None:
    """The test that runs a command which the wheels alone do not; None for those that they run."""
    return next((test for start, test in ELSEWHERE.items() if command.startswith(start)), None)
