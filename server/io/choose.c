/* See choose.h. */
#include "choose.h"

#include <stdio.h>

#include "uring.h"

static_assert(IO_NOTE_LEN >= URING_WHY_LEN + 32, "the reason fits into the note");

enum weir_err io_choose(enum io_choice choice, const struct io_backend **out,
                        char note[IO_NOTE_LEN])
{
    *out = &io_epoll_backend;
    if (choice == IO_CHOICE_EPOLL) {
        snprintf(note, IO_NOTE_LEN, "io by epoll: asked for");
        return WEIR_OK;
    }
    char why[URING_WHY_LEN];
    if (uring_try(why) == WEIR_OK) {
        *out = &io_uring_backend;
        snprintf(note, IO_NOTE_LEN, "io by uring: %s", why);
        return WEIR_OK;
    }
    const char *taken = choice == IO_CHOICE_AUTO ? "io by epoll: " : "";
    snprintf(note, IO_NOTE_LEN, "%sno uring here: %s", taken, why);
    return choice == IO_CHOICE_AUTO ? WEIR_OK : WEIR_IO;
}
