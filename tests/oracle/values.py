"""Canonical values, slowly: plain Python over str, with re, decimal, datetime and unicodedata."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

SURE_NULLS = {
    "n/a", "n.a.", "n.a", "#n/a", "#na", "<na>", "-nan", "(null)", "<null>", "[null]", "(none)",
    "(blank)", "\\n", "#value!", "#ref!", "#div/0!", "#name?", "#null!", "#num!", "not available",
}  # fmt: skip
LETTER_NULLS = {"na", "nan", "nil", "none", "null"}
SIGN_NULLS = {"-", "--", "---", ".", "..", "...", "?", "??", "???"}
PUNCTUATION = set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
MONTHS = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
]  # fmt: skip

_MONTH = "|".join([*MONTHS, *(m[:3] for m in MONTHS), "sept"])
_TIME = (
    r"(?P<h>[0-9]{1,2}):(?P<mi>[0-9]{2})(?P<sec>:(?P<s>[0-9]{2})(\.(?P<f>[0-9]+))?)?"
    r"( ?(?P<ap>[ap]m))?"
    r"( ?(?P<z>z|utc|gmt|[+-][0-9]{2}(:?[0-9]{2})?))?"
)
_YEAR_FIRST = re.compile(
    rf"(?P<y>[0-9]{{4}})(?P<sep>[-/.])(?P<m>[0-9]{{1,2}})(?P=sep)(?P<d>[0-9]{{1,2}})"
    rf"((?P<t>t|, | ){_TIME})?"
)
_YEAR_LAST = re.compile(
    rf"(?P<a>[0-9]{{1,2}})(?P<sep>[-/.])(?P<b>[0-9]{{1,2}})(?P=sep)(?P<y>[0-9]{{4}})"
    rf"((?P<t>, | ){_TIME})?"
)
_DAY_NAME = re.compile(
    rf"(?P<d>[0-9]{{1,2}})[ /-]?(?P<n>{_MONTH}),?[ /-]?(?P<y>[0-9]{{4}})((?P<t>, | ){_TIME})?"
)
_NAME_DAY = re.compile(
    rf"(?P<n>{_MONTH})\.?[ /-](?P<d>[0-9]{{1,2}})(,|[ /-]|,[ /-])(?P<y>[0-9]{{4}})"
    rf"((?P<t>, | ){_TIME})?"
)


@dataclass(frozen=True)
class Column:
    """What the oracle finds: the canonical value of each distinct text, and the column's type."""

    values: dict[str, str | None]
    type: str


def fold(text: str) -> str:
    folded = unicodedata.normalize("NFD", text).casefold()
    return " ".join(unicodedata.normalize("NFC", folded).split())


def number(text: str) -> tuple[str, str] | None:
    """(kind, plain form) of a number in folded text."""
    found = re.fullmatch(r"([+-]?)([0-9]*)(\.([0-9]*))?(e([+-]?)([0-9]{1,4}))?", text)
    if not found:
        return None
    sign, whole, _, fraction, exponent, exponent_sign, _ = found.groups()
    fraction = fraction or ""
    if not whole and not fraction:
        return None
    if len(whole) > 1 and whole[0] == "0":
        return ("code", text) if text.isdigit() else None
    if exponent:
        if not exponent_sign and not fraction:
            return None
        if len(whole) + len(fraction) > 40:
            return "decimal", text
        plain = format(abs(Decimal(text)), "f")
        if "." in plain:
            plain = plain.rstrip("0").rstrip(".")
        if plain.strip("0.") == "":
            return "integer", "0"
        if len(plain) > 39:
            return "decimal", text
    else:
        fraction = fraction.rstrip("0")
        plain = (whole or "0") + ("." + fraction if fraction else "")
    if sign == "-" and plain != "0":
        plain = "-" + plain
    return ("decimal" if "." in plain else "integer"), plain


def _moment(found: re.Match[str], y: int, m: int, d: int) -> str | None:
    parts = found.groupdict()
    try:
        moment = datetime(y, m, d)
        if parts["t"] is None:
            return moment.date().isoformat()
        hour = int(parts["h"])
        if parts["ap"]:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + (12 if parts["ap"] == "pm" else 0)
        moment = datetime(y, m, d, hour, int(parts["mi"]), int(parts["s"] or 0))
        zone = parts["z"]
        if zone and zone[0] in "+-":
            if not parts["sec"] and parts["t"] != "t":
                return None
            digits = zone[1:].replace(":", "").ljust(4, "0")
            hours, minutes = int(digits[:2]), int(digits[2:])
            if hours > 14 or minutes > 59:
                return None
            shift = timedelta(hours=hours, minutes=minutes)
            moment = moment - shift if zone[0] == "+" else moment + shift
    except (ValueError, OverflowError):
        return None
    fraction = (parts["f"] or "").rstrip("0")
    if not fraction and (moment.hour, moment.minute, moment.second) == (0, 0, 0):
        return moment.date().isoformat()
    return moment.isoformat(" ") + ("." + fraction if fraction else "") + ("Z" if zone else "")


def _month(name: str) -> int:
    return [m[:3] for m in MONTHS].index(name[:3]) + 1


