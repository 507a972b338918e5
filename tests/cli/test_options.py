"""No value of any option ends in a traceback, in "unexpected", or in exit code 1."""

import pytest

from tests.cli.option_cases import COMMANDS, base, option_cases, options


def is_fine(code: int | None, error: str) -> bool:
    if code in (0, None):
        return True
    lines = error.splitlines()
    said = [line for line in lines if line.startswith("softlabel: ")]
    return code == 2 and said == lines[-1:] and "unexpected" not in error and "Traceback" not in error


def wrong_ends(call, verb: str, option: str, values: tuple[str, ...]) -> list[tuple[str, int | None, str]]:
    ends = []
    for value in values:
        words = [*verb.split(), *base(verb), *([option, value] if value == "--" else [f"{option}={value}"])]
        ends.append((value[:40], *call(words)))
    return [end for end in ends if not is_fine(*end[1:])]


@pytest.mark.parametrize(("verb", "option"), list(options()))
def test_every_value_is_accepted_or_refused_in_one_line(verb, option, call):
    assert not wrong_ends(call, verb, option, option_cases(verb, option))


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "option"), list(options()))
def test_further_values_are_accepted_or_refused_in_one_line(verb, option, call):
    assert not wrong_ends(call, verb, option, option_cases(verb, option, more=True))


def test_the_commands_without_strange_values_are_accepted(call):
    refused = {
        "explore",
        "predict",
        "report",
        "results export",
        "results resume",
        "results show",
    }  # they read what does not exist here, or would serve
    answers = {verb: call([*verb.split(), *base(verb)]) for verb in COMMANDS}
    assert {verb for verb, (code, _) in answers.items() if code not in (0, None)} == refused, answers


def test_enough_cases():
    assert sum(len(option_cases(verb, option)) for verb, option in options()) > 1500


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "audit tiny.csv --label sick --drop patient --scale max --time-limit inf",
            "--time-limit must lie between 1 and 1e+09",
        ),
        ("audit tiny.csv --label sick --drop patient --width 2147483648", "TiB are needed"),
        (
            "distill images.npz --teacher logits.npy --width-multiplier inf",
            "--width-multiplier must be a positive number, got inf; ",
        ),
        (
            "distill images.npz --teacher logits.npy --width-multiplier 900",
            "training 'vgg2+3' with --width-multiplier 900: ",
        ),
        (
            "distill images.npz --teacher logits.npy --teacher-width-multiplier 0",
            "--teacher-width-multiplier must be a positive number",
        ),
        ("distill images.npz --teacher logits.npy --temperature 1e300", "--temperature must be a positive number"),
        ("dynamics tiny.csv --label sick --strength 1e300", "--strength must lie between 0 and 1e+30, or be infinite"),
        ("dynamics tiny.csv --label sick --init-scale inf", "--init-scale must be a positive number"),
        ("margin tiny.csv --label sick --seed -1", "Invalid value for '--seed'"),
        (
            "plan tiny.csv --label sick --accuracy .9 --confirm 99999",
            "--confirm must be a whole number from 0 to",
        ),
        ("train tiny.csv --label sick --width 99999999998", "TiB are needed"),
        ("train tiny.csv --label sick --radius -1", "got -1.0; leave out --radius to train without projection"),
        ("train tiny.csv --label sick --width 3", "use 4, or --init 'gaussian'"),
        ("verdict tiny.csv --label sick --equivalence 1e-300", "--equivalence must be 0 or lie in [0.001, 50) points"),
    ],
)
def test_what_is_wrong_is_named(words, message, call):
    words = words if "--drop" in words or "images" in words else f"{words} --drop patient"
    code, error = call(words.split())
    assert code == 2
    assert message in error.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("audit nothing.csv --width 63", "--width must be an even whole number ≥ 2 (neurons come in pairs), got 63"),
        ("dynamics nothing.csv --width 9 --teacher-width 5", "--width must lie between 1 and the teacher's 5, got 9"),
        ("margin nothing.csv --init-widths 4", "--init-widths draws a figure: set --out to a directory for it"),
        ("plan nothing.csv --accuracy .9 --widths 4", "--widths must be at least two different positive integers"),
        ("train nothing.csv --seeds 0", "--seeds must be a whole number from 1 to"),
        ("train nothing.csv --radius -1", "got -1.0; leave out --radius to train without projection"),
        ("verdict nothing.csv --metric accurac", "did you mean 'accuracy'? there are accuracy, balanced-accuracy, auc"),
        ("verdict nothing.csv --confidence 1", "--confidence must lie between 0.5 and 1, got 1.0"),
    ],
)
def test_arguments_are_checked_before_data_are_loaded(words, message, call):
    code, error = call(words.split())
    assert code == 2
    assert message in error
    assert "nothing.csv" not in error
