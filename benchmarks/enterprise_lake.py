"""Makes the lake of a made-up company, with the truth about what joins in it.

    python benchmarks/enterprise_lake.py FOLDER [--noise 200] [--seed 1]

Customers, orders by month, invoices, products, employees, ledgers, web logs and sensors, with ids
of every kind: row numbers, numbers that start high, numbers in steps of ten, numbers with a check
digit, UUIDs, hexadecimal and ACGT codes. Some tables write the ids of others in another way. Copies
and older versions stand beside, and tables of noise that share row numbers, years, small numbers,
yes/no and codes from the same small spaces with everything.

Every column knows the `domain` that its values are from, and the `form` they are written in: two
columns of one domain join, and need rewriting where the form differs. Nothing else joins.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from enterprise_words import Words, days

MONTHS = 12
_START = date(2024, 1, 1)


@dataclass(frozen=True, slots=True)
class Column:
    """Values, what they are (nothing: they join with nothing), and how they are written."""

    values: Sequence[str]
    domain: str = ""
    form: str = ""


Table = Mapping[str, Column]


@dataclass(frozen=True, slots=True)
class Company:
    """The tables by name. `same` says of which table another is a copy, a version or a part."""

    tables: dict[str, Table] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)
    noise: set[str] = field(default_factory=set)

    def group(self, table: str) -> str:
        """The one that stands for a table and its copies, versions and parts."""
        return self.same.get(table, table)

    def write(self, folder: Path) -> None:
        """Writes every table: each seventh as Parquet, the others as CSV."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in self.tables.items():
            _write(folder / name, table)


def company(noise: int = 200, seed: int = 1) -> Company:
    """The whole lake."""
    words = Words(seed)
    made = Company()
    _sales(made, words)
    _people(made, words)
    _things(made, words)
    _versions(made, words)
    _noise(made, words, noise)
    return made


