// Reads points, prints a closed tour through them: simulated annealing by turning round stretches of the tour.

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define MOST_POINTS 1000

static int n;
static int xs[MOST_POINTS], ys[MOST_POINTS];
static int tour[MOST_POINTS];
static uint64_t state = 88172645463325252ULL;

// The distance that counts: rounded to the nearest whole number.
static int distance(int a, int b)
{
    double dx = xs[a] - xs[b], dy = ys[a] - ys[b];
    return (int)(sqrt(dx * dx + dy * dy) + 0.5);
}

// The same numbers in every run, evenly from 0 to 1.
static double chance(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

// EVOLVE-BLOCK-START
#define HOTTEST 400.0  // a move that makes the tour longer by so much is still taken one time in three at first,
#define COLDEST 30.0   // and so at the end
#define LEVELS 10      // of temperature in between
#define TRIES 20       // moves that are tried for each point at each level

static int before(int place) { return tour[(place + n - 1) % n]; }
static int after(int place) { return tour[(place + 1) % n]; }

static void turn_round(int first, int last)
{
    while (first < last) {
        int kept = tour[first];
        tour[first++] = tour[last];
        tour[last--] = kept;
    }
}

// Makes the tour shorter.
static void improve(void)
{
    for (int level = 0; level < LEVELS; level++) {
        double part = LEVELS > 1 ? (double)level / (LEVELS - 1) : 1.0;
        double heat = HOTTEST * pow(COLDEST / HOTTEST, part);
        for (int try = 0; try < TRIES * n; try++) {
            int first = (int)(chance() * n), last = (int)(chance() * n);
            if (first > last) {
                int kept = first;
                first = last;
                last = kept;
            }
            if (first == last || (first == 0 && last == n - 1))
                continue;
            int change = distance(before(first), tour[last]) + distance(tour[first], after(last))
                       - distance(before(first), tour[first]) - distance(tour[last], after(last));
            if (change <= 0 || chance() < exp(-change / heat))
                turn_round(first, last);
        }
    }
}
// EVOLVE-BLOCK-END

int main(void)
{
    if (scanf("%d", &n) != 1 || n < 1 || n > MOST_POINTS)
        return 1;
    for (int i = 0; i < n; i++) {
        if (scanf("%d %d", &xs[i], &ys[i]) != 2)
            return 1;
        tour[i] = i;
    }
    improve();
    for (int i = 0; i < n; i++)
        printf("%d\n", tour[i]);
    return 0;
}
