"""`load`: the same problem from a name, a file, arrays and a frame; classes, ids, and what is refused."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel.data import CATALOGUE, ColumnRoles, Problem, fetch, load
from softlabel.data.scaling import norms
from softlabel.errors import InputError


def table(rows: int = 120) -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(0).standard_normal((rows, 2)).astype(np.float32), np.arange(rows) % 2


def sheet(tmp_path, **columns):
    X, y = table()
    frame = {"id": [f"r{k}" for k in range(120)], "a": X[:, 0], "b": X[:, 1]} | columns
    path = tmp_path / "sheet.csv"
    pl.DataFrame(frame | {"y": np.array(["no", "yes"])[y]}).write_csv(path)
    return path


@given(st.integers(0, 2**32 - 1), st.integers(40, 100))
@settings(max_examples=10, deadline=None)
def test_the_same_data_and_seed_give_the_same_rows_from_everywhere(tmp_path_factory, seed, rows):
    pandas = pytest.importorskip("pandas")
    folder = tmp_path_factory.mktemp("same")
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((rows, 3)).astype(np.float32), rng.permutation(np.arange(rows) % 3)
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    frame.write_csv(folder / "t.csv")
    frame.write_parquet(folder / "t.parquet")
    np.savez(folder / "t.npz", X=X, y=y)
    np.save(folder / "t.npy", np.concatenate([X, y[:, None]], axis=1))
    reference = load((X, y), seed=seed)
    for problem in (
        load(str(folder / "t.csv"), "y", seed=seed),
        load(folder / "t.parquet", "y", seed=seed),
        load(folder / "t.npz", seed=seed),
        load(folder / "t.npy", "last", seed=seed),
        load(frame, "y", seed=seed),
        load(pandas.DataFrame(frame.to_dict(as_series=False)).astype(dict.fromkeys("abc", "float32")), "y", seed=seed),
        load(X, y, seed=seed),
        Problem.from_arrays(X, y, seed=seed),
    ):
        assert problem.fingerprint == reference.fingerprint
        np.testing.assert_array_equal(problem.train.rows, reference.train.rows)
        np.testing.assert_array_equal(problem.train.scaled, reference.train.scaled)


def test_a_name_and_its_arrays_give_the_same_rows():
    named = load("digits", seed=4)
    arrays = load((named.X, named.y), scale="unit", seed=4)
    assert arrays.fingerprint == named.fingerprint
    images = load((named.images, named.y), scale="unit", seed=4)
    assert images.fingerprint == named.fingerprint
    assert images.image_shape == named.image_shape == (1, 8, 8)


def test_a_problem_is_returned_unchanged():
    problem = load(table())
    assert load(problem, seed=5) is problem
    with pytest.raises(InputError, match="a Problem does not take `label`, `classes`, `drop`: leave them out"):
        load(problem, np.arange(120), classes="0,1", drop=["a"])


def test_ten_thousand_classes_are_refused(tmp_path):
    rows = 30_000
    frame = pl.DataFrame({"x": np.arange(rows) * 0.5, "y": np.arange(rows) % 10_000})
    frame.write_csv(tmp_path / "many.csv")
    with pytest.raises(InputError, match="10,000 classes in 30,000 rows"):
        load(tmp_path / "many.csv", "y")


def test_an_id_column_is_read_and_is_no_input(tmp_path):
    path = sheet(tmp_path)
    for problem in (load(path, "y", id_column="id"), load(pl.read_csv(path), "y", id_column="id")):
        assert problem.columns == ("a", "b")
        assert problem.ids is not None
        assert problem.ids[5] == "r5"
    assert load(path, "y").treatment[-1]["done"] == "nearly every row has another value, so it only identifies rows"
    with pytest.raises(InputError, match="no column 'nr'"):
        load(path, "y", id_column="nr")
    with pytest.raises(InputError, match="`id_column`: there is no column 'nr'"):
        load(pl.read_csv(path), "y", id_column="nr")


def test_constant_columns_stay_for_the_teacher_and_do_no_harm(tmp_path):
    problem = load(sheet(tmp_path, c=[3.0] * 120), "y", id_column="id")
    assert problem.columns == ("a", "b", "c")
    assert np.isfinite(problem.train.scaled).all()
    assert not problem.train.scaled[:, 2].any()


def test_rules_and_pairs_make_two_classes_and_leaving_out_renumbers():
    assert load("digits", task="label>4").classes == ("not label>4", "label>4")
    pair = load("digits", classes="7,1")
    assert pair.classes == ("7", "1")
    assert len(pair.rows) == len(pair) < pair.file_rows == 1797
    left = load("digits", leave_out="0,1,2,3,4,5,6")
    assert left.classes == ("7", "8", "9")
    assert set(left.y) == {0, 1, 2}


def test_classes_of_arrays_and_frames_can_be_chosen_and_their_source_follows():
    X, _ = table(120)
    y = np.array(["u", "v", "w"])[np.arange(120) % 3]
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
    for problem in (load((X, y), classes="w,u"), load(frame, "y", classes="w,u")):
        assert problem.classes == ("w", "u")
        np.testing.assert_array_equal(np.asarray(problem.source), X[problem.rows])
        np.testing.assert_array_equal(problem.X, X[problem.rows])
        assert (y[problem.rows] != "v").all()
    assert load(frame, "y", drop=["b"]).columns == ("a",)
    pandas = pytest.importorskip("pandas")
    problem = load(pandas.DataFrame(frame.to_dict(as_series=False)), "y", leave_out="u")
    np.testing.assert_allclose(problem.source.to_numpy(), X[problem.rows])


@pytest.mark.parametrize("header", ["a,b,b,y", "a,b,y,y"])
def test_columns_of_the_same_name_are_refused(tmp_path, header):
    path = tmp_path / "twice.csv"
    path.write_text(header + "\n" + "\n".join(f"{k},{k % 7},{k % 5},{k % 2}" for k in range(80)) + "\n")
    with pytest.raises(InputError, match="columns of the same name"):
        load(path, "y")


def test_other_encodings_get_a_remedy(tmp_path):
    path = tmp_path / "western.csv"
    path.write_bytes("größe,y\n1,0\n".encode("latin-1"))
    with pytest.raises(InputError, match="save it as 'CSV UTF-8'"):
        load(path, "y")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": "nmist"}, "unknown data set 'nmist': did you mean 'mnist'"),
        ({"data": "none.csv"}, r"there is no file 'none\.csv'"),
        ({"data": "digits", "label": "y", "drop": ["a"]}, "data set 'digits' does not take `label`, `drop`"),
        ({"data": "digits", "id_column": "id"}, "does not take `id_column`: leave it out"),
        ({"data": "digits", "size": 9}, "does not take `size`"),
        ({"data": "digits", "task": "label>4", "classes": "3,8"}, "exclude each other: pass one of them"),
        ({"data": "digits", "classes": "3,8", "leave_out": "1"}, "exclude each other"),
        ({"data": "digits", "classes": "3,x"}, "unknown class 'x'"),
        ({"data": "digits", "task": "label>9"}, "the same sign"),
        ({"data": "digits", "scale": "huge"}, "unknown scale 'huge'"),
        ({"data": "digits", "seed": -1}, "seed must be a whole number from 0"),
        ({"data": "t.csv", "label": np.arange(3)}, "label must be the name of the label column"),
        ({"data": "t.csv", "size": 3}, "which is not a folder, does not take `size`"),
        ({"data": table()[0]}, r"labels are missing: pass \(X, y\)"),
        ({"data": table()[0], "label": "y"}, "labels are missing"),
        ({"data": table()[:1]}, r"must be \(X, y\), got 1 entry"),
        ({"data": table(), "label": "y"}, r"a tuple \(X, y\) does not take `label`"),
        ({"data": table(), "drop": ["a"]}, "whose columns have no names, does not take `drop`"),
        ({"data": table(), "test": "t.csv"}, "data in memory does not take `test`"),
        ({"data": pl.DataFrame({"a": [1.0]}), "label": "b"}, "`label`: there is no column 'b', only a"),
        ({"data": (np.zeros((9, 3, 32, 3)), np.arange(9) % 2)}, r"the axis of channels is not clear .*channels first"),
        ({"data": (np.full((9, 8, 8), 3.0), np.arange(9) % 2)}, "fractions from 0 to 1, got 3 to 3"),
        ({"data": (np.zeros((9, 8, 8), complex), np.arange(9) % 2)}, "images must be numbers"),
    ],
)
def test_what_cannot_be_loaded(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,y\n1,0\n2,1\n")
    with pytest.raises(InputError, match=message) as refused:
        load(**arguments)
    assert "\n" not in str(refused.value)
    assert "--" not in str(refused.value)


@pytest.mark.data
@pytest.mark.parametrize("name", [name for name, entry in CATALOGUE.items() if entry.files])
def test_the_default_two_classes_of_the_real_sets(name, real):
    real(name)
    problem = load(name).binary()
    assert problem.official_test
    assert norms(problem.full_train.in_unit_ball).max() <= 1 + 1e-5
    assert abs(float(problem.full_train.signs.mean())) < 0.02
    assert fetch(name).source is None


def mixed(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, rows).astype(float)
    return pl.DataFrame({
        "row": np.arange(rows) + 1,
        "age": [None if missing else value for missing, value in zip(rng.random(rows) < 0.1, age, strict=True)],
        "city": rng.choice(["Rome", "Oslo", "Bonn"], rows),
        "price": [f"{value:.2f}".replace(".", ",") for value in rng.normal(50, 9, rows)],
        "day": [f"2024-{month:02d}-15" for month in rng.integers(1, 13, rows)],
        "patient": rng.integers(0, 30, rows),
        "y": np.where(age + rng.normal(0, 9, rows) > 50, "old", "young"),
    }, strict=False)  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "parquet", "polars", "pandas"])
def test_tables_as_people_have_them(tmp_path, form):
    if form in ("csv", "parquet"):
        data = tmp_path / f"t.{form}"
        getattr(mixed(), f"write_{form}")(data)
    else:
        frame = mixed()
        data = frame if form == "polars" else pytest.importorskip("pandas").DataFrame(frame.to_dict(as_series=False))
    problem = load(data, "y", drop=["patient"])
    assert problem.encoder is not None
    assert problem.columns[:2] == ("age", "age missing")
    assert sorted(problem.columns[2:5]) == ["city=Bonn", "city=Oslo", "city=Rome"]
    assert {"column": "row", "kind": "dropped", "done": "it numbers the rows", "features": 0} in problem.treatment
    assert np.isfinite(problem.X).all()
    known = [value for value in mixed()["age"].gather(problem.parts["train"]).to_list() if value is not None]
    assert problem.encoder.steps[0].fill == np.median(known)
    prices = [float(price.replace(",", ".")) for price in mixed()["price"].to_list()]
    np.testing.assert_allclose(problem.X[:, problem.columns.index("price")], prices, rtol=1e-6)


def test_numbers_without_gaps_need_no_encoder_and_lose_only_the_column_that_numbers_rows(tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"": np.arange(50), "a": rng.normal(size=50), "one": np.ones(50), "y": np.arange(50) % 2})
    frame.write_csv(tmp_path / "t.csv")
    problem = load(tmp_path / "t.csv", "y")
    assert problem.encoder is None
    assert problem.table is None
    assert problem.columns == ("a", "one")
    assert problem.notes[0].startswith("left out, because it numbers the rows: ''")
    problem = load(tmp_path / "t.csv", "y", roles=ColumnRoles(numeric=[""]))
    assert problem.columns == ("", "a", "one")


def test_roles_override_what_values_look_like(tmp_path):
    mixed().write_csv(tmp_path / "t.csv")
    problem = load(tmp_path / "t.csv", "y", roles=ColumnRoles(numeric=["row"], categorical=["patient"]))
    assert "row" in problem.columns
    assert "patient=3" in problem.columns
    for roles, message in (
        (ColumnRoles(numeric=["city"]), "column 'city' cannot be `numeric`: row 1 has"),
        (ColumnRoles(numeric=["town"]), "has no column 'town' for `numeric`"),
        (ColumnRoles(group="y"), "`group` 'y' is the label"),
        (ColumnRoles(time="city"), "`time` 'city' has 'Oslo' in row 1, which is neither a number nor a date"),
        (ColumnRoles(time="age"), "`time` 'age' has [0-9]+ missing values [(]first in row"),
        (ColumnRoles(categorical=["patient"], group="patient"), "decides the split: leave one out"),
    ):
        with pytest.raises(InputError, match=message) as refused:
            load(tmp_path / "t.csv", "y", roles=roles)
        assert "\n" not in str(refused.value)
    with pytest.raises(InputError, match="exclude each other"):
        ColumnRoles(group="a", time="b")
    with pytest.raises(InputError, match="must be a list of columns, got 'age'"):
        ColumnRoles(numeric="age")
    with pytest.raises(InputError, match="data set 'digits' does not take `group`"):
        load("digits", roles=ColumnRoles(group="a"))


@pytest.mark.parametrize("memory", [False, True])
def test_rows_of_a_group_stay_in_one_part_and_the_latest_rows_are_tested(tmp_path, memory):
    mixed(600).write_csv(tmp_path / "t.csv")
    data = mixed(600) if memory else tmp_path / "t.csv"
    problem = load(data, "y", roles=ColumnRoles(group="patient"))
    patients = [set(problem.groups[rows]) for rows in problem.parts.values()]
    assert sum(map(len, patients)) == len(set.union(*patients))
    assert "patient" not in [one["column"] for one in problem.treatment]
    assert [round(len(rows) / 600, 1) for rows in problem.parts.values()] == [0.6, 0.2, 0.2]
    problem = load(data, "y", roles=ColumnRoles(time="day"))
    times = [problem.times[rows] for rows in problem.parts.values()]
    assert times[0].max() < times[1].min()
    assert times[1].max() < times[2].min()
    assert "day" not in [one["column"] for one in problem.treatment]


def test_rows_without_a_label_are_left_out_on_request(tmp_path):
    frame = mixed().with_columns(y=pl.when(pl.col("row") % 10 == 0).then(None).otherwise(pl.col("y")))
    frame.write_csv(tmp_path / "t.csv")
    for data in (tmp_path / "t.csv", frame):
        with pytest.raises(InputError, match=r"20 missing values .first in row 10.*`leave_out` '.missing.'"):
            load(data, "y")
        assert len(load(data, "y", leave_out="(missing)")) == 180


def test_encoder_and_scale_are_learned_from_training_rows_alone(tmp_path):
    frame = mixed()
    train = load(frame, "y").parts["train"]
    other = frame.with_row_index("n").with_columns(
        age=pl.when(pl.col("n").is_in(train.tolist())).then(pl.col("age")).otherwise(1000.0)
    )
    problems = [load(data.drop("n", strict=False), "y") for data in (frame, other)]
    assert problems[0].encoder.to_dict() == problems[1].encoder.to_dict()
    assert problems[0].scaler == problems[1].scaler


@pytest.mark.parametrize("group", [None, "patient"])
def test_each_row_is_a_test_row_of_one_fold_whose_encoder_never_saw_it(group):
    problem = load(mixed(400), "y", roles=ColumnRoles(group=group))
    folds = problem.folds(5, seed=3)
    tested = np.concatenate([fold.parts["test"] for fold in folds])
    assert sorted(tested.tolist()) == list(range(400))
    for fold in folds:
        assert sorted(np.concatenate(list(fold.parts.values())).tolist()) == list(range(400))
        known = problem.table["age"].gather(fold.parts["train"]).drop_nulls().to_numpy()
        assert {step.column: step for step in fold.encoder.steps}["age"].fill == np.median(known)
        if group:
            assert not set(fold.groups[fold.parts["test"]]) & set(fold.groups[fold.parts["train"]])
    with pytest.raises(InputError, match="cross_test must be"):
        problem.folds(1)
    with pytest.raises(InputError, match="leave out `cross_test`"):
        load(mixed(400), "y", roles=ColumnRoles(time="day")).folds(5)


def test_a_problem_with_an_encoder_keeps_it_when_classes_are_chosen():
    frame = mixed(300).with_columns(y=pl.Series(["a", "b", "c"] * 100))
    problem = load(frame, "y").binary(classes="c,a")
    assert problem.classes == ("c", "a")
    assert len(problem.table) == len(problem) == 200
    np.testing.assert_array_equal(problem.X, problem.encoder.transform(problem.table))
