"""Prometheus metrics: what this process counted, and what the database says at the time of asking."""

from prometheus_client import CollectorRegistry, Counter, Histogram

REGISTRY = CollectorRegistry()
REQUEST_SECONDS = Histogram(
    "anyshot_request_seconds",
    "Time to answer a request",
    ["method", "route", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2.5, 5, 10),
    registry=REGISTRY,
)
REFUSED = Counter("anyshot_refused", "Requests told 503: too many visitors", registry=REGISTRY)
SHARED = Counter(
    "anyshot_shared_pages", "Requests answered in a crowd with a page for many", registry=REGISTRY
)
UPLOADS = Counter("anyshot_uploads", "Submissions uploaded, by outcome", ["outcome"], registry=REGISTRY)
CLAIMS = Counter("anyshot_claims", "Claims by workers, by outcome", ["outcome"], registry=REGISTRY)
CLAIM_WAIT = Histogram(
    "anyshot_queue_wait_seconds",
    "Time from queued to claimed",
    ["hardware_class"],
    buckets=(0.1, 0.5, 1, 2, 5, 15, 60, 300, 900, 3600, 14_400),
    registry=REGISTRY,
)
