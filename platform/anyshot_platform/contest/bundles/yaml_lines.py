"""YAML with the line of every value, so that each problem can be shown where it stands.

`yaml.safe_load` forgets where things stood and silently keeps the last of two equal keys. Here the document
is composed to nodes (nothing is constructed but plain scalars, tags of other languages are read as text) and
every path of the resulting plain data knows its line.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from anyshot_platform.foundation.filters import join_texts

Path = tuple[str | int, ...]
TWICE = "this key stands here twice"
LIMIT_BYTES = 2 << 20
LIMIT_NODES = 200_000
LIMIT_DEPTH = 60


@dataclass(frozen=True, order=True)
class FileProblem:
    """One thing wrong with a bundle: where, and what to do."""

    line: int
    path: str
    message: str
    file: str = "competition.yaml"

    def __str__(self) -> str:
        return str(self.words)

    @property
    def words(self) -> str:
        """The problem with its place before it, for people."""
        place = f"{self.file}, line {self.line}" if self.line else self.file
        return join_texts((place, self.path, self.message), by=": ")


@dataclass
class Marked:
    """Plain data and the line (from 1) of each path in it."""

    data: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    problems: list[FileProblem] = field(default_factory=list)
    file: str = "competition.yaml"

    def line(self, path: Sequence[str | int]) -> int:
        """The line of `path`, or of the nearest thing around it that exists."""
        for length in range(len(path), -1, -1):
            found = self.lines.get(tuple(path[:length]))
            if found is not None:
                return found
        return 1

    def problem(self, path: Sequence[str | int], message: str) -> FileProblem:
        return FileProblem(self.line(path), dotted(path), message, self.file)


def dotted(path: Sequence[str | int]) -> str:
    """`("phases", 0, "quota")` as `phases[0].quota`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def read_marked(content: bytes, file: str = "competition.yaml") -> Marked:
    """Parse YAML; syntax errors, equal keys and oversize documents become problems, never exceptions."""
    marked = Marked(file=file)
    if len(content) > LIMIT_BYTES:
        marked.problems.append(FileProblem(1, "", f"the file is over {LIMIT_BYTES >> 20} MiB", file))
        return marked
    try:
        loader = yaml.SafeLoader(decode(content))
        node = loader.get_single_node()
        if node is None:
            marked.problems.append(FileProblem(1, "", "the file is empty", file))
            return marked
        marked.data = _Builder(loader, marked).build(node, (), 0)
    except yaml.MarkedYAMLError as error:
        marked.problems.append(_syntax_problem(error, file))
    except yaml.reader.ReaderError as error:
        marked.problems.append(
            FileProblem(1, "", f"a character that YAML does not allow: {error.reason}", file)
        )
    except _TooBigError as error:
        words = "the document is too large or too deep"
        marked.problems.append(FileProblem(error.line, "", words, file))
    return marked


def decode(content: bytes) -> str:
    """Text that people wrote on any system: UTF-8 or 16 by its mark, else UTF-8, else Windows-1252."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


class _TooBigError(Exception):
    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class _Builder:
    """Builds plain data from nodes; counts visits, because aliases can make a small file huge."""

    def __init__(self, loader: yaml.SafeLoader, marked: Marked) -> None:
        self.loader = loader
        self.marked = marked
        self.visits = 0

    def build(self, node: yaml.Node, path: Path, depth: int) -> Any:
        self.visits += 1
        line = node.start_mark.line + 1
        if self.visits > LIMIT_NODES or depth > LIMIT_DEPTH:
            raise _TooBigError(line)
        self.marked.lines.setdefault(path, line)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, i), depth + 1) for i, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path, depth: int) -> dict[str | int, Any]:
        data: dict[str | int, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                merged = self.build(value_node, path, depth + 1)
                for source in merged if isinstance(merged, list) else [merged]:
                    for key, value in source.items() if isinstance(source, dict) else ():
                        data.setdefault(key, value)
                continue
            key = self._key(key_node)
            inner = (*path, key)
            self.marked.lines[inner] = key_node.start_mark.line + 1
            if key in data and self._written_twice(node, key):
                self._say(key_node, inner, TWICE)
            data[key] = self.build(value_node, inner, depth + 1)
        return data

    def _say(self, node: yaml.Node, path: Path, message: str) -> None:
        line = node.start_mark.line + 1
        self.marked.problems.append(FileProblem(line, dotted(path), message, self.marked.file))

    def _written_twice(self, node: yaml.MappingNode, key: str | int) -> bool:
        return sum(1 for key_node, _ in node.value if self._key(key_node) == key) > 1

    def _key(self, node: yaml.Node) -> str | int:
        value = self._scalar(node, ()) if isinstance(node, yaml.ScalarNode) else "?"
        return value if isinstance(value, int) and not isinstance(value, bool) else str(value)

    def _scalar(self, node: yaml.Node, path: Path) -> Any:
        try:
            return self.loader.construct_object(node, deep=True)
        except yaml.constructor.ConstructorError:
            return str(node.value)  # a tag such as !!python/unicode: its text is meant
        except ValueError as error:
            self._say(node, path, f"{node.value!r}: {error}")
            return None


def _syntax_problem(error: yaml.MarkedYAMLError, file: str) -> FileProblem:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 1
    said = ", ".join(part for part in (error.context, error.problem) if part)
    return FileProblem(line, "", f"not valid YAML: {said}", file)


def walk(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every path of plain data with its value, containers before what they hold."""
    yield path, data
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from walk(value, (*path, key))
