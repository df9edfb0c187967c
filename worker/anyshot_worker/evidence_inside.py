"""Looks through a zip for weights: the part of `evidence` that runs inside a box.

Reads the zip from standard input (8 bytes of length, then the bytes), prints one JSON object. It never unpickles:
torch files are read with `weights_only`, NumPy files without pickle.
"""

# pyright: reportMissingParameterType=false
import ast
import hashlib
import io
import json
import math
import re
import struct
import sys
import zipfile
import zlib

WEIGHTS = (
    ".pt",
    ".pth",
    ".bin",
    ".ckpt",
    ".pkl",
    ".pickle",
    ".npz",
    ".npy",
    ".safetensors",
    ".h5",
    ".onnx",
    ".tar",
)
ENOUGH = 256 << 10  # bytes from which any file is looked at
LARGEST = 2 << 30
SUSPICIOUS_CALLS = (
    "load_state_dict_from_url",
    "download_url_to_file",
    "urlretrieve",
    "hf_hub_download",
    "urlopen",
)
# Functions whose `weights` are numbers: of a mean, a histogram, a draw.
WEIGHTED = (
    "average",
    "bincount",
    "choices",
    "cov",
    "histogram",
    "histogram2d",
    "histogramdd",
    "WeightedRandomSampler",
)
# First eight digits of the sha256 of well-known files, as their publishers put them into the files' names.
KNOWN = {
    "f37072fd": "torchvision resnet18 (ImageNet)", "5c106cde": "torchvision resnet18 (ImageNet, 2016)",
    "b627a593": "torchvision resnet34 (ImageNet)", "333f7ec4": "torchvision resnet34 (ImageNet, 2016)",
    "0676ba61": "torchvision resnet50 (ImageNet)", "19c8e357": "torchvision resnet50 (ImageNet, 2016)",
    "11ad3fa6": "torchvision resnet50 v2 (ImageNet)", "63fe2227": "torchvision resnet101 (ImageNet)",
    "5d3b4d8f": "torchvision resnet101 (ImageNet, 2016)", "cd907fc2": "torchvision resnet101 v2 (ImageNet)",
    "394f9c45": "torchvision resnet152 (ImageNet)", "b121ed2d": "torchvision resnet152 (ImageNet, 2016)",
    "f82ba261": "torchvision resnet152 v2 (ImageNet)", "7cdf4587": "torchvision resnext50_32x4d (ImageNet)",
    "95faca4d": "torchvision wide_resnet50_2 (ImageNet)", "7be5be79": "torchvision alexnet (ImageNet)",
    "397923af": "torchvision vgg16 (ImageNet)", "dcbb9e9d": "torchvision vgg19 (ImageNet)",
    "a639ec97": "torchvision densenet121 (ImageNet)", "b0353104": "torchvision mobilenet_v2 (ImageNet)",
    "8738ca79": "torchvision mobilenet_v3_large (ImageNet)", "047dcff4": "torchvision mobilenet_v3_small (ImageNet)",
    "1378be20": "torchvision googlenet (ImageNet)", "b8a52dc0": "torchvision squeezenet1_1 (ImageNet)",
    "c867db91": "torchvision vit_b_16 (ImageNet)", "983f1562": "torchvision convnext_tiny (ImageNet)",
    "704ceda3": "torchvision swin_t (ImageNet)",
}  # fmt: skip


def inspect_archive(archive):
    files, code, small, source = [], [], [], 0
    for path, size, data in contents(archive):
        if data is None:
            files.append(describe(path, size, "0" * 64, "too large to look into", [], ""))
            continue
        if path.endswith(".py"):
            code += inspect_source(path, data)
        if path.lower().endswith(WEIGHTS) or len(data) >= ENOUGH:
            files.append(inspect_file(path, data))
        elif path.endswith(".py"):
            source += len(zlib.compress(data))  # code becomes small, weights that are written as text do not
        else:
            small.append((path, data))
    if sum(len(data) for _, data in small) >= ENOUGH:  # weights in many small pieces
        files += [inspect_file(path, data) for path, data in small]
    if source >= ENOUGH:
        what = f"{source:,} bytes of source after compression, more than code has"
        code.insert(0, {"path": "*.py", "line": 0, "what": what})
    return files, code


def contents(archive, prefix=""):
    """Path, size and bytes (None where they are too many) of each file, and of those in each zip among them."""
    for info in archive.infolist():
        if info.is_dir():
            continue
        path = prefix + info.filename
        data = archive.read(info) if info.file_size <= LARGEST else None
        yield path, info.file_size, data
        if data is not None and path.endswith(".zip") and not prefix:
            yield from contents(zipfile.ZipFile(io.BytesIO(data)), f"{path}/")


