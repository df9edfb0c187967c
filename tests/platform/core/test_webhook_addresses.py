"""Webhooks reach no private network, however its address is written."""

import socket
from typing import Any

import pytest

from anyshot_platform.people.webhooks import delivery

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
    "64:ff9b:1::a00:1",
    "::ffff:0:10.0.0.1",
    "5f00::1",
    "192.88.99.1",
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
@pytest.mark.parametrize("public_first", [True, False])
def test_an_address_of_a_private_network_is_refused(
    address: str, public_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it stands among the addresses of a name."""
    found = ["93.184.216.34", address]
    name_server(monkeypatch, *(found if public_first else reversed(found)))
    with pytest.raises(delivery.ForbiddenAddress, match="private"):
        delivery.resolve("https://receiver.example.org/hook", private_allowed=False)


@pytest.mark.parametrize("port", [0, 22, 25, 81, 445, 1023])
def test_ports_of_other_services_are_refused(port: int) -> None:
    with pytest.raises(delivery.ForbiddenAddress, match=f"{port} belongs"):
        delivery.parse_address(f"https://receiver.example.org:{port}/")


@pytest.mark.parametrize("port", [80, 443, 1024, 8443])
def test_other_ports_are_reached(port: int) -> None:
    assert delivery.parse_address(f"http://receiver.example.org:{port}/") == ("receiver.example.org", port)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1"])
def test_a_public_one_is_reached(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name_server(monkeypatch, address)
    assert delivery.resolve("https://receiver.example.org/", private_allowed=False) == address
