"""The platform's public API, as participants' programs use it.

```python
with Client("https://competition.example", token) as client:
    submission = client.submit(Path("my-method.zip"), "cross-domain", "feedback")
    for state in client.follow(submission["id"]):
        print(state["status"])
```
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import httpx

from anyshot_core.data.digests import digest_file
from anyshot_core.data.download import RemoteFile, fetch
from anyshot_core.data.layout import SUFFIX

ENDED = ("finished", "failed", "cancelled")
_RETRIES = 3
OUTAGE_SECONDS = 600.0  # for which one who follows asks again, as workers do: an upgrade or a reboot is done
_TRIES_OF_A_PART = 6  # without a byte more: with the pauses between, half a minute
_TRIES_WHEN_BUSY = 12  # with the pauses between, two minutes
_LONG = httpx.Timeout(30.0, read=1800.0)  # for answers that come when a file was stored, or made


class ClientError(RuntimeError):
    """Base of what can go wrong between here and the platform."""


class Unreachable(ClientError):
    """The platform does not answer, or answers with a fault of its own."""


class SiteBusy(Unreachable):
    """The platform has no room for the request now, and did nothing of it."""


class PerhapsQueued(Unreachable):
    """A submission was sent and no answer came: it may be queued, or not."""


class NotAllowed(ClientError):
    """No token, a wrong one, or one without the right.

    `log_in` says whether another log-in helps, `scope` which right its token has to have.
    """

    def __init__(self, message: str, *, log_in: bool = False, scope: str = "") -> None:
        super().__init__(message)
        self.log_in, self.scope = log_in, scope


class CodeNeeded(NotAllowed):
    """The password is right, and the account asks for a code of its second factor too."""


class Refused(ClientError):
    """The platform says no; `code` is stable, `details` are its other fields, such as the `checks` of a bad zip."""

    def __init__(self, message: str, code: str, details: dict[str, Any]) -> None:
        super().__init__(message)
        self.code, self.details = code, details


@dataclass(frozen=True)
class _Patience:
    """For how many seconds of an outage reading is tried again, and who hears of it."""

    seconds: float
    tell: Callable[[str], object]


class Client:
    """A connection with a token. Methods return the API's JSON and raise `ClientError`."""

    def __init__(
        self,
        server: str,
        token: str | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
        wait: float = 1.0,
    ) -> None:
        """`wait` is the first pause in seconds before a broken request is tried again; it doubles each time.

        Where a dangerous act needs password or code again, `ask_for_proof` is called for it, if it is set.
        """
        self.ask_for_proof: Callable[[], str] | None = None
        headers = {"Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._wait = wait
        self._patience: _Patience | None = None
        self._http = httpx.Client(
            base_url=server.rstrip("/"), headers=headers, timeout=httpx.Timeout(30.0), transport=transport
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def sign_up(self, username: str, email: str, password: str) -> dict[str, Any]:
        """Create an account; sign in with `log_in` afterwards."""
        return self._ask("POST", "/users", json={"username": username, "email": email, "password": password})

    def log_in(
        self,
        username: str,
        password: str,
        token_name: str = "anyshot command",
        *,
        organize: bool = False,
        code: str = "",
    ) -> str:
        """A new API token, for organizers' commands too where asked for; raises `CodeNeeded` where a `code` is."""
        body: dict[str, Any] = {"username": username, "password": password, "token_name": token_name}
        body["organize"] = organize
        if code:
            body["code"] = code
        return self._ask("POST", "/tokens/log-in", json=body)["secret"]

    def prove(self, proof: str) -> None:
        """Say password or code again, where a dangerous act was refused with the code `prove`."""
        self._ask("POST", "/me/proof", json={"proof": proof})

    def me(self) -> dict[str, Any]:
        return self._ask("GET", "/me")

    def my_data(self) -> dict[str, Any]:
        """All that the platform holds about one's account."""
        return self._ask("GET", "/me/data")

    def sandboxes(self) -> list[dict[str, Any]]:
        """What submissions can import in each sandbox image of the site."""
        return self._ask("GET", "/sandbox")

    def weights(self) -> list[dict[str, Any]]:
        """The pretrained weights that the site offers to runs."""
        return self._ask("GET", "/weights")

    def announcements(self, slug: str) -> list[dict[str, Any]]:
        """What the organizers told all participants, newest first."""
        return self._ask("GET", f"/competitions/{slug}/announcements")

    def competitions(self) -> list[dict[str, Any]]:
        return self._ask("GET", "/competitions")

    def competition(self, slug: str) -> dict[str, Any]:
        return self._ask("GET", f"/competitions/{slug}")

    def receipt_key(self) -> dict[str, Any]:
        """The public key that verifies the site's receipts."""
        return self._ask("GET", "/receipt-key")

    def join(self, slug: str, *, accepts_terms: bool) -> dict[str, Any]:
        return self._ask("POST", f"/competitions/{slug}/join", json={"accepts_terms": accepts_terms})

    def muted(self) -> list[str]:
        """The short names of the competitions of which one hears nothing."""
        return self._ask("GET", "/notifications/delivery")["muted"]

    def mute(self, slug: str, *, muted: bool) -> list[str]:
        """Mute a competition, or hear of it again; the short names of those that are muted then."""
        return self._ask("PUT" if muted else "DELETE", f"/competitions/{slug}/mute")["muted"]

    def threads(self, slug: str, words: str = "", page: int = 1) -> dict[str, Any]:
        """A page of a competition's threads; with `words`, of those that hold them."""
        return self._ask("GET", f"/competitions/{slug}/discussion", params={"q": words, "page": page})

    def thread(self, slug: str, thread_id: str) -> dict[str, Any]:
        return self._ask("GET", f"/competitions/{slug}/discussion/{thread_id}")

    def thread_page(self, slug: str, thread_id: str) -> str:
        """The address of a thread's page."""
        return f"{str(self._http.base_url).rstrip('/')}/competitions/{slug}/discussion/{thread_id}"

    def begin_thread(self, slug: str, title: str, body: str) -> dict[str, Any]:
        return self._ask("POST", f"/competitions/{slug}/discussion", json={"title": title, "body": body})

    def reply(self, slug: str, thread_id: str, body: str) -> dict[str, Any]:
        return self._ask("POST", f"/competitions/{slug}/discussion/{thread_id}/posts", json={"body": body})

    def edit_post(self, slug: str, thread_id: str, post_id: str, body: str, etag: str) -> dict[str, Any]:
        """Write a post anew; refused where it is no longer as it was read."""
        path = f"/competitions/{slug}/discussion/{thread_id}/posts/{post_id}"
        return self._ask("PATCH", path, json={"body": body}, headers={"If-Match": etag})

    def accept_answer(self, slug: str, thread_id: str, post_id: str, etag: str) -> dict[str, Any]:
        """Accept a post as the answer; refused where another one was accepted since the thread was read."""
        path = f"/competitions/{slug}/discussion/{thread_id}/posts/{post_id}/accepted"
        return self._ask("PUT", path, headers={"If-Match": etag})

    def accept_no_longer(self, slug: str, thread_id: str, post_id: str) -> dict[str, Any]:
        """Take back that a post was accepted as the answer."""
        return self._ask("DELETE", f"/competitions/{slug}/discussion/{thread_id}/posts/{post_id}/accepted")

    def remove_post(self, slug: str, thread_id: str, post_id: str) -> dict[str, Any]:
        """Remove a post: its author may, and organizers."""
        return self._ask("DELETE", f"/competitions/{slug}/discussion/{thread_id}/posts/{post_id}")

    def restore_post(self, slug: str, thread_id: str, post_id: str) -> dict[str, Any]:
        """Put a removed post back: organizers may."""
        return self._ask("POST", f"/competitions/{slug}/discussion/{thread_id}/posts/{post_id}/restore")

    def moderate_thread(self, slug: str, thread: dict[str, Any], **wanted: bool) -> dict[str, Any]:
        """Pin or close a thread as it was read (`pinned`, `locked`): organizers may."""
        return self._ask(
            "PUT",
            f"/competitions/{slug}/discussion/{thread['id']}/moderation",
            json={"pinned": thread["pinned"], "locked": thread["locked"], **wanted},
            headers={"If-Match": thread["moderation_etag"]},
        )

    def quota(self, slug: str, phase: str) -> dict[str, Any]:
        return self._ask("GET", f"/competitions/{slug}/phases/{phase}/quota")

    def outlook(self, slug: str, phase: str) -> dict[str, Any]:
        """What counts for one's team in an open phase, what runs, what is left, until when a score is back."""
        return self._ask("GET", f"/competitions/{slug}/phases/{phase}/outlook")

    def leagues(self, slug: str) -> list[dict[str, Any]]:
        """The leagues with their questions, one's own answers and the team's standing."""
        return self._ask("GET", f"/competitions/{slug}/leagues")

    def answer_league(self, slug: str, league: str, answers: dict[str, str]) -> dict[str, Any]:
        """Answer a league's questions for oneself."""
        return self._ask("PUT", f"/competitions/{slug}/leagues/{league}/answers", json={"answers": answers})

    def entries(self, slug: str, phase: str) -> list[dict[str, Any]]:
        """What one's team has in each league of a phase."""
        return self._ask("GET", f"/competitions/{slug}/phases/{phase}/entries")

    def choose_entry(
        self, slug: str, phase: str, league: str, submission: str | None
    ) -> list[dict[str, Any]]:
        """Choose which submission counts in a league; None goes back to the phase's rule."""
        body = {"submission": submission}
        return self._ask("PUT", f"/competitions/{slug}/phases/{phase}/entries/{league}", json=body)

    def withdraw_entries(self, slug: str, phase: str, submissions: list[str]) -> list[dict[str, Any]]:
        """Withdraw submissions of one's team to a phase in one act."""
        body = {"submissions": submissions}
        return self._ask("POST", f"/competitions/{slug}/phases/{phase}/entries/withdrawals", json=body)

    def fact_sheet(self, slug: str) -> dict[str, Any]:
        """One's team's fact sheet, with the questions."""
        return self._ask("GET", f"/competitions/{slug}/fact-sheet")

    def save_fact_sheet(
        self, slug: str, answers: dict[str, str], *, hand_in: bool, public: bool | None = None
    ) -> dict[str, Any]:
        """Keep a draft of the fact sheet, or hand it in; where nothing is said, whether it is `public` stays."""
        body = {"answers": answers, "hand_in": hand_in, **({} if public is None else {"public": public})}
        return self._ask("PUT", f"/competitions/{slug}/fact-sheet", json=body)

    def leaderboard(
        self, slug: str, phase: str, league: str | None = None, offset: int = 0
    ) -> dict[str, Any]:
        """A page of a league's board (the first league's when left out)."""
        asked = {"offset": offset} | ({"league": league} if league else {})
        return self._ask("GET", f"/competitions/{slug}/phases/{phase}/leaderboard", params=asked)

    def submit(
        self,
        archive: Path,
        competition: str,
        phase: str,
        *,
        comment: str = "",
        leagues: tuple[str, ...] = (),
        fact_sheet: dict[str, Any] | None = None,
        smoke: bool = False,
        on_sent: Callable[[int, int], object] = lambda sent, total: None,
    ) -> dict[str, Any]:
        """Submit a zip; one that the team has submitted before is not sent again, a broken upload goes on.

        `on_sent` hears bytes sent and bytes in all. Raises Refused with code "bad_archive", "quota_used_up", ...., and
        PerhapsQueued where the last request broke off.
        """
        body = {
            "comment": comment,
            "leagues": list(leagues),
            "fact_sheet": fact_sheet or {},
            "smoke": smoke,
        }
        path = f"/competitions/{competition}/phases/{phase}/submissions"
        try:
            return self._queue(path, {"digest": digest_file(archive), **body})
        except Refused as refusal:
            if refusal.code != "unknown_zip":
                raise
        try:
            return self._submit_upload(archive, path, body, on_sent)
        except Refused as refusal:
            if refusal.code != "not_found":
                raise
        return self._submit_upload(archive, path, body, on_sent)  # another command used the one gone on with

    def _submit_upload(
        self, archive: Path, path: str, body: dict[str, Any], on_sent: Callable[[int, int], object]
    ) -> dict[str, Any]:
        upload = self.upload(archive, on_sent)
        return self._queue(path, {"upload_id": upload["id"], **body})

    def _queue(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask for a submission to be queued. Raises `PerhapsQueued` where that was sent and not answered."""
        try:
            return self._keeping_place("POST", path, json=body, timeout=_LONG)
        except SiteBusy:
            raise
        except Unreachable as failure:
            if isinstance(failure.__cause__, httpx.ConnectError | httpx.ConnectTimeout):
                raise  # nothing was sent
            told = "The submission may be queued all the same: look at yours before you submit again."
            raise PerhapsQueued(f"{failure} {told}") from failure

    def submit_again(
        self,
        digest: str,
        competition: str,
        phase: str,
        *,
        comment: str,
        leagues: tuple[str, ...],
        smoke: bool,
    ) -> dict[str, Any]:
        """Submit a zip that the team has submitted before, by its sha-256. Raises as `submit` does."""
        body = {"digest": digest, "comment": comment, "leagues": list(leagues), "smoke": smoke}
        return self._queue(f"/competitions/{competition}/phases/{phase}/submissions", body)

    def compare(self, submission_id: str, other_id: str) -> dict[str, Any]:
        """What the board's model says of two submissions to one phase: the first minus the second."""
        return self._ask("GET", f"/submissions/{submission_id}/compare/{other_id}")

    def data(self, competition: str) -> dict[str, Any]:
        """The pools of a competition, its public datasets, and how to split them at home."""
        return self._ask("GET", f"/competitions/{competition}/data")

    def fetch_dataset(
        self, competition: str, dataset: dict[str, Any], folder: Path, on_bytes: Callable[[int], None]
    ) -> Path:
        """A public dataset as a pack in `folder`: continued where it broke off, compared with its sha-256.

        Raises `anyshot_core.data.download.DownloadError`.
        """
        path = f"api/v1/competitions/{competition}/data/{dataset['digest']}/pack"
        file = RemoteFile(
            str(self._http.base_url.join(path)),
            f"{dataset['name']}{SUFFIX}",
            int(dataset["size"]),
            sha256=dataset["digest"],
        )
        return fetch(self._http, file, folder, on_bytes)

    def upload_pack(
        self, pool: str, pack: Path, on_sent: Callable[[int, int], object] = lambda sent, total: None
    ) -> dict[str, Any]:
        """Send a pack for a pool; one that was broken off before is gone on with. The site checks and keeps it."""
        upload = self.upload(pack, on_sent, f"/pools/{pool}/uploads")
        return self._ask("POST", f"/pools/{pool}/uploads/{upload['id']}/pack", timeout=_LONG)

    def send_bundle(self, content: bytes, slug: str = "", start: str | None = None) -> dict[str, Any]:
        """Send the zip of a competition's bundle; the short name of the draft that it became."""
        wanted = {"slug": slug} | ({"start": start} if start else {})
        return self._ask("PUT", "/bundles", content=content, params=wanted, timeout=_LONG)

    def own_submissions(self, **wanted: Any) -> dict[str, Any]:
        """A page of one's own submissions in all competitions; `wanted` as the API takes it."""
        return self._ask("GET", "/submissions", params=wanted)

    def annotate(self, submission_id: str, **changes: Any) -> dict[str, Any]:
        """Change a submission's `comment` or `tags`."""
        return self._ask("PATCH", f"/submissions/{submission_id}", json=changes)

    def page_of(self, submission_id: str) -> str:
        """The address of a submission's page."""
        return f"{str(self._http.base_url).rstrip('/')}/submissions/{submission_id}"

    def upload(
        self,
        archive: Path,
        on_sent: Callable[[int, int], object] = lambda sent, total: None,
        begin: str = "/uploads",
    ) -> dict[str, Any]:
        """Send a file in parts; raises `Unreachable` where the platform takes none of a part several times."""
        size = archive.stat().st_size
        body = {"filename": archive.name, "size": size, "digest": digest_file(archive)}
        upload = self._keeping_place("POST", begin, json=body)
        on_sent(upload["received"], size)
        in_vain = 0
        with archive.open("rb") as file:
            while (before := upload["received"]) < size:
                upload = self._send_part(file, upload, in_vain)
                in_vain = 0 if upload["received"] > before else in_vain + 1
                on_sent(upload["received"], size)
        return upload

    def _send_part(self, file: BinaryIO, upload: dict[str, Any], in_vain: int) -> dict[str, Any]:
        """Send what comes next, after so many tries in vain; how the upload stands then."""
        file.seek(upload["received"])
        part = file.read(upload["part_bytes"])
        path = f"/uploads/{upload['id']}"
        try:
            return self._ask("PUT", path, params={"offset": upload["received"]}, content=part, tries=1)
        except Unreachable as failure:
            if in_vain + 1 == _TRIES_OF_A_PART:
                raise Unreachable(f"The upload does not go on. {failure}") from failure
            self._pause(in_vain)
            return self._ask("GET", path)  # the platform kept what it got
        except Refused as refusal:
            if refusal.code != "wrong_offset" or in_vain + 1 == _TRIES_OF_A_PART:
                raise
            return {**upload, "received": refusal.details["received"]}

    def submission(self, submission_id: str) -> dict[str, Any]:
        return self._ask("GET", f"/submissions/{submission_id}")

    def evaluations(self, submission_id: str) -> list[dict[str, Any]]:
        """The further evaluations of a submission, point by point."""
        return self._ask("GET", f"/submissions/{submission_id}/evaluations")

    def follow(self, submission_id: str, every: float = 1.0) -> Iterator[dict[str, Any]]:
        """The submission again and again until it has ended, through outages; the last one yielded is its end."""
        while True:
            with self.outlasting():
                state = self.submission(submission_id)
            yield state
            if state["status"] in ENDED:
                return
            time.sleep(every)

    def log(
        self, submission_id: str, after: int = 0, limit: int = 1000, holding: str = ""
    ) -> list[dict[str, Any]]:
        """Lines after the line with id `after`; those that hold a text, in any case, where it is given."""
        asked = {"after": after, "limit": limit, **({"q": holding} if holding else {})}
        return self._ask("GET", f"/submissions/{submission_id}/log", params=asked)

    def confusions(self, submission_id: str) -> list[dict[str, Any]]:
        """Which classes are mixed up, of each dataset."""
        return self._ask("GET", f"/submissions/{submission_id}/confusion")

    def task(self, submission_id: str, number: int) -> dict[str, Any]:
        """A task of a smoke test, counted from 1, with what was predicted."""
        return self._ask("GET", f"/submissions/{submission_id}/tasks/{number}")

    def figures(self, submission_id: str) -> list[dict[str, Any]]:
        """Scores by dataset, domain, ways and shots; none where they are not shown."""
        return self._ask("GET", f"/submissions/{submission_id}/figures")

    def code(self, submission_id: str, file: str = "") -> dict[str, Any]:
        """The files of a submission's zip, and the text of one of them."""
        return self._ask("GET", f"/submissions/{submission_id}/code", params={"file": file})

    def code_changes(self, submission_id: str, since: int | None = None) -> dict[str, Any]:
        """What differs from the zip that the team submitted before, or from that of the submission of a number."""
        params = {} if since is None else {"since": since}
        return self._ask("GET", f"/submissions/{submission_id}/code/changes", params=params)

    def measures(self, submission_id: str, after: int = 0) -> list[dict[str, Any]]:
        """How the runs train and what they use over time: what came after the measure with id `after`."""
        return self._ask("GET", f"/submissions/{submission_id}/measures", params={"after": after})

    def cancel(self, submission_id: str) -> dict[str, Any]:
        return self._ask("POST", f"/submissions/{submission_id}/cancel")

    def download(self, submission_id: str, run_id: str, name: str, target: Path) -> None:
        """Write an artifact of a run to `target`."""
        self.fetch(f"/submissions/{submission_id}/runs/{run_id}/artifacts/{name}", target)

    def organize(
        self, method: str, competition: str, path: str, body: Any = None, params: dict[str, Any] | None = None
    ) -> Any:
        """A request under an organizer's addresses; `path` begins after `/competitions/COMPETITION/manage`."""
        return self.ask(method, f"/competitions/{competition}/manage{path}", body, params)

    def ask(self, method: str, path: str, body: Any = None, params: dict[str, Any] | None = None) -> Any:
        """A request under `/api/v1`."""
        options = {"json": body} if body is not None else {}
        return self._ask(method, path, params=params, **options)

    def fetch(self, path: str, target: Path, body: Any = None) -> None:
        """Write a file of the API to `target`; with a `body`, it is asked for by POST.

        What was there before stays until the new file has come whole.
        """
        try:
            self._fetch_once(path, target, body)
        except Refused as refusal:
            if not self._proved(refusal):
                raise
            self._fetch_once(path, target, body)

    def _fetch_once(self, path: str, target: Path, body: Any) -> None:
        asked: dict[str, Any] = {"method": "GET"} if body is None else {"method": "POST", "json": body}
        wish = {"url": f"/api/v1{path}", "follow_redirects": True, "timeout": _LONG, **asked}
        try:
            with self._http.stream(**wish) as answer:
                if answer.is_error:
                    answer.read()
                    raise _as_error(answer)
                with _written_whole(target) as file:
                    for piece in answer.iter_bytes(1 << 20):
                        file.write(piece)
        except httpx.HTTPError as error:
            raise Unreachable(f"{self._http.base_url} broke off ({error}).") from error

    @contextmanager
    def outlasting(
        self, tell: Callable[[str], object] = lambda words: None, seconds: float = OUTAGE_SECONDS
    ) -> Iterator[None]:
        """Inside, what is read is asked for again while the platform is away, for so many seconds.

        `tell` hears once that it is away, and once that it answers again. Inside another such block the outer one
        holds.
        """
        before = self._patience
        self._patience = before or _Patience(seconds, tell)
        try:
            yield
        finally:
            self._patience = before

    def _keeping_place(self, method: str, path: str, **options: Any) -> Any:
        """One request, sent again while the platform is busy, with the ticket (a cookie) that keeps its place."""
        for attempt in range(1, _TRIES_WHEN_BUSY):
            try:
                return self._ask(method, path, **options)
            except SiteBusy:
                self._pause(attempt)
        return self._ask(method, path, **options)

    def _ask(self, method: str, path: str, **options: Any) -> Any:
        """One request; reading goes on through an outage where `outlasting` says so."""
        if method != "GET" or self._patience is None:
            return self._ask_a_few_times(method, path, **options)
        try:
            return self._ask_a_few_times(method, path, **options)
        except Unreachable as failure:
            if self._patience.seconds <= 0:
                raise
            self._patience.tell(f"{failure} Trying again for {self._patience.seconds / 60:g} minutes.")
        answer = self._ask_until(time.monotonic() + self._patience.seconds, method, path, **options)
        self._patience.tell("The platform answers again.")
        return answer

    def _ask_until(self, end: float, method: str, path: str, **options: Any) -> Any:
        """Ask after ever longer pauses; raises `Unreachable` where the last answer before `end` is none."""
        attempt = 0
        while True:
            self._pause(attempt)
            try:
                return self._ask_a_few_times(method, path, **options)
            except Unreachable:
                if time.monotonic() >= end:
                    raise
                attempt += 1

    def _ask_a_few_times(self, method: str, path: str, *, tries: int = _RETRIES, **options: Any) -> Any:
        """One request. Reading is tried again when the connection or the server fails; writing is not."""
        again = tries if method == "GET" else 1
        for attempt in range(again):
            try:
                answer = self._http.request(method, f"/api/v1{path}", **options)
            except httpx.HTTPError as error:
                failure: ClientError = Unreachable(f"{self._http.base_url} does not answer ({error}).")
                failure.__cause__ = error
            else:
                if answer.is_success:
                    return answer.json()
                failure = _as_error(answer)
                if self._proved(failure):
                    return self._ask(method, path, tries=tries, **options)
            if not isinstance(failure, Unreachable) or attempt + 1 == again:
                raise failure
            self._pause(attempt)
        raise AssertionError("unreachable")

    def _proved(self, failure: ClientError) -> bool:
        """Whether a request was refused for want of a proof, and one was given: it can be sent again, once."""
        if not isinstance(failure, Refused) or failure.code != "prove" or self.ask_for_proof is None:
            return False
        ask, self.ask_for_proof = self.ask_for_proof, None  # what is refused again stays so
        self.prove(ask())
        return True

    def _pause(self, attempt: int) -> None:
        time.sleep(min(self._wait * 2 ** min(attempt, 10), 15.0))


@contextmanager
def _written_whole(target: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `target` once the block ends, and is gone if it fails."""
    if target.exists() and not target.is_file():  # a pipe or a device, as /dev/stdout: it cannot be replaced
        with target.open("wb") as file:
            yield file
        return
    whole = target.resolve()  # a link stays one
    whole.parent.mkdir(parents=True, exist_ok=True)
    part = whole.with_name(f".{whole.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(whole)
    finally:
        part.unlink(missing_ok=True)


def _as_error(answer: httpx.Response) -> ClientError:
    try:
        data = answer.json()
        message, code = str(data["message"]), str(data["error"])
    except (ValueError, KeyError, TypeError):
        data, message, code = {}, f"The platform answered {answer.status_code}.", "unknown"
    if answer.status_code >= 500:
        return SiteBusy(message) if code == "busy" else Unreachable(message)
    if code == "code_needed":
        return CodeNeeded(message)
    if answer.status_code == 401 or code == "forbidden":
        scope = str(data.get("scope", ""))
        return NotAllowed(message, log_in=answer.status_code == 401 or bool(scope), scope=scope)
    return Refused(
        message, code, {key: value for key, value in data.items() if key not in ("message", "error")}
    )
