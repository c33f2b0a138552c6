"""Every operation of the API's document, asked with what fits it and with what does not."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from http_server.served import LONG, Served
from lakejoin.server.application import API
from lakejoin.server.routes import job_routes, read_routes, upload_routes
from lakejoin.server.routes import read_routes as telling

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
OPERATIONS = [
    (method, f"{API}{route.path}")
    for router in (
        read_routes.router,
        job_routes.router,
        upload_routes.router,
        telling.health_router,
    )
    for route in router.routes
    for method in sorted(route.methods)  # type: ignore[attr-defined]
]
HEAVY = {f"{API}{route.path}" for route in job_routes.router.routes}  # type: ignore[attr-defined]
HEAVY.add(f"{API}/uploads")
TABLES = ["lake:stations.csv", "lake:sub/delays.csv", "lake:sub/places.csv"]
NAMES = ("table", "other_table", "left", "right", "start")
EXAMPLES = {"light": 20, "heavy": 4}


@pytest.fixture(scope="module")
def api(served: Served) -> Any:
    found = schemathesis.openapi.from_url(f"{served.url}{API}/openapi.json")
    refusing = found.config.checks.negative_data_rejection
    refusing.expected_statuses = [*refusing.expected_statuses, "413"]  # too long may be too large
    return found


def bounded(path: str) -> Any:
    """The same questions every time, and not too many."""
    examples = EXAMPLES["heavy" if path in HEAVY else "light"]
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def test_the_document_has_every_operation(api: Any) -> None:
    documented = {(one.ok().method.upper(), one.ok().path) for one in api.get_all_operations()}
    assert documented == set(OPERATIONS)
    for method, path in OPERATIONS:
        answers = api[path][method].definition.raw["responses"]
        assert {"200", "400", "404", "422", "500", "503"} <= set(answers)
        assert answers["200"]["description"]


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_what_fits_is_answered_as_documented(api: Any, method: str, path: str) -> None:
    cases = api[path][method].as_strategy(generation_mode=GenerationMode.POSITIVE)

    @bounded(path)
    @given(case=cases, tables=st.lists(st.sampled_from(TABLES), min_size=5, max_size=5))
    def asked(case: Case, tables: list[str]) -> None:
        _with_tables_that_are_there(case, dict(zip(NAMES, tables, strict=True)))
        case.call_and_validate(checks=CHECKS, timeout=LONG)

    asked()


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_what_does_not_fit_is_refused_as_documented(api: Any, method: str, path: str) -> None:
    operation = api[path][method]
    if not (operation.query or operation.body):
        pytest.skip("nothing can be asked wrongly")

    @bounded(path)
    @given(case=operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
    def asked(case: Case) -> None:
        case.call_and_validate(checks=CHECKS, timeout=LONG)

    asked()


def _with_tables_that_are_there(case: Case, tables: dict[str, str]) -> None:
    """Most tables that are made up are none of the lake's, and would all be answered alike."""
    for part in (case.query, case.body):
        if isinstance(part, dict):
            for name in NAMES:
                if name in part:
                    part[name] = tables[name]
            for inner in ("search", "chain"):
                if isinstance(part.get(inner), dict):
                    for name in NAMES:
                        if name in part[inner]:
                            part[inner][name] = tables[name]
