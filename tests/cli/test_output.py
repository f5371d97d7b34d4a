import subprocess
import sys

import pytest
from rich.console import Console

from evolve.cli import drawing, output
from evolve.review.table import Cell, Column, Fit, Table

READ_ONLY_COMMANDS = ("score", "list", "show", "diff", "lineage", "export", "replay", "doctor")


def test_columns_are_aligned_also_under_wide_letters(capsys):
    columns = (Column("name"), Column("n", number=True))
    output.print_table(Table(columns=columns, rows=((Cell("日本"), Cell("1")), (Cell("abc"), Cell("10")))))
    assert capsys.readouterr().out == "name   n\n日本   1\nabc   10\n"


def test_a_cell_cannot_leave_its_row(capsys):
    output.print_table(Table(columns=(Column("name"),), rows=((Cell("a\nb\x1b[2J\u2028c" + "d" * 10**6),),)))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith(r"a\nb\x1b[2J\u2028cd")
    assert lines[1].endswith("characters cut]")


def test_json_is_ascii_and_refuses_nan(capsys):
    output.print_json({"name": "\ud800é\x1b"})
    assert capsys.readouterr().out == '{\n  "name": "\\ud800\\u00e9\\u001b"\n}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        output.print_json({"score": float("nan")})


def test_fields_keep_line_breaks_and_nothing_else(capsys):
    output.print_fields([("a", "1\n2"), ("long", Cell("x\x07"))])
    assert capsys.readouterr().out == "a     1\n      2\nlong  x\\x07\n"


def test_an_ascii_terminal_gets_escapes_instead_of_an_error():
    code = "from evolve.cli import output; output.say('naïve 日')"
    ran = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONIOENCODING": "ascii"}, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "na\\xefve \\u65e5\n"


@pytest.mark.parametrize("available", [30, 60, 80, 200])
def test_narrow_terminals_lose_spare_columns_first_then_width(available):
    columns = (
        Column("program", fit=Fit.FOLD),
        Column("score", number=True),
        Column("spare", number=True, fit=Fit.SPARE),
        Column("patch", fit=Fit.CUT),
    )
    fitted = drawing.fitted_widths(columns, (60, 8, 8, 40), available)
    assert {0, 1, 3} <= set(fitted)
    assert fitted[1] == 8
    assert fitted[0] >= 32
    assert fitted[3] >= 16
    assert (2 in fitted) == (available >= 80)
    if available >= 60:
        assert sum(fitted.values()) + 2 * (len(fitted) - 1) <= available


def test_a_sentence_in_a_table_is_broken_into_lines_and_never_cut(capsys):
    sentence = " ".join(f"word{number}" for number in range(40))
    columns = Column("check"), Column("detail", fit=Fit.TEXT)
    table = Table(columns=columns, rows=((Cell("disk"), Cell(sentence)),))
    output.print_table(table)
    assert sentence in capsys.readouterr().out
    drawn, _ = drawing.draw_table(table, 60)
    Console(width=60).print(drawn)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert " ".join(line[4:].strip() for line in lines[1:]) == sentence


def test_a_sentence_in_a_table_keeps_its_lines(capsys):
    columns = Column("check"), Column("state"), Column("detail", fit=Fit.TEXT)
    sentence = "exception: Traceback\n  line 5, in pick\n\x1b[31mValueError"
    rows = (Cell("task"), Cell("broken"), Cell(sentence)), (Cell("disk"), Cell("ok"), Cell("free"))
    shown = ["task   broken  exception: Traceback", " " * 17 + "line 5, in pick", " " * 15 + "\\x1b[31mValueError"]
    output.print_table(Table(columns=columns, rows=rows))
    assert capsys.readouterr().out.splitlines()[1:] == [*shown, "disk   ok      free"]
    drawn, _ = drawing.draw_table(Table(columns=columns, rows=rows), 60)
    Console(width=60).print(drawn)
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()[1:4]] == shown


def test_asking_a_command_for_help_loads_nothing_heavy():
    script = (
        "import sys\nfrom evolve.cli.main import main\n"
        f"for command in {READ_ONLY_COMMANDS!r}:\n"
        "    try:\n        main([command, '--help'])\n    except SystemExit as end:\n        assert end.code == 0\n"
        "    heavy = {'openai', 'git', 'rich', 'numpy', 'pydantic', 'yaml', 'evaluator.evaluator'} & set(sys.modules)\n"
        "    assert not heavy, (command, heavy)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert all(f" {command} " in ran.stdout for command in READ_ONLY_COMMANDS)
