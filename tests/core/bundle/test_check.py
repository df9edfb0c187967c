"""model.py and config.json: parsed, never imported."""

import zipfile
from pathlib import Path

import pytest

from anyshot_core.bundle import CheckOutcome, RunConditions, check_bundle
from anyshot_core.bundle.config import BadConfig, EpisodeConfig, read_config
from anyshot_core.bundle.pack import pack_folder
from anyshot_core.bundle.source import ModuleNames, SourceProblem, read_names
from tests.core.bundle.archives import MODEL, usual


def failed(
    tmp_path: Path, files: dict[str, bytes], train_datasets: int | None = None
) -> list[tuple[str, str, str]]:
    (tmp_path / "bundle.zip").write_bytes(usual(files))
    report = check_bundle(tmp_path / "bundle.zip", conditions=RunConditions(train_datasets))
    return [(check.name, check.found, check.remedy) for check in report.failures]


def test_no_model_says_where_one_was_found(tmp_path: Path) -> None:
    ((name, found, remedy),) = failed(tmp_path, {"a/b/Model.py": MODEL, "c.txt": b""})
    assert name == "model" and found == "There is no model.py, but 'a/b/Model.py'."
    assert "root of the zip" in remedy


def test_a_model_in_capitals_is_to_be_renamed(tmp_path: Path) -> None:
    for top in ("", "method/"):
        ((_, found, remedy),) = failed(tmp_path, {f"{top}Model.py": MODEL, f"{top}old/model.py": MODEL})
        assert found == f"There is no model.py, but '{top}Model.py'."
        assert remedy == "Rename Model.py to model.py: capitals count."


def test_what_pack_leaves_out_is_named_where_a_zip_holds_it(tmp_path: Path) -> None:
    needless = (".git/objects/aa/b", ".git/HEAD", "venv/bin/python", "nets/.ipynb_checkpoints/n.py")
    files = dict.fromkeys(("__MACOSX/._model.py", ".DS_Store", "nets/venv.py", *needless), b"x" * (1 << 20))
    (tmp_path / "bundle.zip").write_bytes(usual({"model.py": MODEL, **files}))
    report = check_bundle(tmp_path / "bundle.zip")
    (warning,) = [check for check in report.checks if check.outcome is CheckOutcome.WARNING]
    assert report.ok and warning.remedy == "Leave this out; `anyshot pack FOLDER` does."
    assert warning.found == (
        "The zip holds .git (2.0 MiB), nets/.ipynb_checkpoints (1.0 MiB), venv (1.0 MiB), "
        "which no submission needs."
    )
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        archive.extractall(tmp_path / "folder")
    names = pack_folder(tmp_path / "folder", tmp_path / "packed.zip")
    assert names == ["model.py", "nets/venv.py"]


def test_syntax_error_names_the_line(tmp_path: Path) -> None:
    ((name, found, _),) = failed(tmp_path, {"model.py": MODEL + b"def f(:\n"})
    assert name == "syntax" and found == "model.py, line 3: invalid syntax (def f(:)"


def test_missing_class_is_named(tmp_path: Path) -> None:
    ((name, found, _),) = failed(tmp_path, {"model.py": b"class MyMetaLearner: pass\n"})
    assert name == "classes" and found == "model.py does not define MyLearner."


@pytest.mark.parametrize(
    "source",
    [
        "from impl import MyMetaLearner, MyLearner",
        "from impl import *",
        "import impl\nMyMetaLearner = impl.A\nMyLearner = impl.B",
        "from impl import A as MyMetaLearner\nfrom impl import B as MyLearner",
        "try:\n    from a import MyMetaLearner\nexcept ImportError:\n    pass\nif 1:\n    class MyLearner: pass",
        "MyMetaLearner, MyLearner = 1, 2",
        "with open('x') as f:\n    MyMetaLearner: type = int\n    MyLearner: type = int",
    ],
)
def test_ways_to_bind_the_classes(source: str) -> None:
    names = read_names(source.encode())
    assert isinstance(names, ModuleNames) and names.missing() == []


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    class MyMetaLearner: pass\n    class MyLearner: pass",
        "class A:\n    class MyLearner: pass",
        "",
    ],
)
def test_names_that_are_not_the_modules(source: str) -> None:
    names = read_names(source.encode())
    assert isinstance(names, ModuleNames) and "MyLearner" in names.missing()


HOSTILE_SOURCES = {
    "null byte": b"x = 1\0",
    "parentheses": b"(" * 5_000,
    "minus signs": b"-" * 200_000 + b"1",
    "encoding": b"# coding: no-such\n",
    "bytes": b"\xff\xfe\xff",
    "attributes": b"x" + b".a" * 100_000,
}


@pytest.mark.parametrize("source", HOSTILE_SOURCES.values(), ids=HOSTILE_SOURCES.keys())
def test_hostile_source_is_a_message_or_names(source: bytes) -> None:
    assert isinstance(read_names(source), SourceProblem | ModuleNames)


