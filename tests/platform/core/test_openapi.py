"""Schemathesis over the OpenAPI description: whatever fits the schema, and much that does not, gets no 5xx."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.platform.site import Site

EXAMPLES = 6
# The stream stays open until its submission ends, which a made-up one does not have; it is tested by hand.
LEFT_OUT = {"/api/v1/submissions/{submission_id}/stream"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_no_request_gets_a_5xx(embedded_site: Site) -> None:
    site = embedded_site
    petra = site.member("petra")
    shown = petra.submit().json()
    admin = site.person("admiral", is_site_admin=True)
    worker = site.worker()
    petra.upload(b"bytes")
    callers = {
        "nobody": {},
        "petra": {"authorization": f"Bearer {petra.token}"},
        "admin": {"authorization": f"Bearer {admin.token}"},
        "worker": {"authorization": f"Bearer {worker.token}"},
    }
    real = {
        "slug": "small",
        "phase_slug": "feedback",
        "submission_id": shown["id"],
        "run_id": shown["runs"][0]["id"],
        "league_slug": "free",
        "pool_slug": "small-pool",
        "number": 1,
    }
    schema = schemathesis.openapi.from_dict(site.app.openapi())
    failures: list[str] = []
    operations = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path in LEFT_OUT:
            continue
        operations += 1

        @given(case=operation.as_strategy(), caller=st.sampled_from(sorted(callers)), use_real=st.booleans())
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            database=None,
        )
        def probe(case: schemathesis.Case, caller: str, use_real: bool) -> None:
            if use_real:
                parameters = dict(case.path_parameters or {})
                case.path_parameters = {name: real.get(name, value) for name, value in parameters.items()}
            request = case.as_transport_kwargs(base_url="http://testserver", headers=callers[caller])
            request.pop("cookies", None)
            answer = site.client.request(
                request.pop("method"),
                request.pop("url"),
                follow_redirects=False,
                **{
                    key: value
                    for key, value in request.items()
                    if key in ("params", "headers", "json", "data")
                },
            )
            if answer.status_code >= 500:
                failures.append(
                    f"{case.method} {case.path} as {caller}: {answer.status_code} {answer.text[:200]}"
                )

        probe()
    assert operations > 80
    assert failures == []
