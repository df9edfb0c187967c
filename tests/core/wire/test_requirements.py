"""The list of packages that a phase adds: which lines it may have, and the image that it names."""

import pytest

from anyshot_core.wire.requirements import PACKAGES_IMAGE, packages_image, read_requirements


def test_a_list_is_read_into_one_spelling_and_names_one_image() -> None:
    read = read_requirements("# for tables\nPretty_Table == 3.11.0  # why\n\neinops==0.8.2\n")
    assert read == ["einops==0.8.2", "pretty-table==3.11.0"]
    name = packages_image("cpu", read)
    assert PACKAGES_IMAGE.fullmatch(name)
    assert name == packages_image("cpu", read_requirements("pretty.table==3.11.0\neinops==0.8.2"))
    assert len({name, packages_image("gpu", read), packages_image("cpu", read[:1])}) == 3


@pytest.mark.parametrize(
    "line",
    [
        "einops",
        "einops>=0.8",
        "einops==0.*",
        "einops[torch]==0.8.2",
        "einops @ https://example.org/einops.whl",
        "https://example.org/einops.whl",
        "file:einops.whl",
        "./einops",
        "../einops-0.8.2-py3-none-any.whl",
        "-r more.txt",
        "--index-url https://example.org",
        "einops==0.8.2 --hash=sha256:00",
        "einops==0.8.2; python_version < '4'",
    ],
)
def test_a_line_that_is_no_package_with_its_version_is_named_and_the_right_form_told(line: str) -> None:
    with pytest.raises(ValueError) as refused:
        read_requirements(f"tabulate==0.9.0\n{line}")
    assert str(refused.value) == (
        f"line 2, “{line}”, is no package with its version: write a line like einops==0.8.2, without addresses, paths,"
        " options, ranges and extras"
    )


def test_a_package_is_named_once() -> None:
    with pytest.raises(ValueError, match="line 2 names a-b again: write each package once"):
        read_requirements("a.b==1\nA_B==2")
