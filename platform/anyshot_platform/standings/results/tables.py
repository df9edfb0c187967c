"""The table of a league's results as CSV and LaTeX."""

from anyshot_core.browser_charts.numbers import known_half
from anyshot_platform.foundation.tables import Form, write
from anyshot_platform.standings.results.awards import in_words
from anyshot_platform.standings.results.reading import LeagueResults, ResultRow

CSV_COLUMNS = ("rank", "team", "baseline", "score", "half_width", "runs", "tasks", "prize", "submission")
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "-": "-{}",  # two of them would become a dash, and two quotes another quote
    "'": "'{}",
    "`": "`{}",
    **{sign: f"\\{sign}" for sign in "#$%&_"},
}
_LATIN = 0x24F  # the last letter that LaTeX has without a font of one's choice
_ONE_LINE = 40  # characters of a name that leave room for the other columns
_HEAD = r"""% {title}. Scores with 95 % intervals. Ranking rule: {rule}
% Needs \usepackage{{booktabs}}.{scripts}
\begin{{tabular}}{{r{names}rr}}
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
            "half_width": known_half(row.half_width),
            "runs": row.runs,
            "tasks": row.tasks,
            "prize": in_words(row.cents, found.league.currency) if row.cents else "",
            "submission": row.submission_id,
        }
        for row in found.rows
    ]
    return write(rows, CSV_COLUMNS, Form.CSV)


def as_latex(found: LeagueResults, title: str, rule: str) -> bytes:
    """A `tabular` for a paper, with the rules of booktabs; pdfLaTeX takes it where all names are Latin."""
    others = any(ord(sign) > _LATIN and sign != "€" for row in found.rows for sign in row.team)
    scripts = " Names in other scripts need LuaLaTeX or XeLaTeX, and a font that has them." if others else ""
    long = any(len(row.team) > _ONE_LINE for row in found.rows)
    head = _HEAD.format(
        title=" ".join(title.split()),
        rule=" ".join(rule.split()),
        scripts=scripts,
        names=r"p{0.4\linewidth}" if long else "l",
    )
    body = "".join(_line(row, found.league.currency) for row in found.rows)
    return f"{head}{body}\\bottomrule\n\\end{{tabular}}\n".encode()


def _line(row: ResultRow, currency: str) -> str:
    interval = f" \\pm {row.half_width:.3f}" if row.half_width else ""
    team = f"\\emph{{{escape(row.team)}}} (baseline)" if row.is_baseline else escape(row.team)
    prize = escape(in_words(row.cents, currency)) if row.cents else ""
    return f"{row.rank or ''} & {team} & ${row.score:.3f}{interval}$ & {prize} \\\\\n"


def escape(text: str) -> str:
    """Text that LaTeX sets as it is written."""
    return "".join(_SPECIAL.get(sign, sign) for sign in " ".join(text.split()))
