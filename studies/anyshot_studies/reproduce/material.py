"""The real data of a reproduction, and the small backbone that stands in for pretrained ones."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch

from anyshot_analysis.backbones import make_backbone
from anyshot_analysis.features import Features, FrozenBackbone, extract_pool
from anyshot_analysis.supervised import SupervisedSettings, train_supervised
from anyshot_core.data.pack import SUFFIX, Pack, pack_dataset
from anyshot_core.data.pool import Pool

TRAINING = SupervisedSettings(epochs=6)
WORDS = (
    "Features: a Conv-4 of width 48 at 32 pixels, trained here for 6 epochs on the 148 classes of Set-0; "
    "no ImageNet weights could be had."
)


class NoDataFolder(RuntimeError):
    """A reproduction on real data without a data folder."""


@dataclass(frozen=True)
class Material:
    """A Meta-Album folder with `info/sets.json`, and a folder for what is made of it."""

    data: Path | None
    cache: Path

    @cached_property
    def sets(self) -> list[list[str]]:
        """Datasets of Set-0, Set-1 and Set-2."""
        if self.data is None:
            raise NoDataFolder("this reproduction needs real data: give --data or set ANYSHOT_DATA")
        found = json.loads((self.data / "info" / "sets.json").read_text())
        return [found[f"set-{i}"] for i in range(3)]

    def pool(self, *sets: int) -> Pool:
        """The packs of some sets, made once."""
        return Pool([self.pack(name) for i in sets for name in self.sets[i]])

    def pack(self, name: str) -> Pack:
        """One dataset's pack."""
        path = self.cache / "packs" / f"{name}{SUFFIX}"
        if path.exists():
            return Pack.open(path, verify=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        assert self.data is not None  # `sets` has refused already
        return pack_dataset(self.data / name, path)

    @cached_property
    def backbone(self) -> FrozenBackbone:
        """The Conv-4 trained on Set-0."""
        return self.trained_on(0)

    def trained_on(self, number: int) -> FrozenBackbone:
        """The Conv-4 trained on all classes of a set; its weights are kept."""
        weights = self.cache / f"conv4-set{number}.pt"
        if not weights.exists():
            trained, _ = train_supervised(self.pool(number), TRAINING)
            weights.parent.mkdir(parents=True, exist_ok=True)
            torch.save(trained.network.state_dict(), weights)
        return make_backbone(f"conv4-{TRAINING.width}", TRAINING.pixels, weights)

    def features(self, *sets: int, trained: int = 0) -> Features:
        """Features of some sets by the backbone trained on Set-0, or on another set."""
        return extract_pool(self.pool(*sets), self.trained_on(trained), self.cache / "features")

    def pixel_features(self, *sets: int) -> Features:
        """The images at 12 x 12: nothing in them was learned."""
        return extract_pool(self.pool(*sets), make_backbone("pixels"), self.cache / "features")
