"""The commands of a participant, `anyshot organize` and `anyshot administer`."""

_KIT = "anyshot_starting_kit.cli"
COMMANDS = {
    "init": (f"{_KIT}.init:init", "Start a submission from a template that runs."),
    "check": (f"{_KIT}.check:check", "Check a submission without running it."),
    "pack": (f"{_KIT}.pack:pack", "Zip a submission's folder."),
    "dry-run": (f"{_KIT}.dry_run:dry_run", "Run a submission here, as the platform would."),
    "login": (f"{_KIT}.login:login", "Log in to a platform."),
    "submit": (f"{_KIT}.submit:submit", "Upload a submission."),
    "again": (f"{_KIT}.again:again", "Submit the zip of an earlier submission again, without an upload."),
    "list": (f"{_KIT}.again:list_own", "List your submissions."),
    "note": (f"{_KIT}.again:note", "Change the note or the tags of a submission."),
    "status": (f"{_KIT}.status:status", "Show where a submission stands."),
    "log": (f"{_KIT}.log:log", "Show the log of a submission."),
    "code": (f"{_KIT}.code:code", "Show the code of a submission, and what changed since the zip before."),
    "compare": (f"{_KIT}.compare:compare", "Say which of two submissions is better, and how sure that is."),
    "curves": (f"{_KIT}.curves:curves", "Show how a submission trains and what it uses, over time."),
    "results": (f"{_KIT}.results:results", "Show or download the results of a submission."),
    "cancel": (f"{_KIT}.cancel:cancel", "Cancel a submission that is queued or running."),
    "mute": (f"{_KIT}.mute:mute", "Mute a competition, or show which are muted."),
    "my-data": (f"{_KIT}.my_data:my_data", "Download all that a site holds about your account."),
    "announcements": (f"{_KIT}.announcements:announcements", "Read what the organizers announced."),
    "discussion": (f"{_KIT}.discussion:discussion", "Read, search and write in a competition's discussion."),
    "leagues": (f"{_KIT}.leagues:leagues", "Show the leagues of a competition and what they ask."),
    "answer": (f"{_KIT}.leagues:answer", "Answer the questions of a league."),
    "entries": (f"{_KIT}.leagues:entries", "Show which of your submissions count, in each league."),
    "places": (
        f"{_KIT}.organize_transfer:places",
        "Claim your place in a competition that came from another site.",
    ),
    "fact-sheet": (f"{_KIT}.fact_sheet:fact_sheet", "Show or submit your team's fact sheet."),
    "winners": (
        f"{_KIT}.winners:winners",
        "Show the results of a final phase, write tables and certificates.",
    ),
    "organize": (f"{_KIT}.organize:organize", "Manage a competition that you organize."),
    "administer": (f"{_KIT}.administer:administer", "Look after a site that you administer."),
    "score": (f"{_KIT}.score:score", "Score prediction files."),
    "weights": (f"{_KIT}.weights:weights", "Offer pretrained weights to dry runs, or a site's runs."),
    "data": (f"{_KIT}.data:data", "Look at datasets, check, pack, import and download them."),
    "pack-data": (f"{_KIT}.data:pack_data", ""),  # without a line of help: hidden
    "verify-key": (f"{_KIT}.verify_key:verify_key", "Compare a phase's published key with its commitment."),
}
