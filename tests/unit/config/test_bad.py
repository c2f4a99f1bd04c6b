"""Each ``bad/bad.<mistake>.toml`` begins with the exact problems that it must be reported to have, as comments."""

from pathlib import Path

import pytest

from esproxy.cli import main
from esproxy.config import ConfigError, load

BAD = sorted(Path(__file__).parent.glob("bad/bad.*.toml"))


def expected(path: Path) -> list[str]:
    lines = path.read_text().splitlines()
    return [line.removeprefix("# ") for line in lines[: lines.index("")]]


@pytest.mark.parametrize("path", BAD, ids=[path.name.split(".")[1] for path in BAD])
def test_bad_file_is_reported_with_all_its_problems(path):
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert [str(problem) for problem in caught.value.problems] == expected(path) != []


def test_check_prints_all_problems_and_ends_with_1(capsys):
    path = Path(__file__).parent / "bad" / "bad.several.toml"
    assert main(["check", str(path)]) == 1
    told = capsys.readouterr()
    assert told.out == "" and told.err.splitlines() == [f"esproxy: {line}" for line in expected(path)]


@pytest.mark.parametrize("path", BAD, ids=[path.name.split(".")[1] for path in BAD])
def test_secret_of_a_bad_file_is_not_shown(path):
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert "hush" not in str(caught.value) and "12345" not in str(caught.value)
