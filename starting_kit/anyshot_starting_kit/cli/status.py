"""`anyshot status`: of a submission, or of one's team in a phase."""

import json
import re
import sys
from collections.abc import Mapping
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from anyshot_core.client import Client
from anyshot_core.words import decimal_words, moment_words
from anyshot_starting_kit.cli.account import connection_options, outlasting, which_submission
from anyshot_starting_kit.cli.exits import Exit
from anyshot_starting_kit.cli.leagues import describe_entry
from anyshot_starting_kit.cli.log import LogReading, missing_lines

_PHASE = re.compile(r"([a-z0-9-]+)/([a-z0-9-]*[a-z-][a-z0-9-]*)")  # a number after it would be a submission's
_OURS = ("infrastructure", "organizer")


@click.command()
@click.argument("submission", required=False)
@click.option("--follow", is_flag=True, help="Show log and progress until it has ended.")
@click.option("--json", "as_json", is_flag=True, help="Print the submission as JSON and nothing else.")
@connection_options
def status(client: Client, submission: str | None, follow: bool, as_json: bool) -> None:
    """Show where SUBMISSION (its number or id; without it your latest) stands.

    Of COMPETITION/PHASE: what counts for your team, what runs until when, and what you can submit until the end.

    Exits with 0 when it finished, 1 when it failed or was cancelled, 4 when the fault is not the submission's, 5
    when it has not ended.
    """
    console = Console(quiet=as_json, highlight=False)
    if submission is not None and (phase := _PHASE.fullmatch(submission)):
        found = client.outlook(*phase.groups())
        console.print(describe_outlook(found), markup=False, soft_wrap=True)
        if as_json:
            click.echo(json.dumps(found, indent=1))
        return
    submission_id = which_submission(client, submission)
    if follow:
        state, code = follow_to_end(client, submission_id, console)
    else:
        state = client.submission(submission_id)
        code = exit_code(state)
        console.print(describe(state, client.page_of(state["id"])), markup=False, soft_wrap=True)
    if as_json:
        click.echo(json.dumps(state, indent=1))
    sys.exit(code)


def describe_outlook(outlook: dict[str, Any]) -> str:
    """What counts for the team in a phase, what runs, what is left, a line each."""
    lines = [outlook["left_words"]]
    lines += [describe_entry(one) for one in outlook["entries"]]
    lines += [f"{name}: nothing of your team counts yet." for name in outlook["without_entry"]]
    for one in outlook["under_way"]:
        ends = "when it ends cannot be told yet"
        if one["earliest"]:
            ends = f"should end between {moment_words(one['earliest'])} and {moment_words(one['latest'])}"
        lines.append(f"{one['title']} ({one['state'].replace('_', '-')}): {ends}.")
    last = outlook["last_moment"]
    return "\n".join(
        [*lines, *([last["words"]] if last else []), *([outlook["rule"]] if outlook["rule"] else [])]
    )


def follow_to_end(client: Client, submission_id: str, console: Console) -> tuple[dict[str, Any], Exit]:
    """Show a bar below the log until the submission has ended, through outages; returns its end."""
    log = LogReading(client, submission_id)
    state: dict[str, Any] = {}
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[words]}"),
        TimeElapsedColumn(),
    )
    # A bar that nobody sees would take what is said on stderr, too.
    bar = Progress(*columns, console=console, transient=True, disable=console.quiet)
    with outlasting(client), bar:
        task = bar.add_task("queued", total=None, words="")
        for state in client.follow(submission_id):
            _show(bar, task, state)
            for line in log.lines():
                bar.console.print(line, markup=False, soft_wrap=True)
    for line in missing_lines(state):
        console.print(line, markup=False, soft_wrap=True)
    console.print(describe(state, client.page_of(state["id"])), markup=False, soft_wrap=True)
    return state, exit_code(state)


