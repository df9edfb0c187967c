"""What the analyses of heads share: features of the pool, and heads by name."""

import tempfile
from pathlib import Path

from anyshot_analysis.backbones import make_backbone
from anyshot_analysis.features import Features, extract_pool
from anyshot_analysis.heads import HEADS, Head
from anyshot_analysis.jobs.inputs import BadAnalysis, Progress, counter
from anyshot_core.data.pool import Pool


def heads_of(names: tuple[str, ...]) -> list[Head]:
    """Heads with their usual settings."""
    unknown = [name for name in names if name not in HEADS]
    if unknown or not names:
        raise BadAnalysis(f"unknown heads {', '.join(unknown)}; there are {', '.join(HEADS)}")
    return [HEADS[name]() for name in names]


def features_of(
    pool: Pool, backbone: str, pixels: int | None, weights: str | None, cache: str | None, progress: Progress
) -> Features:
    """Features of a pool through the cache, or a folder that is gone afterwards."""
    made = make_backbone(backbone, pixels, Path(weights) if weights else None)
    advance = counter(progress, "Extracting features", sum(len(pack) for pack in pool))
    if cache is not None:
        return extract_pool(pool, made, Path(cache), advance)
    with tempfile.TemporaryDirectory() as folder:
        found = extract_pool(pool, made, Path(folder), advance)
        return Features(found.values.copy(), found.labels, found.datasets)
