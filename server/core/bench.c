/* See internal/bench.h: the option, and what it sets. */
#include "internal/bench.h"

#include <string.h>

bool bench_copies;

void bench_take_option(int *argc, char **argv)
{
    for (int i = 1; i + 1 < *argc; i++) {
        if (strcmp(argv[i], "--output") != 0)
            continue;
        bench_copies = strcmp(argv[i + 1], "copy") == 0;
        memmove(argv + i, argv + i + 2,
                (size_t)(*argc - i - 1) * sizeof(*argv)); /* with the NULL */
        *argc -= 2;
        return;
    }
}