def _show(bar: Progress, task: TaskID, state: dict[str, Any]) -> None:
    run = _latest(state)
    if state["status"] == "queued" or run is None:
        place = state.get("queue_place")
        bar.update(task, description="queued", words=f"{place} before it" if place else "")
        return
    budget = run["budget_seconds"]
    used = f"{run['seconds_used']:.0f}" + (f" of {budget:.0f}" if budget else "")
    words = f"{run['tasks_done']}/{run['tasks_total']} tasks, {used} s used"
    if forecast := run["forecast"]:
        words += f". {forecast}"
    total = run["tasks_total"] or None
    bar.update(
        task,
        description=run["state"].replace("_", "-"),
        total=total,
        completed=run["tasks_done"],
        words=words,
    )


def _latest(state: dict[str, Any]) -> dict[str, Any] | None:
    """The run to show: one that is running, else the last."""
    runs = state["runs"]
    running = [run for run in runs if run["verdict"] is None and run["state"] != "queued"]
    return (running or runs or [None])[-1]


def exit_code(state: dict[str, Any]) -> Exit:
    """What a script wants to know."""
    if state["status"] == "finished":
        return Exit.OK
    if state["status"] in ("failed", "cancelled"):
        return Exit.OURS if state["cause"] in _OURS else Exit.FAILED
    return Exit.UNFINISHED


def describe(state: dict[str, Any], page: str) -> str:
    """The submission in a few lines: its answer, or what went wrong and how to repeat it here; last its page."""
    head = f"Submission {state['competition']}/{state['phase']}/{state['number']} ({state['filename']})"
    lines = [f"{head}: {state['status']}"]
    if expected := state["expected_start"]:
        window = f"{moment_words(expected['earliest'])} and {moment_words(expected['latest'])}"
        lines.append(f"  should start between {window}, likely at {moment_words(expected['likely'])}")
    if state["score"] is not None:
        half = "" if state["half_width"] is None else f" ± {state['half_width']:.4f}"
        lines.append(f"  score {decimal_words(state['score'], 4)}{half}")
    lines += _describe_answer(state)
    for run in state["runs"]:
        lines += _describe_run(state, run)
    return "\n".join([*lines, f"  {page}"])


def _describe_answer(state: dict[str, Any]) -> list[str]:
    """Places and changes of a score, or what a smoke test says."""
    answer, smoke = state["answer"], state["smoke"]
    lines = []
    if smoke:
        half = "" if smoke["half_width"] is None else f" ± {smoke['half_width']:.4f}"
        lines.append(f"  score {decimal_words(smoke['score'], 4)}{half} on {smoke['tasks']} public tasks")
        lines += [f"  {smoke['projection']}"] if smoke["projection"] else []
        name = f"{state['competition']}/{state['phase']}/{state['number']}"
        lines.append(f"  Submit it for scoring, without another upload: anyshot again {name}")
    if answer:
        lines += [f"  {place['league_name']}: {place['words']}" for place in answer["places"]]
        lines += [f"  {change['words']}" for change in answer["changes"]]
    return lines


def _describe_run(state: dict[str, Any], run: dict[str, Any]) -> list[str]:
    if run["verdict"] in (None, "OK"):
        return []
    lines = describe_failure(run)
    if run["cause"] == "participant" and run.get("reproduce"):
        data = "public data" if " --data " in run["reproduce"] else "generated pictures"
        lines.append(f"  Repeat it here, on {data}: {run['reproduce']}")
    return lines


def describe_failure(failed: Mapping[str, Any]) -> list[str]:
    """Why a run, or a further evaluation, failed: its verdict, its task, its traceback."""
    lines = [f"  {failed['verdict']}: {failed['message']}"]
    if failed["task_index"] is not None:
        lines.append(
            f"  at task number {failed['task_index'] + 1}: {failed['task_ways']}-way, {failed['task_shots']}-shot"
        )
    return lines + [f"    {line}" for line in failed["detail"].splitlines()]
