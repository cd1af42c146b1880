/* See scratch.h. */
#include "scratch.h"

#include <sys/mman.h>

#include "internal/stats.h"

enum weir_err scratch_init(struct scratch *s, size_t cap, struct stats *stats)
{
    *s = (struct scratch){0};
    stats->calls.mmap++;
    void *base =
        mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return WEIR_NOMEM;
    *s = (struct scratch){.base = base, .cap = cap};
    return WEIR_OK;
}

void scratch_deinit(struct scratch *s, struct stats *stats)
{
    if (s->base == NULL)
        return;
    stats->calls.munmap++;
    munmap(s->base, s->cap);
    *s = (struct scratch){0};
}
