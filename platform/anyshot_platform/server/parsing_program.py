"""The process that parses strangers' files: reads an order a line, answers each with a line."""

import json
import resource
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

_FRESH_BEYOND = 256 << 10  # KiB of memory once used: the next order gets a new process
_FILES = 64
_FILE_BYTES = 256 << 20  # of one file that is written, where an order says nothing else


def check(order: dict[str, Any]) -> dict[str, Any]:
    """The report on a submission's zip."""
    from anyshot_core.bundle.check import check_bundle
    from anyshot_core.bundle.conditions import RunConditions

    return check_bundle(
        Path(order["path"]), conditions=RunConditions.from_dict(order["conditions"])
    ).to_dict()


def bundle(order: dict[str, Any]) -> dict[str, Any]:
    """A competition's description; its files are written into the folder of the order, by number."""
    from anyshot_platform.contest.bundles.files import LIMIT_NAMED, BundleUnreadable
    from anyshot_platform.contest.bundles.reading import BundleInvalid, read_bundle

    try:
        read = read_bundle(Path(order["path"]), Path(order["data"]) if order["data"] else None)
        if sum(map(len, read.files.values())) > LIMIT_NAMED:
            most = LIMIT_NAMED >> 20
            raise BundleUnreadable(f"its pages and baselines unpack to over {most} MiB")
    except BundleInvalid as error:
        return {"problems": [asdict(problem) for problem in error.problems]}
    except (BundleUnreadable, ValueError) as error:
        return {"unreadable": str(error)}
    for number, content in enumerate(read.files.values()):
        (Path(order["folder"]) / str(number)).write_bytes(content)
    return {
        "spec": read.spec.model_dump(mode="json", exclude_unset=True),
        "files": list(read.files),
        "format": read.format,
        "notices": [asdict(notice) for notice in read.without_equivalent],
        "input_data": read.input_data,
        "datasets": {path: list(map(str, folders)) for path, folders in read.datasets.items()},
    }


def pack(order: dict[str, Any]) -> dict[str, Any]:
    """Packs a Meta-Album folder in this process; `problems` says why not."""
    from anyshot_core.data.block_workers import BlockWorkers
    from anyshot_core.data.packing import pack_folder
    from anyshot_core.data.problems import DataError

    try:
        with BlockWorkers(0) as workers:
            pack_folder(Path(order["folder"]), Path(order["target"]), workers=workers)
    except (DataError, OSError) as error:
        return {"problems": str(error)}
    return {"problems": ""}


def sent_pack(order: dict[str, Any]) -> dict[str, Any]:
    """What the platform keeps of a pack, `bad` if it is none; the images' fingerprints go into a file of the order."""
    from anyshot_core.data.fingerprints import fingerprint
    from anyshot_core.data.pack import Pack
    from anyshot_core.data.problems import BadPack

    try:
        opened = Pack.open(order["path"], threads=1)
    except BadPack as error:
        return {"bad": str(error)}
    Path(order["fingerprints"]).write_bytes(fingerprint(opened).to_bytes())
    details = {
        "class_counts": dict(zip(opened.classes, map(len, opened.class_rows), strict=True)),
        "super_classes": len(set(opened.super_classes) - {""}),
        "description": opened.meta.description,
        "licence": opened.meta.licence,
        "source": opened.meta.source,
    }
    return {
        "name": opened.name,
        "domain": opened.domain,
        "images": len(opened),
        "classes": len(opened.classes),
        "details": details,
    }


def code(order: dict[str, Any]) -> dict[str, Any]:
    """The files of a submission's zip, and one of them in colour."""
    from anyshot_platform.foundation.isolated_parsing.code import read_code

    return read_code(Path(order["path"]), order["shown"])


def compare(order: dict[str, Any]) -> dict[str, Any]:
    """What differs between two zips."""
    from anyshot_platform.foundation.isolated_parsing.code import compare_code

    return compare_code(Path(order["path"]), Path(order["other"]))


def likeness(order: dict[str, Any]) -> dict[str, Any]:
    """What the code of a submission is compared by."""
    from anyshot_platform.foundation.isolated_parsing.likeness import fingerprint

    return fingerprint(Path(order["path"]))


def picture(order: dict[str, Any]) -> dict[str, Any]:
    """Whether browsers show a file as a picture."""
    from anyshot_platform.foundation.isolated_parsing.pictures import is_bitmap, is_drawing

    return {"shown": (is_drawing if order["drawn"] else is_bitmap)(Path(order["path"]))}


def report(order: dict[str, Any]) -> dict[str, Any]:
    """The sections of an organizer's report as HTML that does nothing."""
    from anyshot_platform.foundation.isolated_parsing.reports import inert_section

    return {"section": inert_section(Path(order["path"]))}


def curves(order: dict[str, Any]) -> dict[str, Any]:
    """The curves of a submission's logger."""
    from anyshot_platform.foundation.isolated_parsing.curves import read_curves

    return read_curves(Path(order["path"]))


_TASKS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "code": code,
    "compare": compare,
    "curves": curves,
    "check": check,
    "likeness": likeness,
    "bundle": bundle,
    "pack": pack,
    "picture": picture,
    "sent_pack": sent_pack,
    "report": report,
}


def main(memory: int) -> None:
    """Answer orders until the platform has gone, or so much memory was used that a fresh process is better."""
    _confine()
    for line in sys.stdin:
        order = json.loads(line)
        _allow_memory(memory + order.get("mapped_bytes", 0))
        _allow_time(order["cpu_seconds"])
        _allow_files(order.get("file_bytes", _FILE_BYTES))
        answer = _answer(order)
        answer["last"] = last = _largest_memory() > _FRESH_BEYOND
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
        if last:
            return


def _largest_memory() -> int:
    """The most memory that this program held, in KiB; `ru_maxrss` would tell that of the process that forked it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def _answer(order: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"done": _TASKS[order["task"]](order)}
    except MemoryError:
        return {"refused": "memory"}
    except RecursionError:
        return {"refused": "depth"}
    except Exception as error:  # noqa: BLE001 - a fault of ours, told to the process that asked
        return {"fault": f"{type(error).__name__}: {error}"}


def _confine() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES, _FILES))


def _allow_memory(octets: int) -> None:
    """So many bytes of address space, from now on; a file that is mapped takes as many as it has."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (octets, hard))


def _allow_time(seconds: int) -> None:
    """So many seconds of CPU from now on; the kernel ends the process beyond them."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = int(usage.ru_utime + usage.ru_stime) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, resource.RLIM_INFINITY))


def _allow_files(octets: int) -> None:
    """Files of so many bytes at most, from now on."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (octets, hard))


if __name__ == "__main__":
    main(int(sys.argv[1]))
