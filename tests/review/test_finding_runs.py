from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.core.errors import InputError
from evolve.review.runs import known_runs, resolve_run, run_names


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("monday", "tuesday"):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        (folder / "journal.jsonl").touch()
    (tmp_path / "runs" / "notes").mkdir()


def test_a_run_is_found_by_name_and_by_path(tmp_path):
    assert resolve_run("monday") == Path("runs/monday")
    assert resolve_run("runs/monday") == Path("runs/monday")
    assert resolve_run(str(tmp_path / "runs" / "monday")).name == "monday"


def test_a_run_wins_over_a_folder_that_happens_to_bear_its_name(tmp_path):
    (tmp_path / "monday").mkdir()
    assert resolve_run("monday") == Path("runs/monday")


def test_runs_are_called_by_no_more_of_their_paths_than_tells_them_apart():
    assert run_names([Path("x1/a"), Path("x2/b")]) == ["a", "b"]
    assert run_names([Path("x1/a"), Path("x2/a"), Path("x2/b")]) == ["x1/a", "x2/a", "x2/b"]
    assert run_names([Path("x/1/a"), Path("y/1/a")]) == ["x/1/a", "y/1/a"]
    assert run_names([Path("x1/a"), Path("x1/../x1/a")]) == ["a", "a"]


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=4).map(lambda parts: Path("/", *parts)), max_size=5))
def test_two_runs_have_one_name_where_they_are_one_folder_and_nowhere_else(folders):
    names = run_names(folders)
    assert len(names) == len(folders)
    assert len(set(zip(names, folders, strict=True))) == len(set(names)) == len(set(folders))


def test_only_runs_are_listed():
    assert known_runs() == ["monday", "tuesday"]


def test_an_unknown_name_is_answered_with_the_nearest_one_and_the_others():
    with pytest.raises(InputError, match=r"no run 'monady': did you mean 'monday'\? runs/ has monday, tuesday"):
        resolve_run("monady")


def test_an_empty_place_says_how_to_begin(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="evolve run"):
        resolve_run("monday")


@pytest.mark.parametrize("name", ["", "\x00", "a\x1b[31m\nb", "x" * 5000])
def test_an_impossible_name_is_one_harmless_line(name):
    with pytest.raises(InputError) as caught:
        resolve_run(name)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 400