def _sales(made: Company, words: Words) -> None:
    rows = 1500
    customers = words.distinct(rows, lambda: words.checked(8))
    first = words.some(words.distinct(120, words.first_name), rows)
    last = words.some(words.distinct(700, words.last_name), rows)
    emails = [
        f"{a}.{b}{n}@mail.example".lower() for n, (a, b) in enumerate(zip(first, last, strict=True))
    ]
    towns = words.distinct(250, words.town)
    made.tables["customers.csv"] = {
        "customer_no": Column(customers, "customer"),
        "last_name": Column(last),
        "first_name": Column(first),
        "email": Column(emails, "email"),
        "town": Column(words.some(towns, rows), "town"),
        "newsletter": Column(words.some(("yes", "no"), rows)),
        "discount": Column([f"{words.random.randint(0, 30)}%" for _ in range(rows)]),
    }
    made.tables["newsletter_opens.csv"] = {
        "address": Column(words.part(emails, 0.4), "email"),
        "opens": Column([str(words.random.randint(0, 40)) for _ in range(600)]),
    }
    made.tables["branches.csv"] = {
        "branch": Column([f"B{n:02}" for n in range(1, 41)], "branch"),
        "location": Column(words.part(towns, 0.16), "town"),
        "opened": Column([str(words.random.randint(1960, 2024)) for _ in range(40)]),
    }
    skus = words.distinct(600, lambda: f"{words.text('ABCDEFGH', 2)}-{words.text('0123456789', 4)}")
    eans = words.distinct(600, lambda: "40" + words.checked(11))
    made.tables["products.csv"] = {
        "sku": Column(skus, "product"),
        "ean": Column(eans, "ean"),
        "description": Column([words.thing() for _ in skus]),
        "list_price": Column([words.amount(900) for _ in skus]),
        "supplier": Column([str(words.random.randint(1, 80)) for _ in skus], "supplier"),
    }
    made.tables["suppliers.csv"] = {
        "supplier": Column([str(n) for n in range(1, 81)], "supplier"),
        "company": Column(words.distinct(80, lambda: f"{words.brand()} Ltd")),
    }
    made.tables["shelf_stock.csv"] = {
        "barcode": Column(words.part(eans, 0.8), "ean"),
        "pieces": Column([str(words.random.randint(0, 500)) for _ in range(480)]),
    }
    made.tables["web_shop_prices.csv"] = {
        "article": Column([one.replace("-", "").lower() for one in skus], "product", "squeezed"),
        "price": Column([f"${float(words.amount(2900)):,.2f}" for _ in skus]),
    }
    orders: list[str] = []
    buyers: list[str] = []
    for month in range(MONTHS):
        ids = [str(500_000 + 400 * month + n) for n in range(400)]
        by = words.some(customers, 400)
        name = f"orders_2024_{month + 1:02}.csv"
        made.tables[name] = {
            "order_id": Column(ids, "order"),
            "customer_no": Column(by, "customer"),
            "sku": Column(words.some(skus, 400), "product"),
            "quantity": Column([str(words.random.randint(1, 12)) for _ in ids]),
            "ordered_on": Column([words.day(_START, 360).isoformat() for _ in ids]),
            "paid": Column(words.some(("yes", "no"), 400)),
        }
        made.same[name] = "orders_2024_01.csv"
        orders += ids
        buyers += by
    billed = sorted(words.random.sample(range(len(orders)), 3000))
    invoices = [f"INV-2024-{n:05}" for n in range(1, 3001)]
    made.tables["invoices.csv"] = {
        "invoice": Column(invoices, "invoice"),
        "order_id": Column([orders[n] for n in billed], "order"),
        "debtor": Column([buyers[n] for n in billed], "customer"),
        "total": Column([words.amount() for _ in billed]),
    }
    made.tables["payments.csv"] = {
        "payment": Column(words.distinct(2500, words.uuid), "payment"),
        "invoice": Column(words.part(invoices, 2500 / 3000), "invoice"),
        "received": Column([words.day(_START, 400).isoformat() for _ in range(2500)]),
    }
    made.tables["chargebacks.csv"] = {
        "reference": Column(
            words.part(made.tables["payments.csv"]["payment"].values, 0.05), "payment"
        ),
        "reason": Column(words.some(("fraud", "not received", "duplicate"), 125)),
    }
    made.tables["bank_statement.csv"] = {
        "booking_text": Column(
            [f"transfer {one[4:]} thank you" for one in words.part(invoices, 0.3)],
            "invoice",
            "in a text",
        ),
        "booked": Column([words.day(_START, 400).strftime("%d.%m.%Y") for _ in range(900)]),
    }
    made.tables["helpdesk_tickets.csv"] = {
        "ticket": Column([f"T{n}" for n in range(9000, 9500)]),
        "order": Column([f"ORD{one}" for one in words.some(orders, 500)], "order", "prefixed"),
        "solved": Column(words.some(("Y", "N"), 500)),
    }


