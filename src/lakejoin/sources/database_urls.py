"""URLs of databases: which tables they ask for, and where their password is kept. It is never in a
stored URL."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from lakejoin.errors import InputError
from lakejoin.locations import Location

_KINDS = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "duckdb": "duckdb",
    "sqlite": "sqlite",
}
_SCHEME = re.compile(r"([a-z][a-z0-9]*)://", re.IGNORECASE)
_HOST = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(:\d*)?")
_OWN = ("schema", "statement_timeout")
_PASSWORD = "LAKEJOIN_PASSWORD_"  # followed by what names the URL


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """A database: its kind, the URL without a password and without what only we understand, the
    schemas asked for (none: the usual one; `*`: all), and how many seconds a statement may take."""

    kind: str
    url: str
    name: str
    schemas: tuple[str, ...] = ()
    timeout: float = 600.0

    @property
    def path(self) -> str:
        """The file of a DuckDB or SQLite database."""
        location = Location.of(unquote(urlsplit(self.url).path.removeprefix("/")))
        return location.uri

    @property
    def password(self) -> str:
        """The password that this process was given for it; libpq knows other places."""
        return os.environ.get(_variable(self.url), "")

    def hide_password(self, text: str) -> str:
        """A text of a library without the password."""
        secret = self.password
        for form in {secret, quote(secret, safe="")} - {""}:
            text = text.replace(form, "***")
        return text


def is_database(lake: str) -> bool:
    """Whether a lake is the URL of a database that can be read.

    >>> is_database("postgresql://me@host/shop"), is_database("s3://bucket/lake")
    (True, False)
    """
    match = _SCHEME.match(lake)
    return match is not None and match[1].lower() in _KINDS


def keep_password(lake: str) -> str:
    """Return the URL of a database without its password, which stays in the environment of this
    process and of those that it starts.

    >>> keep_password("postgres://me:s%40cret@host/shop?schema=sales")
    'postgresql://me@host/shop?schema=sales'
    """
    kind = _KINDS[lake.partition("://")[0].lower()]
    parts = _split(lake) if kind == "postgresql" else urlsplit(lake)
    if kind != "postgresql":
        path = f"{parts.netloc}{parts.path}"
        if not path.startswith("/") or path == "/":
            raise InputError(f"write the path of the database file as {kind}:///path/to/file")
        query = f"?{parts.query}" if parts.query else ""
        file = unquote(path.removeprefix("/"))
        return f"{kind}:///{quote(Location.of(file).uri)}{query}"
    account, at, host = parts.netloc.rpartition("@")
    user, _, secret = account.partition(":")
    kept = []
    for key, value in parse_qsl(parts.query, keep_blank_values=True):
        if key.lower() == "sslpassword":
            raise InputError(
                "a database URL must not contain sslpassword: use a key without a password, or a "
                "PostgreSQL service that has it (?service=NAME)"
            )
        if key.lower() == "password":
            secret = secret or quote(value, safe="")
        else:
            kept.append((key, value))
    query = urlencode(kept, quote_via=quote, safe="*,/")
    url = urlunsplit((kind, f"{user}{at}{host}", parts.path, query, ""))
    if secret:
        os.environ[_variable(parse_url(url).url)] = unquote(secret)
    return url


def _split(lake: str) -> SplitResult:
    """The parts of a PostgreSQL URL; raises, without quoting it, if a special character in a
    password may have put part of the password elsewhere."""
    try:
        parts = urlsplit(lake)
    except ValueError:  # brackets
        parts = None
    if parts is not None:
        _, at, hosts = parts.netloc.rpartition("@")
        beyond = "@" in parts.path or (not at and not parts.path and "@" in parts.query)
        pairs = all("=" in pair for pair in parts.query.split("&") if pair)
        named = all(map(_HOST.fullmatch, hosts.split(",")))
        if named and pairs and not beyond and not parts.fragment:
            return parts
    raise InputError(
        "cannot make out the parts of the database URL: write / ? # @ [ ] in a password or a name "
        "as %2F %3F %23 %40 %5B %5D"
    ) from None


def _variable(url: str) -> str:
    return _PASSWORD + hashlib.sha256(url.encode()).hexdigest()[:16].upper()


def parse_url(lake: str) -> DatabaseUrl:
    """What a URL without a password asks for.

    >>> found = parse_url("postgresql://me@host/shop?schema=sales,web&sslmode=require")
    >>> found.url, found.name, found.schemas
    ('postgresql://me@host/shop?sslmode=require', 'shop', ('sales', 'web'))
    """
    parts = urlsplit(lake)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    own = {key: value for key, value in pairs if key in _OWN}
    rest = urlencode([p for p in pairs if p[0] not in _OWN], quote_via=quote, safe="*,/")
    url = urlunsplit((parts.scheme, parts.netloc, parts.path, rest, ""))
    if parts.scheme != "postgresql":  # urlunsplit drops slashes of an empty host
        url = f"{parts.scheme}://{parts.path}" + (f"?{rest}" if rest else "")
    try:
        timeout = float(own.get("statement_timeout", 600))
    except ValueError:
        timeout = 0
    if not 0 < timeout < 1e6:
        raise InputError("write statement_timeout in the URL as a number of seconds, such as 600")
    schemas = tuple(name for name in own.get("schema", "").split(",") if name)
    name = unquote(parts.path).rstrip("/").rpartition("/")[2] or parts.scheme
    return DatabaseUrl(parts.scheme, url, name, schemas, timeout)
