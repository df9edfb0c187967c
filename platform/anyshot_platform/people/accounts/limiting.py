"""Limits of those who are no viewers yet: who log in, sign up, or ask for a link by e-mail."""

from fastapi import Request

from anyshot_platform.foundation.errors import Forbidden
from anyshot_platform.foundation.services import Services
from anyshot_platform.people.accounts.service import account_key
from anyshot_platform.people.rate_limits.service import spend

DEVICE_COOKIE = "anyshot_device"


def limit_log_ins(request: Request, services: Services, username: str) -> None:
    """Count a log-in: by address and account, by address over all names, by account over all addresses.

    A browser in which the account was logged in before is counted for itself, so that guesses of others lock no owner
    out. Counted in a transaction of its own: a failed log-in must not roll its count back.
    """
    address = client_address(request)
    with services.database.reading() as session:
        who = account_key(session, username)
    known = services.signer.verify("device", who, request.cookies.get(DEVICE_COOKIE, ""))
    spend(services, "log_ins", f"{address} {who} {known}")
    spend(services, "log_ins", f"address {address} {known and who}", share=5)
    spend(services, "log_ins", f"account {who} {known and address}", share=10)


def limit_sign_ups(request: Request, services: Services) -> None:
    """Count a sign-up; refuse it where the site takes none."""
    if services.settings.sign_up == "closed":
        raise Forbidden("This site takes no new accounts. Please ask its administrators.")
    spend(services, "sign_ups", client_address(request))


def limit_links(request: Request, services: Services) -> None:
    """Count somebody who asks for a link by e-mail."""
    spend(services, "links_asked", client_address(request))


def limit_links_of_account(services: Services, name: str) -> None:
    """Count a link that is sent to an account, whoever asks: mailboxes are not flooded."""
    with services.database.reading() as session:
        who = account_key(session, name)
    spend(services, "links_sent", who)


def client_address(request: Request) -> str:
    """The address that asks; behind a trusted proxy (`trusted_proxies`) the one that the proxy saw."""
    return request.client.host if request.client else "unknown"