def fixed_date(text: str) -> str | None:
    """The ISO form of a date that needs no column to be read."""
    if found := _YEAR_FIRST.fullmatch(text):
        if found["sep"] == "." and (len(found["m"]), len(found["d"])) != (2, 2):
            return None
        return _moment(found, int(found["y"]), int(found["m"]), int(found["d"]))
    if found := _DAY_NAME.fullmatch(text) or _NAME_DAY.fullmatch(text):
        return _moment(found, int(found["y"]), _month(found["n"]), int(found["d"]))
    return None


def open_date(text: str) -> tuple[str, str | None, str | None] | None:
    """(separator, day first, month first) of a date whose order only the column can tell."""
    found = _YEAR_LAST.fullmatch(text)
    if not found:
        return None
    a, b, y = int(found["a"]), int(found["b"]), int(found["y"])

    # A date must exist in an order; its time may still fail, which fails both orders alike.
    def exists(m: int, d: int) -> bool:
        try:
            datetime(y, m, d)
        except ValueError:
            return False
        return True

    day_first = _moment(found, y, b, a) if exists(b, a) else None
    month_first = _moment(found, y, a, b) if exists(a, b) else None
    if day_first is None and month_first is None:
        return None
    return found["sep"], day_first, month_first


def _orders(folded: Sequence[str]) -> dict[str, int]:
    """For each separator: 1 where the day comes first, 2 where the month does."""
    orders = {}
    for separator in "/-.":
        dates = [d for d in map(open_date, folded) if d and d[0] == separator]
        day = any(d[1] and not d[2] for d in dates)
        month = any(d[2] and not d[1] for d in dates)
        if day != month:
            orders[separator] = 1 if day else 2
        elif not day and dates and separator == ".":
            orders[separator] = 1
    return orders


def _is_null(text: str, folded: str, others: Sequence[str]) -> bool:
    """Whether an open null word is a null beside the other, certain values of its column."""
    if folded in LETTER_NULLS:
        word = text.strip()
        names = [
            o
            for o in others
            if o and unicodedata.category(o[0]) == "Lu" and len(o.encode()) < 256
            and all(c.isalpha() or c in "'’-" for c in o)
        ]  # fmt: skip
        if word in ("Nan", "Null") and len(names) >= 10 and len(names) >= 0.9 * len(others):
            return False
        style = _style(word) & {"upper", "lower", "title"}
        letters = [o for o in others if o.isascii() and o.isalpha() and _style(o) & style]
        short = [o for o in letters if len(o) <= len(word)]
        full = [o for o in letters if len(o) == len(word)]
        return not (len(full) >= 2 and len(short) >= 0.9 * len(others))
    signs = [o for o in others if o and len(o.encode()) <= 8 and set(o) <= PUNCTUATION]
    single = [o for o in others if len(o) == 1]
    return not (
        (len(signs) >= 1 and len(signs) >= 0.9 * len(others))
        or (len(single) >= 10 and len(single) >= 0.9 * len(others))
    )


def _style(word: str) -> set[str]:
    """The case of a word of letters; a single capital is both upper and title case."""
    styles = {"upper": word.upper(), "lower": word.lower(), "title": word.title()}
    return {name for name, styled in styles.items() if styled == word}


def column(texts: Sequence[str | None], exact: bool = False, extra: Sequence[str] = ()) -> Column:
    """The canonical value of every distinct text of a column, and the column's type."""
    counts = Counter(text for text in texts if text is not None)
    folded = {text: fold(text) for text in counts}
    orders = _orders(list(folded.values()))
    kinds: dict[str, str] = {}
    values: dict[str, str | None] = {}
    for text, plain in folded.items():
        kinds[text], values[text] = _rewrite(plain, orders)
    if exact:
        values = {text: None if text == "" or text in extra else text for text in values}
    else:
        more = {_rewrite(fold(word), {})[1] for word in extra}
        sure = {t for t, v in values.items() if v == "" or v in SURE_NULLS or v in more}
        unsure = {t for t, v in values.items() if v in LETTER_NULLS | SIGN_NULLS} - sure
        others = [t for t in values if t not in sure and t not in unsure]
        nulls = sure | {t for t in unsure if _is_null(t, folded[t], others)}
        values = {t: None if t in nulls else v for t, v in values.items()}
    return Column(values, _type(kinds, values, counts))


def _rewrite(text: str, orders: dict[str, int]) -> tuple[str, str]:
    if found := number(text):
        return found
    if date := fixed_date(text):
        return "date", date
    if (date3 := open_date(text)) and (order := orders.get(date3[0])):
        return "date", str(date3[order])
    return ("boolean" if text in ("true", "false") else "text"), text


def _type(kinds: dict[str, str], values: dict[str, str | None], counts: Counter[str]) -> str:
    rows: Counter[str] = Counter()
    for text, value in values.items():
        if value is not None:
            rows[kinds[text]] += counts[text]
    total = rows.total()
    if total == 0:
        return "empty"
    text = rows["text"]
    if rows["code"] > 0.01 * (rows["code"] + rows["integer"]):
        text += rows["code"] + rows["integer"]
    else:
        for kind in ("boolean", "date"):
            if rows[kind] >= 0.95 * total:
                return kind
        if rows["integer"] + rows["decimal"] >= 0.95 * total:
            return "decimal" if rows["decimal"] else "integer"
        text += rows["code"]
    return "text" if text >= total / 2 else "mixed"
