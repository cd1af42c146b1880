/*
 * Who holds on to a buf: with the CMake option WEIR_REF_TRACE every reference is counted at the
 * line that took or dropped it.
 *
 * The compiler reads this file before each of ours (-include), so that weir/buf.h stays as it is
 * and other builds are not touched at all.  The macros carry the names of the functions that they
 * wrap; inside its own expansion a macro's name means the function.
 *
 * A drop cannot be paired with a take, since references have no names.  What is kept for a buf is
 * how often each line took and dropped one, until the last is gone.
 * Thread: any; one lock.  For builds in which speed does not matter.
 */
#ifndef CORE_REF_TRACE_H
#define CORE_REF_TRACE_H

#include <stddef.h>

#include "weir/buf.h"

/* A line of code. */
struct ref_site {
    const char *file;
    int line;
};

/* Count a reference that was taken.  Gives b back; NULL is fine. */
struct weir_buf *ref_trace_take(struct weir_buf *b, struct ref_site site);

/* Count a reference that is about to be dropped.  NULL is fine. */
void ref_trace_drop(struct weir_buf *b, struct ref_site site);

/* Log who took and dropped references of the live bufs in a range of addresses, a line per site. */
void ref_trace_report(const void *base, size_t len);

/* The memory of that range is gone, and so are its bufs. */
void ref_trace_forget(const void *base, size_t len);

static inline struct weir_slice ref_trace_slice(struct weir_slice s, struct ref_site site)
{
    ref_trace_take(s.buf, site);
    return s;
}

static inline void ref_trace_unref(struct weir_buf **slot, struct ref_site site)
{
    ref_trace_drop(*slot, site);
    weir_buf_unref(slot);
}

static inline void ref_trace_slice_drop(struct weir_slice *s, struct ref_site site)
{
    ref_trace_drop(s->buf, site);
    weir_slice_drop(s);
}

#define REF_HERE ((struct ref_site){__FILE__, __LINE__})
/* NOLINTBEGIN(readability-identifier-naming): the names are those of functions */
#define weir_buf_ref(b) ref_trace_take(weir_buf_ref(b), REF_HERE)
#define weir_buf_unref(slot) ref_trace_unref(slot, REF_HERE)
#define weir_slice_of(b, ptr, len) ref_trace_slice(weir_slice_of(b, ptr, len), REF_HERE)
#define weir_slice_drop(s) ref_trace_slice_drop(s, REF_HERE)
/* NOLINTEND(readability-identifier-naming) */

#endif
