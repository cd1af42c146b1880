/*
 * Which back end a program uses.
 */
#ifndef IO_CHOOSE_H
#define IO_CHOOSE_H

#include "io.h"

enum io_choice { IO_CHOICE_AUTO, IO_CHOICE_URING, IO_CHOICE_EPOLL };

#define IO_NOTE_LEN 200

/*
 * Take a back end; `note` says in one line which, and why.
 * Err: WEIR_IO: the one that was asked for is not to be had here, and the note says why.
 */
WEIR_MUST_USE
enum weir_err io_choose(enum io_choice choice, const struct io_backend **out,
                        char note[IO_NOTE_LEN]);

#endif
