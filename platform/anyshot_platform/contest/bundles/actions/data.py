"""The data of a foreign bundle: Meta-Album folders become packs, packs become hidden pools that its phases test on."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from anyshot_platform.contest.bundles.codabench_report import Notice
from anyshot_platform.contest.bundles.isolated_reading import pack_dataset
from anyshot_platform.contest.bundles.naming import key_from, unique
from anyshot_platform.contest.bundles.reading import CompetitionBundle
from anyshot_platform.contest.bundles.schema import PoolSpec
from anyshot_platform.contest.phases.description import PhaseSpec
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.contest.pools.service import add_pack, digest_of_packs
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.filters import count
from anyshot_platform.foundation.services import Services

PacksByPool = dict[str, list[str]]  # ids of packs by the name of a pool


def take_data(
    services: Services, bundle: CompetitionBundle, user_id: str
) -> tuple[CompetitionBundle, PacksByPool]:
    """Keep the datasets that came with a bundle; the bundle with the pools that they make, and their packs.

    No transaction may be open: packs are checked one by one.
    """
    packs: PacksByPool = {}
    for path, folders in bundle.datasets.items():
        rows, remarks = _keep(services, folders, user_id)
        notices = [Notice(0, path, words, "/phases") for words in remarks]
        bundle = replace(bundle, without_equivalent=[*bundle.without_equivalent, *notices])
        if rows:
            name = unique(key_from(f"{bundle.spec.slug} {PurePosixPath(path).stem}", "data"), set(packs))
            packs[name] = [row.id for row in rows]
            bundle = _with_pool(bundle, path, name, rows)
    return bundle, packs


def _keep(services: Services, folders: Sequence[Path], user_id: str) -> tuple[list[Pack], list[str]]:
    rows: dict[str, Pack] = {}
    remarks: list[str] = []
    for folder in folders:
        with tempfile.TemporaryDirectory(prefix="anyshot-pack-") as made:
            target = Path(made) / "dataset.anyshot-pack"
            try:
                if problems := pack_dataset(folder, target):
                    raise Invalid(problems.splitlines()[0])
                row = add_pack(services, target, user_id)
            except Invalid as error:
                remarks.append(f"the dataset {folder.name} was left out: {error.message}")
                continue
        if row.name in rows:
            remarks.append(f"a second dataset {row.name} was left out: a pool holds a name once")
        rows.setdefault(row.name, row)
    return list(rows.values()), remarks


def _with_pool(bundle: CompetitionBundle, path: str, name: str, rows: Sequence[Pack]) -> CompetitionBundle:
    """The bundle with a pool of these packs, on which the phases test that name this path."""
    spec = bundle.spec
    pool = PoolSpec(
        name=name,
        title=f"{spec.title}: {PurePosixPath(path).name}"[:200],
        digest=digest_of_packs(row.digest for row in rows),
    )
    testing = {key for key, of_phase in bundle.input_data.items() if of_phase == path}
    phases = [_testing_on(phase, name) if phase.key in testing else phase for phase in spec.phases]
    titles = ", ".join(phase.title for phase in spec.phases if phase.key in testing)
    images = sum(row.images for row in rows)
    taken = (
        f"{path}: the hidden pool {name} with {count(len(rows), 'dataset')} and "
        f"{count(images, 'image')}; it is the meta-test pool of {titles}"
    )
    said = [notice for notice in bundle.without_equivalent if not notice.path.endswith(".input_data")]
    todo = Notice(
        0,
        path,
        (
            f"its datasets are all in the meta-test pool {name}: choose a meta-train pool, the "
            "protocol and the number of tasks, and move into a pool of its own what may be learnt "
            "from"
        ),
        "/phases",
    )
    return replace(
        bundle,
        spec=spec.model_copy(update={"phases": phases, "pools": [*spec.pools, pool]}),
        without_equivalent=[*said, todo],
        taken=[*bundle.taken, taken],
    )


def _testing_on(phase: PhaseSpec, pool: str) -> PhaseSpec:
    tasks = phase.tasks.model_copy(update={"meta_test": pool})
    return phase.model_copy(update={"tasks": tasks})
