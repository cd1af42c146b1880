/* HTTP/1.1, the client's half, pipelined; answers are of known length (RFC 9112). */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

static void h1_start(struct link *k)
{
    (void)k;
}

static void h1_ask(struct link *k, struct slot *s)
{
    struct load *l = k->load;
    char text[4096];
    int len = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: %s\r\n", s->target->path,
                       l->authority);
    for (unsigned i = 0; i < l->field_count; i++)
        len += snprintf(text + len, sizeof(text) - (size_t)len, "%s\r\n", l->fields[i]);
    len += snprintf(text + len, sizeof(text) - (size_t)len, "\r\n");
    memcpy(link_reserve(k, (size_t)len), text, (size_t)len);
    s->id = k->next_id++;
}

/* The head is complete in in.kept, with its empty line. */
static void on_head(struct link *k)
{
    struct inbox *in = &k->in;
    char text[sizeof(in->kept) + 1];
    for (size_t i = 0; i < in->kept_len; i++)
        text[i] = (char)tolower(in->kept[i]);
    text[in->kept_len] = 0;
    in->slot = link_slot(k, ++in->answered);
    if (in->slot == NULL)
        load_fail("a response that nobody asked for");
    if (strncmp(text, "http/1.1 ", 9) != 0)
        load_fail("not a response of HTTP/1.1");
    unsigned status = (unsigned)strtoul(text + 9, NULL, 10);
    slot_check_status(in->slot, k->load, status);
    const char *length = strstr(text, "\r\ncontent-length:");
    in->left = 0;
    if (status != 304 && length != NULL)
        in->left = strtoul(length + 17, NULL, 10);
    else if (status != 304)
        load_fail("a response without content-length");
    in->is_in_body = true;
}

static bool kept_is_head(const struct inbox *in)
{
    return in->kept_len >= 4 && memcmp(in->kept + in->kept_len - 4, "\r\n\r\n", 4) == 0;
}

static void h1_take(struct link *k, const uint8_t *bytes, size_t len)
{
    struct inbox *in = &k->in;
    while (len > 0) {
        if (!in->is_in_body) {
            if (in->kept_len == sizeof(in->kept))
                load_fail("a head of more than %zu bytes", sizeof(in->kept));
            in->kept[in->kept_len++] = *bytes++;
            len--;
            if (!kept_is_head(in))
                continue;
            on_head(k);
        }
        size_t part = in->left < len ? in->left : len;
        slot_take_body(in->slot, bytes, part);
        bytes += part;
        len -= part;
        in->left -= part;
        if (in->left > 0)
            return;
        in->is_in_body = false;
        in->kept_len = 0;
        run_answered(k, in->slot);
        if (k->state != LINK_OPEN)
            return;
    }
}

static void h1_finish(struct link *k)
{
    (void)k;
}

const struct protocol protocol_h1 = {h1_start, h1_ask, h1_take, h1_finish, "\x08http/1.1"};
