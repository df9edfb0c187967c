"""`anyshot leagues`, `anyshot answer`, `anyshot entries`: the leagues of a competition and what one has in them."""

import json
from typing import Any

import click

from anyshot_core.client import Client
from anyshot_core.words import decimal_words
from anyshot_starting_kit.cli.account import connection_options, which_submission

STATES = {"admitted": "your team may have an entry", "declared": "waiting", "refused": "refused"}


@click.command()
@click.argument("competition")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@connection_options
def leagues(client: Client, competition: str, as_json: bool) -> None:
    """Show the leagues of COMPETITION, what each asks, and whether your team may have an entry in it."""
    found = client.leagues(competition)
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    for league in found:
        click.echo(f"{league['league']}: {league['name']}. {league['description']}".rstrip())
        click.echo(f"  {STATES[league['status']]}. {league['reason']}".rstrip())
        for question in league["questions"]:
            mine = (league["mine"] or {}).get(question["key"])
            said = "not answered" if mine is None else f"you answered: {mine}"
            click.echo(f"  {question['key']} ({question['answer']}): {question['label']} [{said}]")


@click.command()
@click.argument("competition")
@click.argument("league")
@click.argument("answers", nargs=-1, metavar="KEY=ANSWER ...")
@connection_options
def answer(client: Client, competition: str, league: str, answers: tuple[str, ...]) -> None:
    """Answer the questions of LEAGUE for yourself, like `qualifies=yes`. The organizers see the answers."""
    said: dict[str, str] = {}
    for text in answers:
        key, sign, value = text.partition("=")
        if not sign:
            raise click.UsageError(f"Write an answer as KEY=ANSWER; found {text!r}.")
        said[key] = value
    shown = client.answer_league(competition, league, said)
    click.echo(f"{shown['name']}: {STATES[shown['status']]}. {shown['reason']}".rstrip())


@click.command()
@click.argument("target", metavar="COMPETITION/PHASE")
@click.option("--league", default="", help="With --choose: the league.")
@click.option(
    "--choose",
    default="",
    metavar="SUBMISSION",
    help="Let this submission, its number or id, count; `rule` undoes it.",
)
@click.option(
    "--withdraw",
    multiple=True,
    metavar="SUBMISSION",
    help="Withdraw this submission, its number or id, so that an earlier one stands again. May be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@connection_options
def entries(
    client: Client, target: str, league: str, choose: str, withdraw: tuple[str, ...], as_json: bool
) -> None:
    """Show your team's entries in a phase: one in each league, and which submission counts."""
    competition, slash, phase = target.partition("/")
    if not slash or bool(league) != bool(choose):
        raise click.UsageError("Give COMPETITION/PHASE, and --league and --choose together.")
    if withdraw and choose:
        raise click.UsageError("Give --withdraw or --choose, not both.")
    if withdraw:
        ids = [_meant(client, target, one) for one in withdraw]
        found = client.withdraw_entries(competition, phase, ids)
    elif choose:
        found = client.choose_entry(competition, phase, league, _chosen(client, target, choose))
    else:
        found = client.entries(competition, phase)
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    for row in found:
        click.echo(describe_entry(row))
        if better := row["better"]:
            click.echo(f"  {better['words']}. {better['others']}".rstrip())
        for choice in row["choices"]:
            score = "" if choice["score"] is None else f" with {decimal_words(choice['score'])}"
            click.echo(f"  may be chosen: no. {choice['number']}{score}, --choose {choice['number']}")
    if not found:
        click.echo("Your team has no entry in this phase yet.")


def _chosen(client: Client, target: str, choose: str) -> str | None:
    """The id of the submission that is chosen; None for the rule."""
    return None if choose == "rule" else _meant(client, target, choose)


def _meant(client: Client, target: str, named: str) -> str:
    """The id of the submission that is meant, of this phase where only its number is given."""
    return which_submission(client, f"{target}/{named.removeprefix('#')}" if len(named) < 32 else named)


def describe_entry(row: dict[str, Any]) -> str:
    """One line for one entry: number, score and rank where they are shown, state, how it was chosen."""
    if row["number"] is None:  # it would tell a score that is hidden
        which, how = row["choice_words"], ""
    else:
        which, how = f"no. {row['number']}", f" ({row['choice_words']})"
    score = "" if row.get("score") is None else f" with {decimal_words(row['score'])}"
    rank = "" if row.get("rank") is None else f", rank {row['rank']}"
    line = f"{row['league_name']}: {which}{score}{rank}, {row['state_words']}{how}"
    return f"{line}. {row['reason']}" if row["reason"] else line
