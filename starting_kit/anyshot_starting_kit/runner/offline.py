"""Says at once, and in words, what a sandbox without a network cannot do, instead of leaving it to a time-out."""

import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from anyshot_core.wire.advice import NO_INSTALL, NO_NETWORK

_HUB = "huggingface_hub"  # told to stay offline, it does not try, so that no error of ours is behind its own
_OFFLINE = ("OfflineModeIsEnabled", "LocalEntryNotFoundError")


class NoNetwork(OSError):
    """Raised by every attempt to look up or reach a host."""


def tried_to_download(error: BaseException | None) -> bool:
    """Whether a failure comes from the missing network, whatever the library made of it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, NoNetwork) or isinstance(getattr(error, "reason", None), NoNetwork):
            return True
        if type(error).__name__ in _OFFLINE and type(error).__module__.startswith(_HUB):
            return True
        error = error.__cause__ or error.__context__
    return False


def explain_limits() -> None:
    """Replace look-ups, connections and installers by errors that tell what to do.

    Each has the name of what it stands for: learners are pickled with the functions that they refer to, by name.
    """
    for name in ("getaddrinfo", "gethostbyname", "create_connection"):
        setattr(socket, name, _named("socket", name, lambda *_, **__: _no_network()))
    real_connect = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX:
            raise NoNetwork(NO_NETWORK)
        real_connect(self, address)

    socket.socket.connect = _named("socket", "socket.connect", connect)  # type: ignore[method-assign]
    os.system = _named("os", "system", _guarded_system(os.system))
    start = _guarded_start(subprocess.Popen.__init__)
    subprocess.Popen.__init__ = _named("subprocess", "Popen.__init__", start)  # type: ignore[method-assign]


def _named(module: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    function.__module__, function.__qualname__, function.__name__ = module, name, name.rpartition(".")[2]
    return function


def _no_network() -> Any:
    raise NoNetwork(NO_NETWORK)


def _guarded_system(real: Callable[[str], int]) -> Callable[[str], int]:
    def system(command: str) -> int:
        if _installs(command):
            print(NO_INSTALL, file=sys.stderr)
            return 1
        return real(command)

    return system


def _guarded_start(real: Callable[..., None]) -> Callable[..., None]:
    def start(self: Any, args: Any, *rest: Any, **options: Any) -> None:
        if _installs(args):
            raise OSError(NO_INSTALL)
        real(self, args, *rest, **options)

    return start


def _installs(command: Any) -> bool:
    """Whether a command is pip, conda or apt asked to install something."""
    try:
        words = shlex.split(command) if isinstance(command, str) else [os.fspath(word) for word in command]
    except (ValueError, TypeError):
        return False
    texts = [word.decode(errors="replace") if isinstance(word, bytes) else word for word in words]
    names = {text.rsplit("/", 1)[-1] for text in texts}
    return "install" in names and bool(names & {"pip", "pip3", "conda", "mamba", "apt", "apt-get", "uv"})
