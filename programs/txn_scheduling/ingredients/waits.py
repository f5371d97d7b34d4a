# role: shared
# why: how long one transaction waits for another does not depend on the rest, so it is counted once for each pair
def waits(transactions):
    """A table: by how many slots a transaction (column) starts at least later than one placed before it (row).

    Where the two have no conflict, it holds a number so low that it never makes any difference.
    """
    never = -sum(length for length, _ in transactions)
    table = []
    for _, earlier in transactions:
        access, write = {}, {}
        for kind, key, position in earlier:
            access[key] = max(position, access.get(key, never))
            if kind == "w":
                write[key] = max(position, write.get(key, never))
        row = []
        for _, later in transactions:
            found = [(access if kind == "w" else write).get(key, never) - position + 1 for kind, key, position in later]
            row.append(max(found, default=never))
        table.append(row)
    return table
