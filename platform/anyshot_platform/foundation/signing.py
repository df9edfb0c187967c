"""Keys derived from the site's secret, one a purpose, and what is signed with them."""

import hashlib
import hmac
import secrets


class Signer:
    """Signs with keys derived from one secret, so that a signature for one purpose is worthless for another."""

    def __init__(self, secret_key: str) -> None:
        self._root = secret_key.encode()

    def key(self, purpose: str) -> bytes:
        """The key of a purpose, 32 bytes."""
        return hmac.new(self._root, purpose.encode(), hashlib.sha256).digest()

    def sign(self, purpose: str, text: str) -> str:
        """A signature as 64 hex digits."""
        return hmac.new(self.key(purpose), text.encode(), hashlib.sha256).hexdigest()

    def verify(self, purpose: str, text: str, signature: str) -> bool:
        """Whether the signature is ours, in constant time."""
        return hmac.compare_digest(self.sign(purpose, text).encode(), signature.encode("utf-8", "replace"))


def new_secret() -> str:
    """A secret for a cookie or token: 43 characters, 256 bits."""
    return secrets.token_urlsafe(32)


def digest_secret(secret: str) -> str:
    """What we keep of a secret: its sha-256 (it is random, so no slow hash is needed)."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
