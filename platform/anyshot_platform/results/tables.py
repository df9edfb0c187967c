"""The table of a league's results as CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Callable

from anyshot_platform.kernel.tables import Form, write
from anyshot_platform.results.awards import in_words
from anyshot_platform.results.reading import LeagueResults, ResultRow

CSV_COLUMNS = ("rank", "team", "baseline", "score", "half_width", "runs", "tasks", "prize", "submission")
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "#$%&_"},
}
_HEAD = r"""% {title}. Scores with 95 % intervals. Ranking rule: {rule}
\begin{{tabular}}{{rlrr}}
\toprule
Rank & Team & Score & Prize \\
\midrule
"""


def as_csv(found: LeagueResults) -> bytes:
    """One row a team, in rank order, baselines where they would stand."""
    rows = [
        {
            "rank": row.rank,
            "team": row.team,
            "baseline": row.is_baseline,
            "score": row.score,
            "half_width": row.half_width,
            "runs": row.runs,
            "tasks": row.tasks,
            "prize": in_words(row.cents, found.league.currency) if row.cents else "",
            "submission": row.submission_id,
        }
        for row in found.rows
    ]
    return write(rows, CSV_COLUMNS, Form.CSV)


def as_latex(found: LeagueResults, title: str, rule: str) -> bytes:
    """A `tabular` for a paper, with the rules of booktabs."""
    head = _HEAD.format(title=escape(title), rule=escape(rule))
    body = "".join(_line(row, found.league.currency) for row in found.rows)
    return f"{head}{body}\\bottomrule\n\\end{{tabular}}\n".encode()


def _line(row: ResultRow, currency: str) -> str:
    interval = "" if row.half_width is None else f" \\pm {row.half_width:.3f}"
    team = f"\\emph{{{escape(row.team)}}} (baseline)" if row.is_baseline else escape(row.team)
    prize = escape(in_words(row.cents, currency)) if row.cents else ""
    return f"{row.rank or ''} & {team} & ${row.score:.3f}{interval}$ & {prize} \\\\\n"


def escape(text: str) -> str:
    """Text that LaTeX sets as it is written."""
    one: Callable[[str], str] = lambda sign: _SPECIAL.get(sign, sign)  # noqa: E731
    return "".join(map(one, " ".join(text.split())))
