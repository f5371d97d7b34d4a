// Prints the sum of the first numbers that it reads.
#include <iostream>

// EVOLVE-BLOCK-START
const int TERMS = 3;

long total(const long *numbers, int n) {
    long sum = 0;
    for (int i = 0; i < n && i < TERMS; i++) sum += numbers[i];
    return sum;
}
// EVOLVE-BLOCK-END

int main() {
    long numbers[100];
    int n = 0;
    while (n < 100 && std::cin >> numbers[n]) n++;
    std::cout << total(numbers, n) << std::endl;
}
