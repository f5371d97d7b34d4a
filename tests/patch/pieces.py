"""What random programs, patches and answers are made of."""

from hypothesis import strategies as st

# Statements that stand on their own: any sequence of them is a program. Many are equal, or equal but for blanks.
STATEMENTS = st.sampled_from(
    [
        "x = 1\n",
        "x = 1 \n",
        "x = 2\n",
        "\n",
        "  \n",
        "# note\n",
        "def f(a):\n    x = 1\n    return a\n",
        "def f(a):\n    if a:\n        x = 1\n        return a\n    x = 1\n",
        "if x:\n\tx = 1\n",
        "if x:\n  x = 1\n\n  x = 2\n",
        "s = '''\n=======\n'''\n",
        "s = '''\n<<<<<<< SEARCH\n'''\n",
        "s = '''\n>>>>>>> REPLACE\n</CODE>\n<CODE>\n</DIFF>\n'''\n",
        "s = '''\n```\n'''\n",
        "s = 'ä\x0c\x85\u2028'\n",
    ]
)
BODIES = st.lists(STATEMENTS, max_size=8).map("".join)

PIECES = st.one_of(
    STATEMENTS,
    st.sampled_from(
        [
            "<<<<<<< SEARCH\n",
            "=======\n",
            ">>>>>>> REPLACE\n",
            "<DIFF>\n",
            "</DIFF>\n",
            "<CODE>\n",
            "</CODE>\n",
            "<NAME>",
            "</NAME>\n",
            "<DESCRIPTION>",
            "</DESCRIPTION>\n",
            "```python\n",
            "```\n",
            "# EVOLVE-BLOCK-START\n",
            "# EVOLVE-BLOCK-END\n",
            "x =\n",
            "\0",
            "\udc80",
            "\r\n",
            "\r",
            "    ",
        ]
    ),
    st.builds("<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE\n".format, BODIES, st.one_of(BODIES, st.text(max_size=20))),
    st.text(max_size=20),
)
