"""Split and join URIs, in which nothing is percent-encoded.

A query such as `?endpoint_override=localhost:9000` configures the file system, so it belongs to
the root and not to a name. Names may contain question marks, so only `key=value&key=value` at the
very end is a query; `?=` is the empty query, which ends a name that looks as if it had one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
