"""`anyshot discussion`: the threads of a competition, from a shell."""

import json
import sys
from typing import Any

import click

from anyshot_core.client import Client
from anyshot_core.taskserver.loglines import clean
from anyshot_core.words import count_of, moment_words
from anyshot_starting_kit.cli.account import connection_options


@click.command()
@click.argument("competition")
@click.argument("thread", required=False)
@click.option("--search", metavar="WORDS", default="", help="Only threads that hold these words.")
@click.option("--page", type=click.IntRange(1), default=1, help="Which page of the list.")
@click.option("--ask", metavar="TITLE", help="Start a thread with this title.")
@click.option("--reply", is_flag=True, help="Reply in THREAD.")
@click.option("--edit", type=click.IntRange(1), metavar="POST", help="Rewrite your post of this number.")
@click.option("--accept", type=click.IntRange(1), metavar="POST", help="Accept this post as the answer.")
@click.option("--remove", type=click.IntRange(1), metavar="POST", help="Remove this post.")
@click.option("--pin", is_flag=True, help="Pin THREAD: it stands first.")
@click.option("--close", is_flag=True, help="Close THREAD: participants write no more in it.")
@click.option("--off", is_flag=True, help="With --accept, --remove, --pin or --close: undo it.")
@click.option("--text", help="Text of the post, in Markdown; without it, standard input is read.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@connection_options
def discussion(
    client: Client,
    competition: str,
    thread: str | None,
    search: str,
    page: int,
    ask: str | None,
    reply: bool,
    edit: int | None,
    accept: int | None,
    remove: int | None,
    pin: bool,
    close: bool,
    off: bool,
    text: str | None,
    as_json: bool,
) -> None:
    """List the threads of COMPETITION, or read THREAD: its id, or the end of it.

    You write under your user name, as on the page. Only the author of a thread, or an organizer, accepts an answer.
    Authors remove their own posts, organizers any. Without its first post only organizers see the thread, unless its
    author removed that post after others had answered.
    Only organizers put a post back (--remove POST --off), and pin and close threads.
    """
    acts = [
        act
        for act in (ask, reply or None, edit, accept, remove, pin or None, close or None)
        if act is not None
    ]
    if len(acts) > 1 or (bool(acts) and bool(thread) == (ask is not None)):
        raise click.UsageError(
            "Give --ask without THREAD, or THREAD with one of --reply, --edit, --accept, --remove, --pin and --close."
        )
    if off and not (accept or remove or pin or close):
        raise click.UsageError("Give --off with --accept, --remove, --pin or --close: it undoes them.")
    if thread is None and ask is None:
        found = client.threads(competition, search, page)
        click.echo(json.dumps(found, indent=1) if as_json else _list(found, page))
        return
    thread_id = _find(client, competition, thread) if thread else ""
    if ask is not None:
        shown = client.begin_thread(competition, ask, _text(text))
    elif reply:
        shown = client.reply(competition, thread_id, _text(text))
    else:
        shown = client.thread(competition, thread_id)
        if edit:
            post = _post(shown, edit)
            shown = client.edit_post(competition, thread_id, post["id"], _text(text), post["etag"])
        if accept:
            shown = _accept(client, competition, shown, accept, off)
        if remove:
            act = client.restore_post if off else client.remove_post
            shown = act(competition, thread_id, _post(shown, remove)["id"])
        if pin or close:
            shown = client.moderate_thread(competition, shown, **{"pinned" if pin else "locked": not off})
    click.echo(json.dumps(shown, indent=1) if as_json else _show(shown))
    click.echo(client.thread_page(competition, shown["id"]), err=as_json)


def _accept(
    client: Client, competition: str, thread: dict[str, Any], number: int, off: bool
) -> dict[str, Any]:
    """Accept a post as the answer of the thread that was read, or take that back."""
    post = _post(thread, number)
    if off:
        return client.accept_no_longer(competition, thread["id"], post["id"])
    return client.accept_answer(competition, thread["id"], post["id"], thread["etag"])


def _text(given: str | None) -> str:
    return sys.stdin.read() if given is None else given


def _find(client: Client, competition: str, wanted: str) -> str:
    """The id of the one thread whose id ends so."""
    page, seen, hits = 1, 0, list[str]()
    while (found := client.threads(competition, "", page))["threads"]:
        hits += [line["id"] for line in found["threads"] if line["id"].endswith(wanted)]
        seen += len(found["threads"])
        if seen >= found["total"]:
            break
        page += 1
    if len(set(hits)) != 1:
        raise click.UsageError(
            f"{len(set(hits)) or 'No'} threads of {competition} have an id that ends in {wanted}."
        )
    return hits[0]


def _post(thread: dict[str, Any], number: int) -> dict[str, Any]:
    if number > len(thread["posts"]):
        raise click.UsageError(f"This thread has {count_of(len(thread['posts']), 'post')}.")
    return thread["posts"][number - 1]


def _list(found: dict[str, Any], page: int) -> str:
    lines = [
        f"{line['id'][-8:]}  {moment_words(line['last_post_at']):22}  {count_of(line['replies'] + 1, 'post'):>9}  "
        f"{'answered' if line['answered'] else '        '}  {_safe(line['title'])} ({line['author']})"
        f"{' (removed)' if line.get('removed') else ''}"
        + (f"\n          {_safe(line['excerpt'])}" if line["excerpt"] else "")
        for line in found["threads"]
    ]
    return "\n".join([*lines, f"Page {page}. Threads in all: {found['total']}."])


def _show(thread: dict[str, Any]) -> str:
    posts = [
        f"\n#{number}  {post['author']}{' (organizer)' if post['by_organizer'] else ''}, "
        f"{moment_words(post['created_at'])}{', edited' if post['edited_at'] else ''}"
        f"{', accepted answer' if post['accepted'] else ''}\n"
        + ("(removed)" if post["removed"] else _safe(post["body"]))
        for number, post in enumerate(thread["posts"], 1)
    ]
    marks = "".join(
        f" ({word})"
        for name, word in (("pinned", "pinned"), ("locked", "closed"), ("removed", "removed"))
        if thread.get(name)
    )
    return "\n".join([_safe(thread["title"]) + marks, *posts])


def _safe(text: str) -> str:
    """The text without what a terminal would obey: others wrote it."""
    return "\n".join(map(clean, text.splitlines()))
