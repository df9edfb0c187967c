"""One archive with everything that the paper on a competition needs, and a script that makes its tables and figures."""

import json
from pathlib import Path

from sqlalchemy.orm import Session

from anyshot_platform.contest.bundles.actions.service import export_competition
from anyshot_platform.contest.bundles.files import write_zip
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.kit.wheels import kit_version
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.foundation.tables import Form, write, write_parquet
from anyshot_platform.judging.receipts.service import find_public_key, join_receipts, list_receipts
from anyshot_platform.running.exports.tables import (
    BOARD_COLUMNS,
    EVALUATION_COLUMNS,
    SUBMISSION_COLUMNS,
    collect_results,
    list_boards,
    list_evaluations,
    list_submissions,
)

_SCRIPT = Path(__file__).parent / "reproduce.txt"
_RECEIPTS_SCRIPT = Path(__file__).parent / "verify_receipts.txt"
_README = """# {title}

Made on {moment}. All moments are UTC.

| file | holds |
| --- | --- |
| `bundle.zip` | the competition as it can be imported again, without the seeds of hidden tasks |
| `submissions.csv` | every submission, also disqualified, withdrawn and deleted ones |
| `leaderboards.csv` | every row of every league's board, in rank order |
| `evaluations.csv` | every score of a further evaluation: a line for each submission and point |
| `results.parquet` | one row a task of every run that has a score: ways, shots, dataset, metrics, seconds |
| `receipts.json` | of each run that has a score what the site signed when it ended |
| `receipt-key.json` | the public key that verifies these receipts |
| `verify_receipts.py` | verifies them without Anyshot, and their scores from `results.parquet` |
| `reproduce.py` | makes the tables and figures out of `results.parquet` |

`run_tasks` is how many tasks a run has. It has fewer rows where the code failed on a dataset and the ranking rule lets
the other datasets count: the tasks without a row count as 0 in its score.

    pip install --extra-index-url {address}/kit/simple/ "anyshot-core[results]=={version}"
    python reproduce.py

in this folder writes `figures/` and `tables/`, and compares the scores that it computes with those on the boards.
The site serves one version only. If it has been upgraded since, write the one that {address}/kit/simple/anyshot-core/
lists.
{missing}"""


def make_archive(session: Session, storage: Storage, competition: Competition, site: str) -> bytes:
    """The archive as a zip; `site` is the address of the site that made it."""
    table, missing = collect_results(session, storage, competition)
    remark = (
        f"\nOf {len(missing)} runs the results are no longer kept: {json.dumps(missing)}\n" if missing else ""
    )
    moment = now().isoformat(timespec="seconds")
    readme = _README.format(
        title=competition.title, moment=moment, missing=remark, address=site, version=kit_version()
    )
    return write_zip(
        {
            "README.md": readme.encode(),
            "bundle.zip": export_competition(session, storage, competition, secrets=False),
            "submissions.csv": write(
                list(list_submissions(session, competition)), SUBMISSION_COLUMNS, Form.CSV
            ),
            "leaderboards.csv": write(
                list(list_boards(session, storage, competition)), BOARD_COLUMNS, Form.CSV
            ),
            "evaluations.csv": write(
                list(list_evaluations(session, competition)), EVALUATION_COLUMNS, Form.CSV
            ),
            "results.parquet": write_parquet(table),
            "receipts.json": join_receipts(list_receipts(session, competition)).encode(),
            "receipt-key.json": find_public_key(session).model_dump_json().encode(),
            "verify_receipts.py": _RECEIPTS_SCRIPT.read_bytes(),
            "reproduce.py": _SCRIPT.read_bytes(),
        }
    )
