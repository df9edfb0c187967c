"""How tasks are drawn: a task is a pure function of pool, protocol, seed and index.

Nothing here imports torch or reads pixels.
"""

from anyshot_core.protocols.any_way_any_shot import AnyWayAnyShot, FixedWaysShots, HeldOutDomains
from anyshot_core.protocols.attribute_pairs import AttributePairs
from anyshot_core.protocols.base_novel import BaseNovel, ClassSide
from anyshot_core.protocols.fixed_supports import FixedSupports
from anyshot_core.protocols.gaussian import Gaussians
from anyshot_core.protocols.legacy import Legacy, training_stream, validation_split
from anyshot_core.protocols.registry import NUMBER_MAKERS, PROTOCOLS, protocol_from_dict
from anyshot_core.protocols.roles import Roles
from anyshot_core.protocols.task import NumberMaker, Protocol, ProtocolError, Range, TaskSpec
from anyshot_core.protocols.text import read_protocol
from anyshot_core.protocols.within_domain import WithinDomain
from anyshot_core.protocols.writers import Writers

__all__ = [
    "NUMBER_MAKERS",
    "PROTOCOLS",
    "AnyWayAnyShot",
    "AttributePairs",
    "BaseNovel",
    "ClassSide",
    "FixedSupports",
    "FixedWaysShots",
    "Gaussians",
    "HeldOutDomains",
    "Legacy",
    "NumberMaker",
    "Protocol",
    "ProtocolError",
    "Range",
    "Roles",
    "TaskSpec",
    "WithinDomain",
    "Writers",
    "protocol_from_dict",
    "read_protocol",
    "training_stream",
    "validation_split",
]
