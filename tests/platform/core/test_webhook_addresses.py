"""Webhooks reach no private network, however its address is written."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from anyshot_platform.webhooks import delivery

PRIVATE = [
    "127.0.0.1",
    "10.0.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "::1",
    "::127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::a00:1",
    "2002:a00:1::1",
    "2001:0:a00:1::1",
    "fec0::1",
    "fe80::1%1",
    "fd00::1",
    "ff02::1",
]


def name_server(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    def answer(*asked: Any, **named: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", answer)


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_of_a_private_network_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name_server(monkeypatch, "93.184.216.34", address)
    with pytest.raises(delivery.ForbiddenAddress, match="private"):
        delivery.resolve("https://receiver.example.org/hook", private_allowed=False)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1"])
def test_a_public_one_is_reached(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name_server(monkeypatch, address)
    assert delivery.resolve("https://receiver.example.org/", private_allowed=False) == address
