"""The keys of Codabench and CodaLab bundles: which are read, and why others have no equivalent."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PROGRAM = "Anyshot draws hidden tasks and scores them itself; a program or data of the bundle is not run"
IMAGE = "submissions run in an image that the operator of the platform offers; choose it in the phase"
OTHERS = "others' submissions are not listed here"
DETAILS = "results per dataset, ways and shots are shown as the phase allows"
ORGANIZERS = "add organizers by their accounts here"
CODE_ONLY = "results cannot be submitted here: code is"
UNKNOWN = "not known here; left out"
SOLUTIONS = "sample solutions are not taken over; add them as baselines"
PUBLISH = "publish a pool instead"
PUBLISH_UPLOADED = "upload it as a pool and publish it"
UPLOAD = "upload them as pools"
KIT = "participants use Anyshot's own starting kit; link yours from a page"
PAGE = "write it into a page"
FILES = "it hides the files of scoring alone; choose in the phase who sees scores and boards"
# On which page of the organizers something is to be done about it.
PLACES: dict[str, str] = {
    IMAGE: "/phases",
    ORGANIZERS: "/people",
    SOLUTIONS: "/baselines",
    PUBLISH: "/phases",
    PUBLISH_UPLOADED: "/phases",
    UPLOAD: "/phases",
    KIT: "/pages#files",
    PAGE: "/pages",
    FILES: "/phases",
}

WITHOUT_EQUIVALENT = {
    "docker_image": IMAGE,
    "competition_docker_image": IMAGE,
    "queue": "queues follow from the hardware class of a phase",
    "tasks": PROGRAM,
    "solutions": SOLUTIONS,
    "admin_names": ORGANIZERS,
    "collaborators": ORGANIZERS,
    "enable_detailed_results": DETAILS,
    "show_detailed_results_in_submission_panel": DETAILS,
    "show_detailed_results_in_leaderboard": DETAILS,
    "make_programs_available": PROGRAM,
    "make_input_data_available": PUBLISH,
    "auto_run_submissions": "submissions always run by themselves, in the order of the queue",
    "can_participants_make_submissions_public": OTHERS,
    "disallow_leaderboard_modifying": "the board follows its rule; nobody picks rows by hand",
    "anonymous_leaderboard": "participants choose a display name; boards show it",
    "allow_public_submissions": OTHERS,
    "enable_per_submission_metadata": "the fact sheet takes its place",
    "show_datasets_from_yaml": "pools are listed on the competition's page",
    "report": PAGE,
}
PHASE_WITHOUT_EQUIVALENT = {
    "tasks": PROGRAM,
    "solutions": SOLUTIONS,
    "public_data": PUBLISH_UPLOADED,
    "starting_kit": KIT,
    "scoring_program": PROGRAM,
    "ingestion_program": PROGRAM,
    "ingestion_program_only_during_scoring": PROGRAM,
    "input_data": PROGRAM,
    "reference_data": PROGRAM,
    "datasets": UPLOAD,
    "hide_prediction_output": "predictions are never shown",
    "hide_score_output": FILES,
    "is_scoring_only": CODE_ONLY,
    "accept_only_result_submissions": CODE_ONLY,
    "parent_phasenumber": "phases here may overlap; there is no parent",
    "hidden_columns": "columns are chosen per league",
}
_BOTH = "version title description image logo phases allow_teams enable_forum "
READ_2 = _words(
    _BOTH + "terms pages registration_auto_approve leaderboards forum_enabled fact_sheet contact_email reward"
)
READ_15 = _words(
    _BOTH + "html has_registration leaderboard end_date start_date fact_sheet contact_email reward "
    "force_submission_to_leaderboard"
)
# What Codabench's own reader takes where a phase does not say; 0 there means no limit.
DEFAULTS_2 = {"max_submissions_per_day": 5, "max_submissions": 100, "execution_time_limit": 600}
# The same of CodaLab's reader.
DEFAULTS_15 = {"max_submissions_per_day": 999, "max_submissions": 100, "execution_time_limit": 300}
# Codabench's rules of a leaderboard, and whose submission stands here; where a board names none, it is the first.
RULE_2 = "Add"
RULES_2 = {
    "add": {"team_chooses": True},
    "add_and_delete": {"team_chooses": True},
    "add_and_delete_multiple": {"team_chooses": True},
    "force_last": {"board_shows": "last"},
    "force_latest_multiple": {"board_shows": "last"},
    "force_best": {"board_shows": "best"},
}
# Rules under which several submissions of one participant stand on a board.
SEVERAL_2 = frozenset({"add_and_delete_multiple", "force_latest_multiple"})
PHASE_READ = _words(
    "index name label phasenumber description start start_date end end_date max_submissions_per_day "
    "max_submissions max_submissions_per_person execution_time_limit execution_time_limit_ms color "
    "auto_migrate_to_this_phase auto_migration hide_output id status "
    "force_best_submission_to_leaderboard leaderboard_management_mode phase_never_ends "
    "is_parallel_parent has_max_submissions"
)
