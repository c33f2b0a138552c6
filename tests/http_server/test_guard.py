"""Who is let in: names, origins, tokens, headers."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from http_server.served import Served, serving


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("127.0.0.1", 200),
        ("127.0.0.1:99", 200),
        ("[::1]:8000", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example:80", 403),
        ("192.168.1.5", 403),
        ("", 403),
        ("a b", 403),
        ("[::1", 403),
    ],
)
def test_only_names_of_ours_are_answered(served: Served, host: str, status: int) -> None:
    answer = served.http.get("/api/v1/health", headers={"host": host})
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "{url}"}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:1"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
    ],
)
def test_pages_of_other_sites_cannot_ask(
    served: Served, headers: dict[str, str], status: int
) -> None:
    given = {name: value.format(url=served.url) for name, value in headers.items()}
    answer = served.http.post("/api/v1/links", json={"state": "x"}, headers=given)
    assert answer.status_code == status


def test_other_sites_may_link_to_the_page_but_not_read_the_api(served: Served) -> None:
    opened = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert served.http.get("/", headers=opened).status_code in (200, 503)
    assert served.http.get("/api/v1/info", headers=opened).status_code == 403
    fetched = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert served.http.get("/", headers=fetched).status_code == 403


def test_every_answer_has_its_headers(served: Served) -> None:
    for path in ("/", "/api/v1/info", "/api/v1/nothing", "/nothing"):
        headers = served.http.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_on_another_address_a_token_is_asked_for(served_lake: Path, tmp_path: Path) -> None:
    index = served_lake.parent / "index"
    with serving(index, tmp_path, "--host", "0.0.0.0", "--workers", "1") as open_to_all:
        assert open_to_all.token
        assert len(open_to_all.token) >= 24
        assert open_to_all.get("info")["tables"]
        with httpx.Client(base_url=open_to_all.url) as stranger:
            refused = stranger.get("/api/v1/info")
            assert (refused.status_code, refused.json()["error"]["kind"]) == (401, "token")
            assert stranger.get("/").status_code == 401
            assert stranger.get("/api/v1/health").status_code == 200
            assert stranger.get("/?token=wrong").status_code == 401
            wrong = {"authorization": "Bearer wrong"}
            assert stranger.get("/api/v1/info", headers=wrong).status_code == 401
            welcome = stranger.get(f"/?token={open_to_all.token}")
            assert (welcome.status_code, welcome.headers["location"]) == (303, "/")
            cookie = welcome.headers["set-cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=Strict" in cookie
            assert stranger.get("/api/v1/info").status_code == 200
            elsewhere = {"host": "evil.example"}
            assert stranger.get("/api/v1/info", headers=elsewhere).status_code == 403


def test_two_servers_on_one_host_do_not_share_a_cookie(served_lake: Path, tmp_path: Path) -> None:
    """Browsers keep cookies by host, whatever the port."""
    index = served_lake.parent / "index"
    with ExitStack() as stack:
        servers = [
            stack.enter_context(serving(index, tmp_path / name, "--token", name, "--workers", "1"))
            for name in ("one", "two")
        ]
        browser = stack.enter_context(httpx.Client())
        for server in servers:
            assert browser.get(f"{server.url}/", params={"token": server.token}).status_code == 303
        for server in servers:
            assert browser.get(f"{server.url}/api/v1/info").status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("search", b"{"),
        ("search", b"[]"),
        ("search", b'{"table": 5}'),
        ("search", b'{"table": "lake:stations.csv", "by": "magic"}'),
        ("search", b'{"table": "lake:stations.csv", "on": ["nothing"]}'),
        ("search", b'{"table": "lake:stations.csv", "extra": 1}'),
        ("search", b'{"table": "lake:stations.csv", "by": "distance", "within": "far"}'),
        ("chains", b'{"start": "lake:stations.csv", "steps": [{"kind": "shell"}]}'),
        ("sql", b'{"table": "lake:stations.csv", "sql": ""}'),
        ("code", b'{"chain": {"start": "lake:stations.csv"}, "as": "cobol"}'),
        ("search", b"\xff\xfe"),
        ("search", b'{"table": "lake:\\ud800"}'),
    ],
)
def test_what_is_malformed_is_told_in_a_sentence(served: Served, path: str, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    answer = served.http.post(f"/api/v1/{path}", content=body, headers=headers)
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.json()["error"]["message"]