def inspect_file(path, data):
    digest = hashlib.sha256(data).hexdigest()
    kind, shapes, note = "opaque", [], ""
    try:
        kind, shapes = read_shapes(path, data)
    except Exception as error:  # noqa: BLE001 - whatever a hostile file causes is a finding
        note = f"{type(error).__name__}: {error}"[:300]
    return describe(path, len(data), digest, kind, shapes, note)


def describe(path, size, digest, kind, shapes, note):
    return {
        "path": path[:300], "bytes": size, "sha256": digest, "kind": kind, "tensors": len(shapes),
        "parameters": sum(math.prod(shape) for shape in shapes),
        "shapes": ["x".join(map(str, shape))[:40] for shape in sorted(shapes, key=math.prod, reverse=True)[:20]],
        "known_as": KNOWN.get(digest[:8], ""), "note": note,
    }  # fmt: skip


def read_shapes(path, data):
    """The kind of a file, and the shapes of its arrays."""
    if data[:6] == b"\x93NUMPY":
        return "numpy", [numpy_shape(data)]
    if len(data) > 9 and data[8:9] == b"{" and struct.unpack("<Q", data[:8])[0] < len(data):
        return "safetensors", safetensors_shapes(data)
    if zipfile.is_zipfile(io.BytesIO(data)):
        names = zipfile.ZipFile(io.BytesIO(data)).namelist()
        if all(name.endswith(".npy") for name in names):
            archive = zipfile.ZipFile(io.BytesIO(data))
            return "numpy archive", [numpy_shape(archive.read(name)) for name in names]
        if any(name.endswith("data.pkl") for name in names):
            return "torch", torch_shapes(data)
    if data[:2] in (b"\x80\x02", b"\x80\x04", b"\x80\x05") or path.endswith((".pt", ".pth", ".bin", ".ckpt")):
        return "torch or pickle", torch_shapes(data)
    return ("text" if not re.search(rb"[^\t\n\r\x20-\x7e]", data[:4096]) else "opaque"), []


def numpy_shape(data):
    import numpy as np

    return tuple(int(size) for size in np.load(io.BytesIO(data), allow_pickle=False).shape)


def safetensors_shapes(data):
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    return [tuple(entry["shape"]) for name, entry in header.items() if name != "__metadata__"]


def torch_shapes(data):
    import torch

    try:
        loaded = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception:  # noqa: BLE001 - whole modules: their storages still say how much there is
        return storages(data)
    shapes, waiting = [], [loaded]
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, torch.Tensor):
            shapes.append(tuple(thing.shape))
        elif isinstance(thing, dict):
            waiting.extend(thing.values())
        elif isinstance(thing, (list, tuple)):
            waiting.extend(thing)
    return shapes


def storages(data):
    """Sizes of the raw storages of a torch file that holds more than tensors; float32 is assumed."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    return [
        (info.file_size // 4,)
        for info in archive.infolist()
        if "/data/" in info.filename and info.file_size > 3
    ]


def inspect_source(path, data):
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return [{"path": path[:300], "line": 0, "what": "does not parse"}]
    found = [note for node in ast.walk(tree) if isinstance(node, ast.Call) for note in judge_call(node)]
    return [{"path": path[:300], "line": line, "what": what} for line, what in found][:200]


def judge_call(node):
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in SUSPICIOUS_CALLS or ast.unparse(node.func).endswith("hub.load"):
        yield node.lineno, f"download: {ast.unparse(node.func)[:80]}"
    if name in WEIGHTED:
        return
    for keyword in node.keywords:
        value = keyword.value
        if keyword.arg in ("pretrained", "weights") and not (
            isinstance(value, ast.Constant) and value.value in (False, None)
        ):
            yield node.lineno, f"{name}({keyword.arg}={ast.unparse(value)[:60]})"


def read_exactly(stream, count):
    data = bytearray()
    while len(data) < count:
        piece = stream.read(min(1 << 20, count - len(data)))
        if not piece:
            raise EOFError
        data += piece
    return data


def main():
    stream = sys.stdin.buffer
    size = struct.unpack("<Q", stream.read(8))[0]
    report = {"complete": True, "problem": "", "files": [], "code": []}
    try:
        with zipfile.ZipFile(io.BytesIO(read_exactly(stream, size))) as archive:
            files, code = inspect_archive(archive)
        report["files"], report["code"] = files[:1000], code[:1000]
        report["complete"] = len(files) <= 1000
    except Exception as error:  # noqa: BLE001 - the report says what stopped it
        report["complete"], report["problem"] = False, f"{type(error).__name__}: {error}"[:500]
    report["parameters"] = sum(file["parameters"] for file in report["files"])
    report["known"] = sorted({file["known_as"] for file in report["files"] if file["known_as"]})
    print(json.dumps(report))


main()
