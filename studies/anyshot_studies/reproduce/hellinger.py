"""The Hellinger column of the diversity paper."""

from anyshot_analysis.diversity.hellinger import (
    PUBLISHED_HELLINGER,
    hellinger_diversity,
    published_benchmarks,
)
from anyshot_analysis.pages import PageTable, ReportPage
from anyshot_core.charts import Bar, draw_bars
from anyshot_core.report.estimates import exact
from anyshot_studies.reproduce.material import Material


def make(material: Material) -> ReportPage:
    """Exact integration against the printed values."""
    found = [hellinger_diversity(benchmark) for benchmark in published_benchmarks()]
    rows = [
        [b.sigma_m, published, value, f"{100 * (value / published - 1):+.2f} %"]
        for b, published, value in zip(published_benchmarks(), PUBLISHED_HELLINGER, found, strict=True)
    ]
    worst = max(abs(v / p - 1) for v, p in zip(found, PUBLISHED_HELLINGER, strict=True))
    return ReportPage(
        name="reproduce-hellinger",
        title="Hellinger diversity of seven Gaussian benchmarks",
        finding=f"All seven published values are met within {100 * worst:.2f} per cent.",
        population="the benchmark itself: the integral is exact, nothing is sampled.",
        estimates=[
            exact(
                f"Hellinger diversity, sigma_m {b.sigma_m:g}", v, "squared distance", "the benchmark itself"
            )
            for b, v in zip(published_benchmarks(), found, strict=True)
        ],
        charts=[
            draw_bars(
                [Bar(f"{b.sigma_m:g}", v) for b, v in zip(published_benchmarks(), found, strict=True)],
                "Hellinger diversity by sigma_m",
                "E[H^2]",
                intervals=False,
            )
        ],
        listings=[PageTable("Published and found", ("sigma_m", "published", "found", "difference"), rows)],
        notes=["Published values are rounded or cut to the printed digits; the first is a sampled one."],
        result={
            "sigma_m": [b.sigma_m for b in published_benchmarks()],
            "published": PUBLISHED_HELLINGER,
            "found": found,
        },
        table={
            "sigma_m": [b.sigma_m for b in published_benchmarks()],
            "published": PUBLISHED_HELLINGER,
            "found": found,
        },
    )
