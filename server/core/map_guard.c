/*
 * See map_guard.h.
 *
 * Invariant: the handler runs in the thread whose read it interrupts, and no code of this file
 * reads a map; so the list is whole whenever the handler looks at it.
 *
 * The handler calls mmap(2) alone: not on the list of signal-safety(7), but a bare system call in
 * every C library that runs on Linux.
 */
#include "map_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal/log.h"

/* Why: this model needs no call to find the variable, which a signal handler must not make. */
static __thread struct map_guard *guards __attribute__((tls_model("initial-exec")));

/* Pages of this thread's maps that were lost. */
static __thread volatile unsigned losses __attribute__((tls_model("initial-exec")));

static struct sigaction before; /* what SIGBUS did until map_guard_install() */
static uintptr_t page_len;

/* The guard of the map that an address lies in, or NULL. */
static struct map_guard *guard_find(uintptr_t address)
{
    struct map_guard *g = guards;
    while (g != NULL && address - (uintptr_t)g->buf->base >= g->buf->cap)
        g = g->next;
    return g;
}

/* Let SIGBUS do what it did before: the read is tried again, and this time nothing helps it. */
static void handler_give_up(void)
{
    sigaction(SIGBUS, &before, NULL);
}

static void handler(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    int saved_errno = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    struct map_guard *g = info->si_code > 0 ? guard_find(address) : NULL;
    if (g == NULL) {
        handler_give_up();
        return;
    }
    void *page = (void *)(address & ~(page_len - 1));
    void *zeros = mmap(page, page_len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros == MAP_FAILED)
        handler_give_up();
    g->buf->poisoned = true;
    losses = losses + 1;
    errno = saved_errno;
}

enum weir_err map_guard_install(void)
{
    page_len = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, &action, &before) == -1) {
        log_errno(LV_ERROR, errno, "cannot handle SIGBUS");
        return WEIR_IO;
    }
    return WEIR_OK;
}

unsigned map_guard_losses(void)
{
    return losses;
}

void map_guard_add(struct map_guard *g, struct weir_buf *buf)
{
    g->buf = buf;
    g->prev = NULL;
    g->next = guards;
    if (guards != NULL)
        guards->prev = g;
    atomic_signal_fence(memory_order_release);
    guards = g;
}

void map_guard_remove(struct map_guard *g)
{
    if (g->prev != NULL)
        g->prev->next = g->next;
    else
        guards = g->next;
    if (g->next != NULL)
        g->next->prev = g->prev;
    atomic_signal_fence(memory_order_release);
}