def _people(made: Company, words: Words) -> None:
    rows = 400
    numbers = [str(n) for n in range(20_001, 20_001 + rows)]
    first = words.some(words.distinct(120, words.first_name), rows)
    last = words.distinct(rows, words.last_name)
    departments = [f"D{n:03}" for n in range(10, 250, 10)]
    made.tables["employees.csv"] = {
        "personnel_no": Column(numbers, "employee"),
        "last": Column(last, "person", "last"),
        "first": Column(first),
        "dept": Column(words.some(departments, rows), "department"),
        "hired": Column([words.day(date(2001, 1, 1), 8000).isoformat() for _ in numbers]),
    }
    made.tables["departments.csv"] = {
        "code": Column(departments, "department"),
        "head": Column(words.part(numbers, 24 / 400), "employee"),
        "title": Column(words.distinct(24, lambda: f"team {words.brand()}")),
    }
    made.tables["phone_book.csv"] = {
        "person": Column(
            [f"{b}, {a}" for a, b in zip(first, last, strict=True)], "person", "last, first"
        ),
        "extension": Column([str(n) for n in words.random.sample(range(100, 999), rows)]),
    }
    made.tables["parking_permits.csv"] = {
        "holder": Column(
            [f"{a} {b}" for a, b in list(zip(first, last, strict=True))[:180]],
            "person",
            "first last",
        ),
        "plate": Column(
            words.distinct(180, lambda: words.text("ABCDEFGHKL", 2) + words.text("0123456789", 4))
        ),
    }
    made.tables["badge_readers.csv"] = {
        "badge": Column([f"{int(n):08}" for n in words.some(numbers, 900)], "employee", "padded"),
        "door": Column([str(words.random.randint(1, 14)) for _ in range(900)]),
    }
    for month in range(MONTHS):
        name = f"timesheets/2024-{month + 1:02}.csv"
        made.tables[name] = {
            "personnel_no": Column(words.some(numbers, 500), "employee"),
            "day": Column(
                [f"2024-{month + 1:02}-{words.random.randint(1, 28):02}" for _ in range(500)]
            ),
            "hours": Column([str(words.random.randint(1, 10)) for _ in range(500)]),
        }
        made.same[name] = "timesheets/2024-01.csv"
    accounts = [str(n) for n in range(1000, 9000, 10)]
    made.tables["gl_accounts.csv"] = {
        "account": Column(accounts, "account"),
        "label": Column(words.distinct(800, lambda: f"{words.thing()} {words.brand()}")),
        "active": Column(words.some(("true", "false"), 800)),
    }
    made.tables["journal.csv"] = {
        "account": Column(words.some(words.part(accounts, 0.5), 3000), "account"),
        "dept": Column(words.some(departments, 3000), "department"),
        "debit": Column([words.amount() for _ in range(3000)]),
        "posted": Column([words.day(_START, 360).isoformat() for _ in range(3000)]),
    }
    made.tables["budget_2025.csv"] = {
        "gl": Column([f"{int(one):07}" for one in words.part(accounts, 0.6)], "account", "padded"),
        "budget": Column([f"{words.random.randrange(1000, 90000, 500):,}" for _ in range(480)]),
        "share": Column([f"{words.random.randint(1, 100)}%" for _ in range(480)]),
    }
    made.tables["calendar.csv"] = {
        "date": Column([one.isoformat() for one in days(date(2020, 1, 1), 2200)], "date"),
        "weekday": Column([str(one.isoweekday()) for one in days(date(2020, 1, 1), 2200)]),
        "holiday": Column(words.some(("0", "0", "0", "1"), 2200)),
    }


def _things(made: Company, words: Words) -> None:
    hexadecimal = "0123456789abcdef"
    sensors = words.distinct(500, lambda: words.text(hexadecimal, 4))
    made.tables["sensors.csv"] = {
        "sensor": Column(sensors, "sensor"),
        "hall": Column([str(words.random.randint(1, 9)) for _ in sensors]),
        "mounted": Column([str(words.random.randint(2015, 2024)) for _ in sensors]),
    }
    for day in range(1, 11):
        name = f"readings/2024-05-{day:02}.csv"
        made.tables[name] = {
            "sensor_id": Column(words.some(sensors, 600), "sensor"),
            "minute": Column([str(words.random.randint(0, 1439)) for _ in range(600)]),
            "humidity": Column([str(words.random.randint(20, 95)) for _ in range(600)]),
        }
        made.same[name] = "readings/2024-05-01.csv"
    sessions = words.distinct(1200, words.uuid)
    made.tables["web_sessions.csv"] = {
        "session": Column(sessions, "session"),
        "login": Column(words.some(made.tables["customers.csv"]["email"].values, 1200), "email"),
        "pages": Column([str(words.random.randint(1, 60)) for _ in sessions]),
    }
    skus = made.tables["products.csv"]["sku"].values
    for week in range(1, 7):
        name = f"weblog_{week}.csv"
        made.tables[name] = {
            "session": Column(words.some(sessions, 900), "session"),
            "url": Column(
                [f"/shop/{one}/details" for one in words.some(skus, 900)], "product", "in a url"
            ),
            "status": Column(words.some(("200", "200", "301", "404"), 900)),
        }
        made.same[name] = "weblog_1.csv"
    kit = words.distinct(700, lambda: words.text("ACGT", 6))
    made.tables["lab_samples.csv"] = {
        "barcode": Column(kit, "barcode"),
        "tube": Column([str(n) for n in range(1, 701)]),
    }
    made.tables["lab_runs.csv"] = {
        "index": Column(words.part(kit, 0.6), "barcode"),
        "reads": Column([str(words.random.randint(100, 99999)) for _ in range(420)]),
    }
    # The same small spaces, and nothing to do with them.
    made.tables["primers_of_another_kit.csv"] = {
        "primer": Column(words.distinct(1500, lambda: words.text("ACGT", 6)), "primer"),
        "melting": Column([str(words.random.randint(40, 70)) for _ in range(1500)]),
    }
    made.tables["firmware_checksums.csv"] = {
        "crc": Column(words.distinct(15000, lambda: words.text(hexadecimal, 4)), "checksum"),
        "build": Column([str(n) for n in range(15000)]),
    }
    made.tables["water_meters.csv"] = {
        "meter": Column(words.distinct(4000, lambda: words.checked(5)), "meter"),
        "year": Column([str(words.random.randint(1990, 2024)) for _ in range(4000)]),
    }
    made.tables["lottery_tickets.csv"] = {
        "ticket": Column(words.distinct(4000, lambda: words.checked(5)), "lottery"),
        "won": Column(words.some(("yes", "no"), 4000)),
    }


