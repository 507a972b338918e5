"""Numbers and dates that a file has as text, such as "1.234,50 €", "12 %" or "31.12.2024"."""

from typing import TYPE_CHECKING

from softlabel.data.table_files import MISSING_WORDS

if TYPE_CHECKING:
    import polars

# how numbers are written: what is removed, and the sign that becomes the decimal point
NUMBER_STYLES = {
    "plain": ("", ""),
    "1,234.5": (",", ""),
    "1.234,5": (".", ","),
    "1 234,5": (" \u00a0\u202f'", ","),
}
UNITS, SPACES = "%€$£¥", " \u00a0\u202f"
MICROSECONDS = 86_400e6  # of a day
DATE_STYLES = (
    "%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y",
    "%m/%d/%Y", "%d-%m-%Y", "%Y%m%d", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f%z",
    "%Y-%m-%d %H:%M:%S.%f%z", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M", "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %I:%M %p",
)  # fmt: skip
GROUPED = {  # a grouping sign must stand between groups of three digits, or the style is not this one
    "1,234.5": r"^[-+]?\d{1,3}(,\d{3})*(\.\d+)?$",
    "1.234,5": r"^[-+]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?$",
    "1 234,5": r"^[-+]?(\d{1,3}([ \u00a0\u202f']\d{3})+|\d+)([.,]\d+)?$",
}


def blank(column: "polars.Series") -> "polars.Series":
    """Text with words for missing values (NA, ?, empty) as null, without spaces around it."""
    import polars as pl

    stripped = column.str.strip_chars()
    missing = stripped.str.to_lowercase().is_in(MISSING_WORDS)
    return pl.select(pl.when(missing).then(None).otherwise(stripped).alias(column.name)).to_series()


def as_numbers(column: "polars.Series") -> "tuple[polars.Series, str] | None":
    """Text as numbers, and how they are written; None if an entry is neither a number nor missing."""
    for style in NUMBER_STYLES:
        values = parse_numbers(column, style)
        if values.null_count() < len(values) and unreadable(column, values) is None:
            return values, style
    return None


def parse_numbers(column: "polars.Series", style: str) -> "polars.Series":
    """Text written in a style as numbers; missing entries, and those written otherwise, are null."""
    import polars as pl

    text = blank(column)
    if style != "plain":
        text = text.str.strip_chars(UNITS + SPACES)
        fits = text.str.contains(GROUPED[style])
        text = pl.select(pl.when(fits).then(text).alias(column.name)).to_series()
        removed, comma = NUMBER_STYLES[style]
        for sign in removed:
            text = text.str.replace_all(sign, "", literal=True)
        if comma:
            text = text.str.replace(comma, ".", literal=True)
    return text.cast(pl.Float64, strict=False)


def as_dates(column: "polars.Series") -> "tuple[polars.Series, str] | None":
    """Text as days since 1970-01-01, and how the dates are written; None if an entry is neither a date nor missing."""
    entries = blank(column).drop_nulls()
    if not len(entries) or not entries.head(50).str.contains(r"\d").all():
        return None
    for style in DATE_STYLES:
        values = parse_dates(column, style)
        if unreadable(column, values) is None:
            return values, style
    return None


def parse_dates(column: "polars.Series", style: str) -> "polars.Series":
    """Text written in a style as days since 1970-01-01; missing entries, and those written otherwise, are null."""
    import polars as pl

    text = blank(column)
    if style.endswith("%z"):
        text = text.str.replace(r"[Zz]$", "+00:00")
    if "%f" in style:  # as many digits as Python reads, which students in plain NumPy are read by
        text = pl.select(pl.when(text.str.contains(r"\.\d{1,6}(\D|$)")).then(text).alias(column.name)).to_series()
    kind = pl.Datetime("us") if "%M" in style else pl.Date
    return days(text.str.strptime(kind, style.replace(".%f", "%.f"), strict=False, exact=True))


def days(column: "polars.Series") -> "polars.Series":
    """Dates or times as days since 1970-01-01, float64."""
    import polars as pl

    return column.cast(pl.Datetime("us")).dt.epoch("us").cast(pl.Float64) / MICROSECONDS


def first_unreadable(column: "polars.Series", *, dates: bool) -> int:
    """The first row with an entry that is not written as most others are: as numbers, or with `dates` as dates, too."""
    parsed = [parse_numbers(column, style) for style in NUMBER_STYLES]
    parsed += [parse_dates(column, style) for style in DATE_STYLES] if dates else []
    return unreadable(column, min(parsed, key=lambda values: values.null_count())) or 0


def unreadable(column: "polars.Series", parsed: "polars.Series") -> int | None:
    """The first row with an entry that was not understood; None if there is none."""
    bad = blank(column).is_not_null() & parsed.is_null()
    return int(bad.arg_max() or 0) if bad.any() else None
