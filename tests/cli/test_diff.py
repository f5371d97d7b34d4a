def test_the_diff_of_two_programs_can_be_applied(family, evolve):
    assert evolve("diff", "family", "0", "best").splitlines() == [
        f"--- generation 0 ({family.find('0').commit[:8]})",
        f"+++ generation 3 ({family.find('3').commit[:8]})",
        "@@ -1,3 +1,3 @@",
        " a = 1",
        "-b = 2",
        "-c = 3",
        "+b = 22",
        "+c = 33",
    ]


def test_the_scores_are_printed_outside_the_diff(family, evolve, capsys):
    evolve("diff", "family", "0", "1")
    from evolve.cli.main import main

    main(["diff", "family", "0", "1"])
    assert "generation 1: 22.000000 (ceiling 26.000000, gap 4.000000)" in capsys.readouterr().err


def test_equal_sources_are_said_to_be_equal(family, capsys):
    from evolve.cli.main import main

    assert main(["diff", "family", "1", "1"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "are equal" in err


def test_an_unknown_program_is_named(family, evolve):
    assert "42" in evolve("diff", "family", "0", "42", code=2)


def test_a_hostile_source_is_harmless_on_a_terminal(hostile, on_terminal):
    screen = on_terminal("diff", "hostile", "0", "1", NO_COLOR="1")
    assert "red\\x1b[31m" in screen
    assert "\x1b[31m" not in screen
