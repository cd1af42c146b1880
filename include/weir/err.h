/*
 * Results of functions that can fail, and the attributes of exported functions.
 *
 * A code names the reaction that is due, not the cause: the cause is logged once, where it is
 * known, and the caller only needs to know what to do next.
 */
#ifndef WEIR_ERR_H
#define WEIR_ERR_H

#define WEIR_MUST_USE __attribute__((warn_unused_result))
#define WEIR_PUBLIC __attribute__((visibility("default")))

/* code, reaction */
#define WEIR_ERR_MAP(X)                                                                            \
    X(OK, "done")                                                                                  \
    X(AGAIN, "not now: call again when there is more to work on")                                  \
    X(CLOSED, "orderly end: flush, then close")                                                    \
    X(STREAM, "reset this stream; the connection goes on")                                         \
    X(PROTO, "the peer broke the protocol: say so, then close")                                    \
    X(LIMIT, "the peer went over a limit: say so, then close")                                     \
    X(IO, "the transport failed: close without a word")                                            \
    X(NOMEM, "out of memory: shed this connection")                                                \
    X(CONFIG, "the operator's input is wrong: refuse to start")

enum weir_err {
#define WEIR_ERR_ENUM(code, reaction) WEIR_##code,
    WEIR_ERR_MAP(WEIR_ERR_ENUM)
#undef WEIR_ERR_ENUM
};

/* The code's name without prefix ("NOMEM").  Borrowed: a literal.  Thread: any. */
WEIR_PUBLIC const char *weir_err_name(enum weir_err err);

/* Drop a result on purpose.  A (void) cast does not silence WEIR_MUST_USE. */
static inline void weir_ignore(enum weir_err err)
{
    (void)err;
}

#endif
