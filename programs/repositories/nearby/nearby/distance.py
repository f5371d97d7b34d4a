"""The edit distance of two words."""


def distance(first: str, second: str) -> int:
    """The least number of letters to insert, delete or replace that makes `second` of `first`."""
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for row in range(len(first) + 1):
        table[row][0] = row
    for column in range(len(second) + 1):
        table[0][column] = column
    for row in range(1, len(first) + 1):
        for column in range(1, len(second) + 1):
            cost = 0 if first[row - 1] == second[column - 1] else 1
            table[row][column] = min(
                table[row - 1][column] + 1,
                table[row][column - 1] + 1,
                table[row - 1][column - 1] + cost,
            )
    return table[len(first)][len(second)]