def _versions(made: Company, words: Words) -> None:
    for name in (
        "customers.csv",
        "products.csv",
        "employees.csv",
        "sensors.csv",
        "gl_accounts.csv",
    ):
        table = made.tables[name]
        rows = len(next(iter(table.values())).values)
        copy, older = f"backup/{name}", f"archive/2023_{name}"
        made.tables[copy] = table
        kept = sorted(words.random.sample(range(rows), round(0.9 * rows)))
        made.tables[older] = {
            of: Column([column.values[n] for n in kept], column.domain, column.form)
            for of, column in table.items()
        }
        made.same[copy] = made.same[older] = name


def _noise(made: Company, words: Words, count: int) -> None:
    draw = words.random.randint
    pools = [words.distinct(400, lambda: words.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 2)) for _ in "12"]

    def columns(rows: int) -> dict[str, list[str]]:
        return {
            "id": [str(n) for n in range(1, rows + 1)],
            "nr": [str(n) for n in range(rows)],
            "year": [str(draw(1990, 2025)) for _ in range(rows)],
            "flag": words.some(("yes", "no"), rows),
            "percent": [f"{draw(0, 100)}%" for _ in range(rows)],
            "class": [str(draw(1, 9)) for _ in range(rows)],
            "count": [str(draw(0, 30_000)) for _ in range(rows)],
            "code": words.some(pools[draw(0, 1)], rows),
            "value": [words.amount() for _ in range(rows)],
        }

    for number in range(count):
        every = columns(words.random.choice((30, 300, 3000)))
        names = words.random.sample(list(every), draw(2, 6))
        name = f"extracts/extract_{number:03}.{'parquet' if number % 7 == 0 else 'csv'}"
        made.tables[name] = {one: Column(every[one]) for one in names}
        made.noise.add(name)
    for number in range(3):
        made.tables[f"extracts/nothing_{number}.csv"] = {"id": Column([]), "sku": Column([])}
        made.tables[f"extracts/one_{number}.csv"] = {"id": Column(["1"]), "name": Column(["total"])}


def _write(path: Path, table: Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({name: list(one.values) for name, one in table.items()}), path)
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        rows: Iterable[tuple[str, ...]] = zip(*(one.values for one in table.values()), strict=True)
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(rows)


def main() -> None:
    """Writes the lake."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--noise", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    made = company(given.noise, given.seed)
    made.write(given.folder)
    print(f"{len(made.tables)} tables in {given.folder}")


if __name__ == "__main__":
    main()
