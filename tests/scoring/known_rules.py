"""A table of runs, and what every ranking rule says of it, worked out by hand."""

from dataclasses import dataclass

# Three runs a team, two datasets of equally many tasks. On paper, lowest, mean and median:
#                 means of the runs   X: runs            Y: runs
# ada             0.50 0.60 0.70      0.90 0.50 0.80     0.10 0.70 0.60
# bob             0.55 0.55 0.55      0.70 0.70 0.70     0.40 0.40 0.40
# cyd             0.45 0.62 0.79      0.60 0.64 0.78     0.30 0.60 0.80
TABLE = {
    "ada": ((0.50, 0.90, 0.10), (0.60, 0.50, 0.70), (0.70, 0.80, 0.60)),
    "bob": ((0.55, 0.70, 0.40), (0.55, 0.70, 0.40), (0.55, 0.70, 0.40)),
    "cyd": ((0.45, 0.60, 0.30), (0.62, 0.64, 0.60), (0.79, 0.78, 0.80)),
}


@dataclass(frozen=True)
class Known:
    """What a rule must say of the table: best first, with scores and what is ranked by."""

    order: tuple[str, ...]
    scores: dict[str, float]
    keys: dict[str, float]


KNOWN = {
    "worst_run": Known(
        ("bob", "ada", "cyd"),
        {"ada": 0.50, "bob": 0.55, "cyd": 0.45},
        {"ada": -0.50, "bob": -0.55, "cyd": -0.45},
    ),
    "mean_run": Known(
        ("cyd", "ada", "bob"),
        {"ada": 0.60, "bob": 0.55, "cyd": 0.62},
        {"ada": -0.60, "bob": -0.55, "cyd": -0.62},
    ),
    "median_run": Known(
        ("cyd", "ada", "bob"),
        {"ada": 0.60, "bob": 0.55, "cyd": 0.62},
        {"ada": -0.60, "bob": -0.55, "cyd": -0.62},
    ),
    # X: ada 0.50, bob 0.70, cyd 0.60; Y: ada 0.10, bob 0.40, cyd 0.30
    "dataset_ranks_worst": Known(
        ("bob", "cyd", "ada"),
        {"ada": 0.50, "bob": 0.55, "cyd": 0.45},
        {"ada": 3.0, "bob": 1.0, "cyd": 2.0},
    ),
    # X: ada 2.2/3, bob 0.70, cyd 2.02/3; Y: ada 1.4/3, bob 0.40, cyd 1.7/3
    "dataset_ranks_mean": Known(
        ("ada", "cyd", "bob"),
        {"ada": 0.60, "bob": 0.55, "cyd": 0.62},
        {"ada": 1.5, "bob": 2.5, "cyd": 2.0},
    ),
    # X: ada 0.80, bob 0.70, cyd 0.64; Y: ada 0.60, bob 0.40, cyd 0.60
    "dataset_ranks_median": Known(
        ("ada", "cyd", "bob"),
        {"ada": 0.60, "bob": 0.55, "cyd": 0.62},
        {"ada": 1.25, "bob": 2.5, "cyd": 2.25},
    ),
    # the lower of the means on X and Y
    "worst_dataset": Known(
        ("cyd", "ada", "bob"),
        {"ada": 1.4 / 3, "bob": 0.40, "cyd": 1.7 / 3},
        {"ada": -1.4 / 3, "bob": -0.40, "cyd": -1.7 / 3},
    ),
}
