"""Moves the platform's modules into their layers; run it again on a branch from before, then rebase.

    git reset --soft $(git merge-base HEAD main)   # one commit of your own work
    git show main:tests/architecture/moves.py > /tmp/moves.py && python /tmp/moves.py && git add -A && git commit
    git rebase main                                # both sides moved alike: only real conflicts are left

It goes once no branch from before is left.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from pathlib import Path

PACKAGE = Path("platform/anyshot_platform")
NEW = {
    "kernel": "What everything else stands on and knows no competition: words, lists, signing, storage.",
    "judging": "From a claim to a score: leases, jobs for workers, their results, what a run's end means.",
    "intake": "What participants do with a submission: hand it in, withdraw it.",
    "alerts": "What operators have to know, opened and closed by the platform.",
    "accounts": "What people do with their accounts: sign up, log in, confirm, reset, sign in elsewhere.",
    "desk": "What organizers do: acts on competitions, phases, people, pools; import and export of files.",
    "site": "Pages and the JSON API: parse, authorize, call one function, show.",
}
MOVES = {
    "competitions.heads": "site.shell.heads",
    "competitions.manage_frame": "site.shell.manage_frame",
    "acts.frame": "site.shell.act_frame",
    "queue.sweeper": "sweeper",
    "queue.places": "workers.places",
    "bundles.commands": "bundle_commands",
    "confined.child": "confined_program",
    "runs.settlement": "judging.settlement",
    "runs.service": "judging.service",
    "phases.joining": "judging.joining",
    "workers.assignments": "judging.assignments",
    "workers.results": "judging.results",
    "workers.leases": "judging.leases",
    "workers.choosing": "judging.choosing",
    "workers.releases": "judging.releases",
    "scores.shards": "judging.shards",
    "scores.service": "judging.scores",
    "submissions.tables": "judging.tables",
    "submissions.service": "intake.service",
    "submissions.withdrawing": "intake.withdrawing",
    "phases.secrets": "runs.secrets",
    "phases.smoke": "sight.smoke",
    "operations.alerts": "alerts.service",
    "operations.models": "alerts.models",
    "operations.alerting": "alerts.delivery",
    "operations.metrics": "kernel.metrics",
    "operations.logs": "kernel.logs",
    "web.paging": "kernel.paging",
    "web.signing": "kernel.signing",
    "web.filters": "kernel.filters",
    "web.numbers": "kernel.numbers",
    "budgets.table": "kernel.budgets",
    "budgets.routes": "site.budgets.routes",
    "artifacts.storage": "kernel.storage",
    "users.limits": "budgets.limits",
    "teams.service": "competitions.teams",
    "reports.announcing": "desk.reports.announcing",
    "reports.catalogue": "desk.reports.catalogue",
    "reports.inputs": "desk.reports.inputs",
    "reports.service": "desk.reports.service",
}
_BY_FOLDER = {
    "desk": {
        "competitions": "acts member_acts organizing people invitations",
        "phases": "acts final_acts version_acts key_acts organizing versions publication readiness finals "
        "side_by_side differences checks leaks",
        "leagues": "organizing",
        "pools": "acts organizing uses",
        "submissions": "organizing code_acts published",
        "entries": "acts moderating",
        "teams": "joining",
        "bundles": "taking_in giving_out naming_pools service",
    },
    "site": {
        "submissions": "rows show results progress schemas words checks_view quota_view provenance views comparison "
        "timing training taking_home downloads failures",
        "leaderboards": "board_page board_shape board_view",
        "competitions": "listing schemas",
        "phases": "editor_form protocol_form",
        "described": "form",
        "entries": "shown views",
        "events": "stream",
    },
}
for _layer, _folders in _BY_FOLDER.items():
    for _folder, _names in _folders.items():
        MOVES |= {f"{_folder}.{name}": f"{_layer}.{_folder}.{name}" for name in _names.split()}
_ACCOUNTS = "service administration confirming limiting oauth passwords schemas security_log"
MOVES |= {f"users.{name}": f"accounts.{name}" for name in _ACCOUNTS.split()}
SPLITS = {
    "web.services": dict.fromkeys(["Services"], "services"),
    "web.viewer": dict.fromkeys(["Viewer", "Scope", "NOBODY", "TOKEN_PREFIX"], "users.viewer"),
    "web.access": dict.fromkeys(
        ["CompetitionAccess", "SubmissionAccess", "find_access", "find_roles", "find_competition", "require_visible",
         "require_role", "find_submission_access"],
        "sight.access",
    ),
    "workers.tokens": dict.fromkeys(["WorkerTokenDep", "worker_token"], "web.access"),
    "fact_sheets.states": {"Due": "competitions.states"},
    "pools.service": dict.fromkeys(["check_slug", "SLUG"], "kernel.slugs"),
    "leagues.organizing": dict.fromkeys(["list_leagues", "find_league"], "leagues.service"),
    "sight.logs": {"is_public": "pools.rights"},
    "submissions.progress": {"newest_runs": "judging.service"},
    "exports.tables": dict.fromkeys(["Form", "MEDIA", "write", "write_parquet"], "kernel.tables"),
}  # fmt: skip
_FROM = re.compile(
    r"^(?P<indent>[ \t]*)from anyshot_platform(?P<module>(?:\.\w+)*) import (?P<names>\([^)]*\)|[^\n]*)$",
    re.M,
)
_NAMES_A_MODULE = re.compile(r"\banyshot_platform\.(\w+\.\w+)\b")
_PATH = re.compile(r"(?<![\w/.-])((?:platform/)?anyshot_platform/)?(\w+/\w+)\.py\b")
_IN_TICKS = re.compile(r"`(\w+\.\w+)(?=[`.(])")


def find_pages() -> None:
    """Every module of endpoints goes to the site."""
    for path in PACKAGE.glob("*/*.py"):
        folder, name = path.parent.name, path.stem
        if folder not in ("web", "site") and (name in ("api", "pages") or name.endswith(("_api", "_pages"))):
            MOVES[f"{folder}.{name}"] = f"site.{folder}.{name}"


def path_of(module: str) -> Path:
    """Where a module lies."""
    return PACKAGE / (module.replace(".", "/") + ".py")


def move_files() -> None:
    """Move what is still in its old place, and make the packages that are missing."""
    for old, new in MOVES.items():
        source, target = path_of(old), path_of(new)
        if source.exists() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["git", "mv", str(source), str(target)], check=True)
    for folder, words in NEW.items():
        (PACKAGE / folder).mkdir(exist_ok=True)
        (PACKAGE / folder / "__init__.py").write_text(f'"""{words}"""\n')
    for layer in ("site", "desk"):
        for folder in sorted((PACKAGE / layer).iterdir()):
            if folder.is_dir() and folder.name != "__pycache__" and not (folder / "__init__.py").exists():
                whose = "Pages and JSON" if layer == "site" else "Organizers' work"
                (folder / "__init__.py").write_text(f'"""{whose}: {folder.name.replace("_", " ")}."""\n')


def new_home(module: str, name: str) -> tuple[str, str]:
    """Where a name is imported from now: module (without the package's name), and what is imported."""
    bare = name.split(" as ")[0].strip()
    whole = f"{module}.{bare}" if module else bare
    if whole in MOVES:  # a module, imported from its package
        parent, _, last = MOVES[whole].rpartition(".")
        alias = name.partition(" as ")[2].strip() or bare
        return parent, last if last == alias else f"{last} as {alias}"
    home = SPLITS.get(module, {}).get(bare)
    return home or MOVES.get(module, module), name


def rewrite_import(match: re.Match[str]) -> str:
    """One `from` statement, as one or several."""
    module = match["module"].removeprefix(".")
    body = re.sub(r"#[^\n]*", "", match["names"]).strip("() \n")
    homes: dict[str, list[str]] = defaultdict(list)
    for name in filter(None, (part.strip() for part in body.split(","))):
        where, what = new_home(module, name)
        homes[where].append(what)
    if list(homes) == [module]:
        return match[0]
    return "\n".join(
        f"{match['indent']}from anyshot_platform{'.' + where if where else ''} import {', '.join(names)}"
        for where, names in homes.items()
    )


def rewrite(path: Path) -> None:
    """Bring what a file says of the platform's modules in line."""
    text = old = path.read_text()
    if path.suffix == ".py":
        text = _FROM.sub(rewrite_import, text)
    text = _NAMES_A_MODULE.sub(lambda m: f"anyshot_platform.{MOVES.get(m[1], m[1])}", text)
    text = _PATH.sub(
        lambda m: f"{m[1] or ''}{MOVES.get(m[2].replace('/', '.'), m[2]).replace('.', '/')}.py", text
    )
    if path.is_relative_to(PACKAGE) or path.suffix == ".md":
        text = _IN_TICKS.sub(lambda m: f"`{MOVES.get(m[1], m[1])}", text)
    if text != old:
        path.write_text(text)


def main() -> None:
    """Move, rewrite, put imports in order."""
    find_pages()
    move_files()
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        path = Path(name)
        if (
            path.name not in ("moves.py", "CHANGELOG.md")
            and path.suffix in (".py", ".md", ".toml", ".yml")
            and path.is_file()
        ):
            rewrite(path)
    for command in (["check", "-q", "--fix", "--select", "I"], ["format", "-q"]):
        subprocess.run([".venv/bin/ruff", *command, "platform", "tests", "benchmarks"], check=False)


if __name__ == "__main__":
    main()
