"""Remote file systems by URI: Arrow's own, or fsspec's for schemes that Arrow does not know; in
URIs, nothing is percent-encoded."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from lakejoin.errors import InputError, MissingDependency
from lakejoin.locations.local_files import Entry, Problem

_CHAINED = re.compile(r"::[A-Za-z][A-Za-z0-9+.-]*://")  # as in zip://a.csv::s3://bucket/b.zip
_CREDENTIALS = re.compile(r"(://)[^/\s@]*(?:@[^/\s@]*)*@")
_DATABASE = re.compile(
    r"(?:jdbc:)?(postgres(?:ql)?|mysql|mariadb|sqlserver|mssql|oracle|snowflake|bigquery|redshift"
    r"|clickhouse|trino|presto|databricks|duckdb|sqlite|mongodb)(?:\+[a-z0-9_+]+)?:(?://|thin:|@)",
    re.IGNORECASE,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BITS = (1 << 63) - 1
# Names that file systems use for the time of the last change, then for other marks of the content;
# the creation time comes last, since an append may not change it.
_STAMPS = (
    "mtime",
    "modified",
    "LastModified",
    "last_modified",
    "updated",
    "Last-Modified",
    "modificationTime",
    "last_write_time",
    "modify",
    "ETag",
    "etag",
    "Content-MD5",
    "sha",
    "created",
)


@dataclass(frozen=True, slots=True)
class RemoteFileSystem:
    """An Arrow file system, the path of its root, and the fsspec file system behind it, if any."""

    arrow: Any
    path: str
    spec: Any = None


@dataclass(frozen=True, slots=True)
class RemotePath:
    root: RemoteFileSystem
    path: str

    @staticmethod
    def of(uri: str) -> RemotePath:
        """Find the file system of a URI; each is opened once per process."""
        process = os.getpid()  # connections do not outlive a fork
        if _CHAINED.search(uri):
            root = _opened(uri, process)
            return RemotePath(root, root.path)
        address = Address.of(uri)
        root = _opened(address.root, process)
        return RemotePath(root, address.below(root.path))

    def entry(self, name: str) -> Entry:
        """Size and change stamp of the file, as an entry of this name."""
        if self.root.spec is None:
            info = self.root.arrow.get_file_info(self.path)
            return Entry(name, int(info.size or 0), int(info.mtime_ns or 0))
        self.root.spec.invalidate_cache()
        info = self.root.spec.info(self.path)
        return Entry(name, int(info.get("size") or 0), change_stamp(info))

    def walk(self, problems: list[Problem]) -> Iterator[Entry]:
        """Yield every file below this path, ordered by name."""
        if self.root.spec is not None:
            yield from self._walk_spec(problems)
            return
        from pyarrow.fs import FileSelector, FileType

        selector = FileSelector(self.path, recursive=True, allow_not_found=True)
        for info in sorted(self.root.arrow.get_file_info(selector), key=lambda i: i.path):
            if info.type == FileType.File:
                yield Entry(self._below(info.path), int(info.size or 0), int(info.mtime_ns or 0))

    def _walk_spec(self, problems: list[Problem]) -> Iterator[Entry]:
        spec = self.root.spec
        spec.invalidate_cache()
        for path, info in sorted(spec.find(self.path, detail=True).items()):
            relative, known = self._below(path), info
            if info.get("size") is None or not change_stamp(
                info
            ):  # a listing may say less than a lookup
                try:
                    known = {**info, **spec.info(path)}
                except OSError as problem:
                    detail = problem.strerror or str(problem)
                    problems.append(Problem(relative, "cannot be listed", detail))
                    continue
            yield Entry(relative, int(known.get("size") or 0), change_stamp(known))

    def _below(self, path: str) -> str:
        prefix = self.path.rstrip("/")
        return path[len(prefix) :].lstrip("/") if path.startswith(prefix) else path.lstrip("/")


def change_stamp(info: Mapping[str, Any]) -> int:
    """A number that changes when a file does, from what its file system reports.

    Nanoseconds of a time, or the hash of a text such as an ETag; 0 if nothing is known.

    >>> change_stamp({"mtime": 1.5}), change_stamp({"size": 3})
    (1500000000, 0)
    >>> change_stamp({"ETag": "a"}) != change_stamp({"ETag": "b"})
    True
    """
    for key in _STAMPS:
        value = info.get(key)
        if isinstance(value, datetime):
            moment = value if value.tzinfo else value.replace(tzinfo=UTC)
            return (moment - _EPOCH) // timedelta(microseconds=1) * 1000
        if isinstance(value, int | float) and value:
            return round(value * 1_000_000) * 1000 & _BITS  # a float is no more precise
        if isinstance(value, str) and value:
            digest = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=8)
            return int.from_bytes(digest.digest(), "big") & _BITS or 1
    return 0


def hide_password(text: str) -> str:
    """A text in which the user and password of a URI are hidden.

    >>> hide_password("cannot open https://me:secret@host/a@b.csv")
    'cannot open https://***@host/a@b.csv'
    """
    return _CREDENTIALS.sub(r"\1***@", text)


def refuse_database(uri: str) -> None:
    """Raise if a URI names a database; the message shows no user or password.

    >>> refuse_database("mysql+pymysql://me:p@ss@host/shop")
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: mysql databases are not read: export the tables as Parquet or CSV \
files, and index these
    """
    match = _DATABASE.match(uri)
    if match is None:
        return
    if match[1].lower() == "sqlite":
        raise InputError("name an SQLite file by its path, without sqlite://")
    if match[1].lower() in ("postgresql", "postgres", "duckdb"):
        raise InputError(
            f"only lakejoin index reads {match[1].lower()} databases: index this one, then name "
            "its tables"
        )
    raise InputError(
        f"{match[1].lower()} databases are not read: export the tables as Parquet or CSV files, "
        "and index these"
    )


@lru_cache(maxsize=64)
def _opened(uri: str, process: int) -> RemoteFileSystem:
    from pyarrow import ArrowInvalid, ArrowNotImplementedError
    from pyarrow.fs import FileSystem

    try:
        filesystem, path = FileSystem.from_uri(uri)
        return RemoteFileSystem(filesystem, path)
    except ArrowNotImplementedError:
        return _opened_by_fsspec(uri)
    except ArrowInvalid as problem:
        if "Unrecognized filesystem type" not in str(problem) and not _CHAINED.search(uri):
            where, why = hide_password(split_query(uri)[0]), hide_password(str(problem))
            raise InputError(f"cannot open {where}: {why}") from None
        return _opened_by_fsspec(uri)


def _opened_by_fsspec(uri: str) -> RemoteFileSystem:
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    try:
        import fsspec
    except ImportError:
        raise MissingDependency(
            f"opening {hide_password(uri)} needs fsspec; "
            "install it with: pip install 'lakejoin[formats]'"
        ) from None
    try:
        filesystem, path = fsspec.core.url_to_fs(uri)
    except (ValueError, ImportError) as problem:
        where, why = hide_password(uri), hide_password(str(problem))
        raise InputError(f"cannot open {where}: {why}") from None
    return RemoteFileSystem(PyFileSystem(FSSpecHandler(filesystem)), path, filesystem)


SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+://")
_EMPTY = "?="
_PAIR = r"[A-Za-z_][\w.-]*=[^&?/]*"
_QUERY = re.compile(rf"\?(?:{_PAIR}(?:&{_PAIR})*|=)\Z")
_URL_SCHEMES = ("http", "https")


def split_query(uri: str) -> tuple[str, str]:
    """Split a URI into the part before its query, and the query with its question mark.

    >>> split_query("s3://bucket/lake?region=eu-west-1")
    ('s3://bucket/lake', '?region=eu-west-1')
    >>> split_query("s3://bucket/why?.csv")
    ('s3://bucket/why?.csv', '')
    """
    match = _QUERY.search(uri)
    return (uri[: match.start()], match.group()) if match else (uri, "")


def join_uri(uri: str, name: str) -> str:
    """The URI of `name` below `uri`.

    >>> join_uri("s3://bucket/lake?region=eu-west-1", "100%25 #1.csv")
    's3://bucket/lake/100%25 #1.csv?region=eu-west-1'
    >>> split_query(join_uri("s3://bucket", "odd?a=b"))
    ('s3://bucket/odd?a=b', '?=')
    """
    head, query = split_query(uri)
    whole = f"{head}{name}" if head.endswith("://") else f"{head.rstrip('/')}/{name}"
    if not query and split_query(whole)[1]:
        query = _EMPTY
    return whole + query


def normalise_uri(uri: str) -> str:
    """Normalise a URI: no slash at the end, and none before a memory path.

    >>> normalise_uri("memory:///lake/"), normalise_uri("s3://bucket/lake/?region=eu-west-1")
    ('memory://lake', 's3://bucket/lake?region=eu-west-1')
    """
    head, query = split_query(uri)
    scheme, _, rest = head.partition("://")
    rest = rest.rstrip("/")
    return f"{scheme}://{rest.lstrip('/') if scheme == 'memory' else rest}{query}"


@dataclass(frozen=True, slots=True)
class Address:
    """`root` is the URI of a file system, `rest` the path below it.

    >>> Address.of("s3://bucket/a b#c?.csv?region=eu-west-1")
    Address(root='s3://bucket/?region=eu-west-1', rest='a b#c?.csv')
    """

    root: str
    rest: str

    @staticmethod
    def of(uri: str) -> Address:
        """Split after the authority; the query of a web address stays with its path."""
        head, query = split_query(uri)
        scheme, _, below = head.partition("://")
        authority, _, rest = below.partition("/")
        query = "" if query == _EMPTY else query
        if scheme in _URL_SCHEMES:
            return Address(f"{scheme}://{authority}/", rest + query)
        return Address(f"{scheme}://{authority}/{query}", rest)

    def below(self, base: str) -> str:
        """The path of the file, if the root's own path is `base`.

        >>> Address("s3://bucket/", "a/b").below("bucket"), Address("hdfs://h/", "a").below("/")
        ('bucket/a/b', '/a')
        """
        if not self.rest or not base:
            return self.rest or base
        return f"{base.rstrip('/')}/{self.rest}"
