"""Tables that organizers and participants download: a spreadsheet opens them without running anything."""

import pytest

from anyshot_platform.foundation.tables import Form, write


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-1+1", "-2+cmd|' /C calc'!A0", "@SUM(A1)", "\tx", "\r=1"])
def test_what_begins_like_a_formula_is_a_text(text: str) -> None:
    assert f"'{text}" in write([{"team": text}], ["team"], Form.CSV).decode()


@pytest.mark.parametrize("text", ["-0.25", "+3", "-1e-5", "a-b", ""])
def test_numbers_and_plain_texts_stay_as_they_are(text: str) -> None:
    written = write([{"team": text, "n": 1}], ["team", "n"], Form.CSV).decode()
    assert written.splitlines()[1] == f"{text},1"
