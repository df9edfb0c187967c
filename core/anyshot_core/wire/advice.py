"""What a runner tells code that asks for what a sandbox lacks: sentences of ours, which may always be shown."""

NO_NETWORK = (
    "There is no network where submissions run. Put the file (weights, data, package) "
    "into your zip and read it from there, or take one of the pretrained weights that "
    "the site offers, which lie in /weights (anyshot weights list names them, with "
    "--site and the site's address); with timm use pretrained=False and load_state_dict."
)
NO_INSTALL = (
    "Nothing can be installed where submissions run. The page /sandbox of the site, and "
    "anyshot sandbox, list what can be imported; put any other package into your zip."
)


def advice_in(text: str) -> str:
    """The one of these sentences that a failure's text holds; empty for none."""
    words = " ".join(text.split())
    return next((advice for advice in (NO_NETWORK, NO_INSTALL) if advice in words), "")
