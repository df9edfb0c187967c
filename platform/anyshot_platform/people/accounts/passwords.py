"""Passwords: argon2id, and rules against the ones that everybody tries first."""

from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from anyshot_platform.foundation.errors import Invalid

SHORTEST = 10
LONGEST = 200
# The commonest passwords of ten characters and more in published leaks, and ours to be guessed.
_COMMON = frozenset(
    (
        "1234567890",
        "qwertyuiop",
        "123456789a",
        "password12",
        "password123",
        "passw0rd123",
        "1q2w3e4r5t",
        "0987654321",
        "q1w2e3r4t5",
        "letmein123",
        "welcome123",
        "iloveyou12",
        "administrator",
        "changeme123",
        "anyshot123",
        "anyshotanyshot",
    )
)
_hasher = PasswordHasher()


@cache
def _nobodys_hash() -> str:
    """Verified against when there is no such user, so that the time to answer does not tell."""
    return _hasher.hash("nobody has this password")


class WeakPassword(Invalid):
    """The password breaks a rule; the message says which."""

    code = "weak_password"


def check_password(password: str, *personal: str) -> None:
    """Raise `WeakPassword` unless the password is long, not common, and not one's own name."""
    if len(password) < SHORTEST:
        raise WeakPassword(f"A password needs at least {SHORTEST} characters.", field="password")
    if len(password) > LONGEST:
        raise WeakPassword(f"A password has at most {LONGEST} characters.", field="password")
    folded = password.casefold()
    if folded in _COMMON or len(set(folded)) < 4:
        raise WeakPassword("This password is among the first that an attacker tries.", field="password")
    for text in personal:
        if len(text) > 3 and text.casefold() in folded and len(folded) - len(text) < 6:
            raise WeakPassword(
                "A password must not be your name or address with little added.", field="password"
            )


def hash_password(password: str) -> str:
    """Return the argon2id hash, parameters and salt included."""
    return _hasher.hash(password)


def verify_password(stored: str | None, password: str) -> bool:
    """Whether the password fits; takes equally long where there is no hash."""
    try:
        return _hasher.verify(stored or _nobodys_hash(), password[:LONGEST]) and stored is not None
    except (VerificationError, InvalidHashError):
        return False


def is_outdated(stored: str) -> bool:
    """Whether the hash was made with weaker parameters than today's."""
    return _hasher.check_needs_rehash(stored)
