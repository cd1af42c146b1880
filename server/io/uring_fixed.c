/*
 * See uring.h: the pool's memory as a registered buffer.
 *
 * For a zero-copy send the kernel looks up the pages, pins them and lets them go again.  Those of a
 * registered buffer are pinned once and for all.  To register the whole arena would pin all that
 * the worker may ever use.  But an arena is handed out from its start on, so what is in use is its
 * front, and the buffer is that, replaced by a longer one as sends come from beyond it:
 *
 *     lead, arena:  [ handed out .......................... | not touched yet ......... ]
 *              [ the buffer .......... ]
 *              [ the next one, rounded up to a huge page ..... ]
 *
 * The list of a send may lie anywhere in it, which several buffers would not allow.  Requests that
 * are under way keep the pages that they began with.
 *
 * Why: the lead, a page that belongs to no huge page.  Where a buffer consists of huge pages alone,
 * the kernel keeps it as such and charges a socket for all of one up to where the bytes end (seen
 * in 6.18): a record in the middle of one counts as 1 MiB, the socket is full after two, and sends
 * are five times as many.  A small page in front makes it keep 4 KiB pages.
 */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal/limits.h"
#include "internal/log.h"
#include "internal/stats.h"
#include "mem.h"
#include "uring.h"

/* The buffer's granularity: of huge pages, where there are any, none is in use by half. */
#define PAGE_LEN ((size_t)2 * 1024 * 1024)
/* sends from beyond the buffer after which it grows by less than a quarter, too */
#define MISSES_MAX 64

/* To this process the kernel applies no limit of pinned memory. */
static bool may_pin_all(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, caps) == -1)
        return false;
    return (caps[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

/*
 * Bytes that this loop may register.  Of a limit half is left to sends from elsewhere: what they
 * pin counts while they last.
 */
static size_t pin_max(size_t loops)
{
    struct rlimit limit;
    if (may_pin_all() || getrlimit(RLIMIT_MEMLOCK, &limit) == -1)
        return LIMIT_PINNED;
    size_t share = limit.rlim_cur / 2 / (loops > 0 ? loops : 1);
    return share < LIMIT_PINNED ? share : LIMIT_PINNED;
}

void uring_fixed_open(struct uring *u)
{
    const struct arena *arena = &u->io.env.mem->arena;
    size_t len = arena->spans * ARENA_SPAN_LEN;
    size_t max = (u->features & URING_HAS_FIXED) ? pin_max(u->io.env.loops) : 0;
    u->fixed = (struct uring_fixed){.max = (max < len ? max : len) / PAGE_LEN * PAGE_LEN};
}

/* Bytes from the start of the arena to the end of the list; SIZE_MAX if some lie elsewhere. */
static size_t list_end(const struct arena *arena, const struct iovec *iov, size_t count)
{
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = (uintptr_t)iov[i].iov_base - (uintptr_t)arena->base; /* below it: very large */
        if (at >= arena->spans * ARENA_SPAN_LEN)
            return SIZE_MAX;
        if (at + iov[i].iov_len > end)
            end = at + iov[i].iov_len;
    }
    return end;
}

/*
 * A send is from beyond the buffer: replace it by what is handed out by now.  That pins all of it
 * once more, so it waits for a quarter more, or for a need that has shown itself.
 */
static void fixed_grow(struct uring *u)
{
    struct uring_fixed *f = &u->fixed;
    const struct arena *arena = &u->io.env.mem->arena;
    struct stats *stats = u->io.env.stats;
    size_t len = (arena->spans_used * ARENA_SPAN_LEN + PAGE_LEN - 1) / PAGE_LEN * PAGE_LEN;
    if (len > f->max)
        len = f->max;
    f->misses++;
    if (len <= f->len || (len <= f->len + f->len / 4 && f->misses < MISSES_MAX))
        return;
    f->misses = 0;
    const struct iovec iov = {.iov_base = arena->base - ARENA_LEAD_LEN,
                              .iov_len = ARENA_LEAD_LEN + len};
    const __u64 no_tag = 0;
    stats->calls.io_uring_register++;
    int rv = io_uring_register_buffers_update_tag(&u->ring, URING_POOL_BUFFER, &iov, &no_tag, 1);
    if (rv == 1) {
        stats->zero_copy_pinned += len - f->len;
        f->len = len;
        return;
    }
    f->max = f->len; /* there is a limit, and it stays */
    stats->zero_copy_unpinned++;
    log_line(LV_WARN, "zero-copy sends: cannot keep %zu MiB of memory pinned: %s", len >> 20,
             strerrordesc_np(rv < 0 ? -rv : EAGAIN));
}

bool uring_fixed_covers(struct uring *u, const struct iovec *iov, size_t count)
{
    struct uring_fixed *f = &u->fixed;
    if (f->max == 0 || (count > 1 && (u->features & URING_HAS_FIXED_LISTS) == 0))
        return false;
    size_t end = list_end(&u->io.env.mem->arena, iov, count);
    if (end > f->len && end <= f->max)
        fixed_grow(u);
    return end <= f->len;
}
