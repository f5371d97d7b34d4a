"""Merge sort, that halves."""

# EVOLVE-BLOCK-START
SMALL = 1


def ordered(numbers):
    if len(numbers) <= SMALL:
        return list(numbers)
    middle = len(numbers) // 2
    one, other = ordered(numbers[:middle]), ordered(numbers[middle:])
    result, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        if other[j] < one[i]:
            result.append(other[j])
            j += 1
        else:
            result.append(one[i])
            i += 1
    return result + one[i:] + other[j:]
# EVOLVE-BLOCK-END
