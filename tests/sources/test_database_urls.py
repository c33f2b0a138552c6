"""URLs of databases: no part of a password stays in one that is kept or in a message."""

from __future__ import annotations

import pytest

from lakejoin.errors import InputError
from lakejoin.sources.database_urls import keep_password, parse_url


@pytest.mark.parametrize(
    ("url", "kept", "password"),
    [
        ("postgresql://me:a%2Fb@host/shop", "postgresql://me@host/shop", "a/b"),
        ("postgresql://me:a@b@host/shop", "postgresql://me@host/shop", "a@b"),
        ("POSTGRES://me:a@[::1]:5432/shop", "postgresql://me@[::1]:5432/shop", "a"),
        ("postgresql://me:a@h1:1,h2:2/shop", "postgresql://me@h1:1,h2:2/shop", "a"),
        ("postgresql://host/shop?user=me@cloud", "postgresql://host/shop?user=me%40cloud", ""),
        ("postgresql://host/shop?PASSWORD=a%2Fb", "postgresql://host/shop", "a/b"),
    ],
)
def test_the_password_is_kept_beside_the_url(
    url: str, kept: str, password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ: dict[str, str] = {}
    monkeypatch.setattr("os.environ", environ)
    assert keep_password(url) == kept
    assert parse_url(kept).password == password


@pytest.mark.parametrize("password", ["s3c#r3t", "s3c/r3t", "s3c?r3t", "s3c?r=3t", "12/34", "[s3c"])
@pytest.mark.parametrize("host", ["host", "host:5432"])
def test_a_password_that_ends_the_account_is_refused(password: str, host: str) -> None:
    with pytest.raises(InputError, match="%2F") as caught:
        keep_password(f"postgresql://me:{password}@{host}/shop")
    assert password not in str(caught.value)


def test_the_password_of_a_key_is_not_that_of_the_account() -> None:
    with pytest.raises(InputError, match="sslpassword") as caught:
        keep_password("postgresql://me@host/shop?sslkey=k&sslpassword=s3cr3t")
    assert "s3cr3t" not in str(caught.value)
