"""The servers that the suite stands on answer."""

import psycopg
import pytest
import redis
from selenium.webdriver import Chrome

from tests.services.containers import docker_answers
from tests.services.rotation import slice_of


def test_postgresql_gives_every_test_an_empty_database(postgres_url: str) -> None:
    with psycopg.connect(postgres_url.replace("+psycopg", "")) as connection:
        row = connection.execute("select count(*) from pg_tables where schemaname = 'public'").fetchone()
    assert row == (0,)


def test_redis_is_emptied(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0


@pytest.mark.usefixtures("docker_daemon")
def test_docker_answers() -> None:
    assert docker_answers()


def test_chromium_shows_a_page(browser: Chrome) -> None:
    browser.get("data:text/html,<title>anyshot</title>")
    assert browser.title == "anyshot"


def test_every_test_falls_into_exactly_one_slice() -> None:
    names = [f"tests/x.py::test[{i}]" for i in range(300)]
    slices = [slice_of(name, 4) for name in names]
    assert set(slices) == {0, 1, 2, 3}
    assert slices == [slice_of(name, 4) for name in names]
