/* See ready_heads.h. */
#include "ready_heads.h"

#include <stdint.h>
#include <string.h>

#include "clock.h"
#include "head_write.h"
#include "internal/limits.h"
#include "mem.h"
#include "weir/gather.h"

/* Behind the date: the ends of its line and of the head. */
#define AFTER_DATE 4

struct ready_head {
    uint64_t fields_id;
    uint64_t body_len;
    size_t len;
    uint16_t status;
    bool is_head;
    char bytes[];
};

struct ready_heads {
    struct mem *mem;                             /* Borrowed */
    struct ready_head *slots[LIMIT_READY_HEADS]; /* Own; by fields_id */
};

enum weir_err ready_heads_new(struct mem *mem, struct ready_heads **out)
{
    struct ready_heads *r = mem_take_zeroed(mem, sizeof(*r));
    *out = r;
    if (r == NULL)
        return WEIR_NOMEM;
    r->mem = mem;
    return WEIR_OK;
}

void ready_heads_free(struct ready_heads *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < LIMIT_READY_HEADS; i++)
        mem_give(r->slots[i]);
    mem_give(r);
}

static size_t slot_of(const struct weir_response *resp)
{
    return (size_t)(resp->fields_id % LIMIT_READY_HEADS);
}

static struct ready_head *ready_find(const struct ready_heads *r, const struct weir_response *resp,
                                     bool is_head)
{
    if (r == NULL || resp->fields_id == 0)
        return NULL;
    struct ready_head *h = r->slots[slot_of(resp)];
    bool is_same = h != NULL && h->fields_id == resp->fields_id && h->body_len == resp->body_len &&
                   h->status == resp->status && h->is_head == is_head;
    return is_same ? h : NULL;
}

bool ready_heads_has(const struct ready_heads *r, const struct weir_response *resp, bool is_head)
{
    return ready_find(r, resp, is_head) != NULL;
}

/* Keep the head that `made` holds in one piece.  If there is no memory, it is not kept. */
static void ready_keep(struct ready_heads *r, const struct weir_gather *made,
                       const struct weir_response *resp, bool is_head)
{
    struct ready_head *h = mem_take(r->mem, sizeof(*h) + made->len);
    if (h == NULL)
        return;
    *h = (struct ready_head){
        .fields_id = resp->fields_id,
        .body_len = resp->body_len,
        .len = made->len,
        .status = resp->status,
        .is_head = is_head,
    };
    memcpy(h->bytes, weir_gather_front(made)->ptr, made->len);
    struct ready_head **slot = &r->slots[slot_of(resp)];
    mem_give(*slot);
    *slot = h;
}

static enum weir_err ready_make(struct ready_heads *r, struct weir_gather *out,
                                const struct weir_response *resp, bool is_head,
                                const struct clock *clock)
{
    const struct head_context context = {
        .is_head = is_head,
        .connection = CONNECTION_UNSAID,
        .date = clock->date,
    };
    if (r == NULL || resp->fields_id == 0)
        return head_write(out, resp, &context);
    struct weir_gather made;
    weir_gather_init(&made, r->mem);
    enum weir_err err = head_write(&made, resp, &context);
    if (err == WEIR_OK && made.count == 1)
        ready_keep(r, &made, resp, is_head);
    if (err == WEIR_OK)
        err = weir_gather_split(&made, made.len, out);
    weir_gather_deinit(&made);
    return err;
}

enum weir_err ready_heads_write(struct ready_heads *r, struct weir_gather *out,
                                const struct weir_response *resp, bool is_head,
                                const struct clock *clock)
{
    struct ready_head *h = ready_find(r, resp, is_head);
    if (h == NULL)
        return ready_make(r, out, resp, is_head, clock);
    memcpy(h->bytes + h->len - AFTER_DATE - CLOCK_DATE_LEN, clock->date, CLOCK_DATE_LEN);
    return weir_gather_append_copy(out, h->bytes, h->len);
}
