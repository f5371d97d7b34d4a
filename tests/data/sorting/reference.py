"""Merge sort, from the bottom up."""


def ordered(numbers):
    runs = [[number] for number in numbers]
    while len(runs) > 1:
        runs = [merged(runs[i], runs[i + 1]) if i + 1 < len(runs) else runs[i] for i in range(0, len(runs), 2)]
    return runs[0] if runs else []


def merged(one, other):
    result, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        if other[j] < one[i]:
            result.append(other[j])
            j += 1
        else:
            result.append(one[i])
            i += 1
    return result + one[i:] + other[j:]
