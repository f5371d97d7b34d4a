"""The benchmark: nearest words for misspelt ones, from a fixed list."""

import random

from nearby import nearest

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def main() -> None:
    """Search 12 words in a list of 1,000."""
    generator = random.Random(1)
    words = ["".join(generator.choices(LETTERS, k=generator.randint(4, 10))) for _ in range(1000)]
    for word in generator.sample(words, 12):
        nearest(word[1:] + generator.choice(LETTERS), words)


if __name__ == "__main__":
    main()