def test_nothing_is_imported(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    assert failed(tmp_path, {"model.py": MODEL + f"open({str(mark)!r}, 'w')\n".encode()}) == []
    assert not mark.exists()


def test_unknown_imports_are_a_warning(tmp_path: Path) -> None:
    (tmp_path / "bundle.zip").write_bytes(
        usual({"model.py": MODEL + b"import torch, helper, jax, os\n", "helper.py": b""})
    )
    report = check_bundle(tmp_path / "bundle.zip")
    assert report.ok
    (warning,) = [check for check in report.checks if check.outcome is CheckOutcome.WARNING]
    assert "imports jax," in warning.found


@pytest.mark.parametrize(
    ("source", "more", "ported"),
    [
        ("import tensorflow as tf\nimport gin\nfrom metadl.api.api import MetaLearner", (), True),
        ("import metadl.api.api as api, higher", (), True),
        ("import tensorflow as tf\nfrom src.meta import controller", ("src/meta.py", "config.gin"), True),
        ("import tensorflow as tf", ("net/config.gin",), False),  # 2021's settings lay at the root
        ("import dill", ("config.gin",), False),  # a zip of 2022 that kept its old settings
    ],
)
def test_a_submission_for_the_kit_of_2021_is_told_what_to_change(
    tmp_path: Path, source: str, more: tuple[str, ...], ported: bool
) -> None:
    """Bundles of that competition: no package that is put into the zip would help them."""
    files = {"model.py": MODEL + source.encode() + b"\n", **dict.fromkeys(more, b"")}
    (tmp_path / "bundle.zip").write_bytes(usual(files))
    (warning,) = [
        one for one in check_bundle(tmp_path / "bundle.zip").checks if one.outcome is CheckOutcome.WARNING
    ]
    page = Path(__file__).resolve().parents[3] / "docs/participants/from-2021.md"
    assert ("/docs/participants/from-2021/" in warning.remedy) is ported and page.is_file()
    assert ("Put the package into the zip" in warning.remedy) is not ported


BAD = {
    b"[1]": "config.json: found [1], expected an object such as {}.",
    b"{": "config.json, line 1, column 2: Expecting property name",
    b"\xff": "config.json is not UTF-8",
    b'{"train_data_format": "image"}': 'train_data_format is "image"; allowed is "task" or "batch"',
    b'{"batch_size": 0}': "batch_size is 0; allowed is a whole number of at least 1",
    b'{"batch_size": 2.5}': "batch_size is 2.5",
    b'{"validation_datasets": -1}': "validation_datasets is -1; allowed is a whole number",
    b'{"validation_datasets": 5}': "validation_datasets is 5; allowed is a whole number from 0 to 4",
    b'{"validation_datasets": true}': "validation_datasets is true",
    b'{"train_config": 5}': "train_config is 5; allowed is an object with N, min_N",
    b'{"train_config": {"N": 1}}': "train_config.N is 1; allowed is a whole number of at least 2",
    b'{"train_config": {"N": null}}': "train_config.min_N is null; allowed is a whole number of at least 2, because",
    b'{"valid_config": {"min_N": 9, "max_N": 5}}': "max_N is 5; allowed is a whole number of at least min_N",
    b'{"valid_config": {"k": "many"}}': 'valid_config.k is "many"',
    b'{"valid_config": {"query_images_per_class": 0}}': "valid_config.query_images_per_class is 0",
    b"[" * 100_000: "nested too deeply",
}


@pytest.mark.parametrize(("content", "message"), BAD.items(), ids=range(len(BAD)))
def test_bad_config_names_key_value_and_what_is_allowed(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(BadConfig) as caught:
        read_config(content, train_datasets=5)
    assert message in str(caught.value)
    ((name, found, _),) = failed(tmp_path, {"model.py": MODEL, "config.json": content}, 5)
    assert name == "config" and message in found


def test_a_zip_without_config_reads_as_one_that_needs_none(tmp_path: Path) -> None:
    (tmp_path / "bundle.zip").write_bytes(usual({"model.py": MODEL}))
    (told,) = [check for check in check_bundle(tmp_path / "bundle.zip").checks if check.name == "config"]
    assert told.outcome is CheckOutcome.OK and told.title == "Settings in config.json"
    assert told.found == "there is none, so training tasks have 5 ways and 1 to 20 shots"


def test_defaults_and_partial_objects() -> None:
    config = read_config(b"{}")
    assert (config.batches, config.batch_size, config.validation_datasets) == (False, 16, 0)
    assert config.train == EpisodeConfig(ways=5, min_shots=1, max_shots=20, query_images_per_class=20)
    assert config.valid == EpisodeConfig(min_ways=2, max_ways=20)
    partial = read_config(
        b'\xef\xbb\xbf{"train_config": {"N": 9},\r\n "valid_config": {"k": 3}, "lr": 0.1, "batch_size": null}'
    )
    assert partial.train.ways == 9 and partial.train.max_shots == 20
    assert partial.valid.shots == 3 and partial.valid.max_ways == 20
    assert partial.ignored == ("lr",)


def test_a_fixed_number_wins_over_its_range() -> None:
    config = read_config(b'{"train_config": {"N": 5, "min_N": 9, "max_N": 2}}')
    assert config.train.ways == 5


def test_packing_leaves_caches_out_and_is_reproducible(tmp_path: Path) -> None:
    """What was recorded about a baseline, `expected.toml` on top, does not change its zip either."""
    folder = tmp_path / "mine"
    for name in ("model.py", "net/a.py", "__pycache__/x.pyc", ".git/config", "w.pt", "net/expected.toml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(MODEL)
    assert pack_folder(folder, tmp_path / "a.zip") == ["model.py", "net/a.py", "net/expected.toml", "w.pt"]
    (folder / "expected.toml").write_text("seed = 93")
    pack_folder(folder, tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    assert check_bundle(tmp_path / "a.zip").ok and check_bundle(folder).ok


def test_what_a_link_points_to_is_packed_and_a_link_around_does_not_go_on(tmp_path: Path) -> None:
    """A linked folder was left out without a word, so that a submission ran without its weights."""
    folder = tmp_path / "mine"
    for name in ("mine/model.py", "weights/w.pt", "weights/deep/v.pt", "one.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(MODEL)
    (folder / "weights").symlink_to(tmp_path / "weights")
    (folder / "helper.py").symlink_to(tmp_path / "one.py")
    (folder / "gone.py").symlink_to(tmp_path / "gone.py")
    (folder / "self").symlink_to(folder)
    (folder / "up").symlink_to(tmp_path)
    (tmp_path / "weights" / "deep" / "back").symlink_to(tmp_path / "weights")
    (tmp_path / "weights" / "home").symlink_to(folder)
    expected = ["helper.py", "model.py", "weights/deep/v.pt", "weights/w.pt"]
    assert pack_folder(folder, tmp_path / "a.zip") == expected
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert archive.read("weights/w.pt") == MODEL


def test_what_a_dry_run_wrote_is_no_part_of_the_zip(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    for name in ("model.py", "anyshot-dry-run/report.html", "out/learner.bin", "output.py", "net/out/a.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(MODEL)
    packed = pack_folder(folder, tmp_path / "a.zip", without=[folder / "net" / ".." / "out"])
    assert packed == ["model.py", "net/out/a.py", "output.py"]


def test_a_path_is_named_as_it_stands_in_the_zip(tmp_path: Path) -> None:
    ((name, found, _),) = failed(tmp_path, {"a/b/model.py": MODEL})
    assert name == "model" and found == "There is no model.py, but 'a/b/model.py'."


def test_all_mistakes_of_a_config_are_named_at_once(tmp_path: Path) -> None:
    content = b'{"batch_size": 0, "train_data_format": "pairs", "train_config": {"N": "five", "min_k": 9, "max_k": 3}}'
    ((name, found, _),) = failed(tmp_path, {"model.py": MODEL, "config.json": content}, 5)
    assert name == "config" and len(found.splitlines()) == 4
    for key in ("batch_size", "train_data_format", "train_config.N", "train_config.max_k"):
        assert f"config.json: {key} is " in found


def test_one_validation_dataset_is_not_called_several(tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(usual({"model.py": MODEL, "config.json": b'{"validation_datasets": 1}'}))
    (found,) = [
        check.found
        for check in check_bundle(path, conditions=RunConditions(5)).checks
        if check.name == "config"
    ]
    assert found == "training on tasks; validation datasets: 1"


def test_what_is_too_large_to_be_read_is_said_to_be(tmp_path: Path) -> None:
    large = b"# " + b"x" * (2 << 20)
    (tmp_path / "bundle.zip").write_bytes(usual({"model.py": MODEL + large}))
    (warning,) = [
        one for one in check_bundle(tmp_path / "bundle.zip").checks if one.outcome is CheckOutcome.WARNING
    ]
    assert warning.name == "classes" and "KiB and was not read" in warning.found
    ((name, found, _),) = failed(tmp_path, {"model.py": MODEL, "config.json": b" " * (2 << 20)})
    assert (name, found) == ("config", "config.json has more than 1 MiB.")


def test_text_that_no_line_stands_for_is_no_source(tmp_path: Path) -> None:
    for content in (b"# coding: no-such-coding\n", MODEL + b"\0"):
        ((name, found, _),) = failed(tmp_path, {"model.py": content})
        assert name == "syntax" and found.startswith("model.py: "), found


def test_a_zip_without_any_model_and_a_folder_that_is_none(tmp_path: Path) -> None:
    ((_, found, _),) = failed(tmp_path, {"c.txt": b""})
    assert found == "There is no model.py in the zip."
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        pack_folder(tmp_path / "missing", tmp_path / "out.zip")


def test_names_in_each_case_of_a_match_are_seen() -> None:
    names = read_names(
        b"match 1:\n    case 1:\n        MyMetaLearner = 1\n    case _:\n        MyLearner = 2\n"
    )
    assert isinstance(names, ModuleNames) and names.missing() == []
