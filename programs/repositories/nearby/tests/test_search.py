from nearby import nearest

WORDS = ["apple", "maple", "ample", "apply", "grape", "orange"]


def test_the_nearest_come_first() -> None:
    assert nearest("appel", WORDS, 2) == ["apple", "apply"]


def test_among_equals_the_earlier_ones_come_first() -> None:
    assert nearest("mple", WORDS, 2) == ["maple", "ample"]


def test_all_words_where_there_are_fewer() -> None:
    assert nearest("x", ["a"], 3) == ["a"]


def test_a_known_word_is_nearest_to_itself() -> None:
    assert nearest("grape", WORDS, 1) == ["grape"]
