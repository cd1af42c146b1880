/* See internal/bench.h: the option, and what it sets. */
#include "internal/bench.h"

#include <string.h>

bool bench_copies;
bool bench_reads;
bool (*bench_read)(const struct weir_slice *from, uint8_t *to);

void bench_take_option(int *argc, char **argv)
{
    for (int i = 1; i + 1 < *argc; i++) {
        if (strcmp(argv[i], "--output") != 0)
            continue;
        bench_reads = strcmp(argv[i + 1], "copy") == 0;
        bench_copies = bench_reads || strcmp(argv[i + 1], "copy-cached") == 0;
        memmove(argv + i, argv + i + 2,
                (size_t)(*argc - i - 1) * sizeof(*argv)); /* with the NULL */
        *argc -= 2;
        return;
    }
}
