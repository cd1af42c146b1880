/*
 * Static probes (USDT) for bpftrace, perf and SystemTap: bench/trace/ has scripts that use them.
 *
 * A probe is one nop and a note in the binary that says where it is and where its arguments are; it
 * costs that nop until someone attaches.  Where <sys/sdt.h> (Debian: systemtap-sdt-dev) was missing
 * when weir was built there are none.
 *
 *     turn_begin      (worker)                  completions are about to be worked on
 *     conn_open       (connection, is_tls)
 *     conn_close      (connection)
 *     input           (connection, bytes)       bytes have come
 *     request_start   (connection, request)     a head is complete: the handler is called
 *     request_first   (connection, request)     the head of the response is framed
 *     request_end     (connection, request)     all of the response is framed
 *     seal_begin      (connection, bytes)       cleartext that is to become records
 *     record_sealed   (bytes)
 *     seal_end        (connection)
 *     flush_begin     (connection, bytes)       a list is given to the kernel
 *     flush_end       (connection, result)      it is done with it: bytes, or a negative errno
 *
 * connection is its number, request the address of its object: unique among those alive.
 */
#ifndef INTERNAL_PROBES_H
#define INTERNAL_PROBES_H

#if defined(__has_include)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#endif
#endif

#ifdef DTRACE_PROBE1
#define WEIR_PROBE1(name, a) DTRACE_PROBE1(weir, name, a)
#define WEIR_PROBE2(name, a, b) DTRACE_PROBE2(weir, name, a, b)
#else
#define WEIR_PROBE1(name, a) ((void)(a))
#define WEIR_PROBE2(name, a, b) ((void)(a), (void)(b))
#endif

#endif
