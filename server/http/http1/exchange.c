/* See exchange.h. */
#include "exchange.h"

#include "head_write.h"
#include "internal/assert.h"
#include "internal/exchange.h"
#include "internal/log.h"
#include "mem.h"
#include "ready_heads.h"
#include "http1_session.h"

static const struct weir_field text_fields[] = {
    {WEIR_STR_INIT("content-type"), WEIR_STR_INIT("text/plain")},
};

static void response_release(struct weir_response *resp)
{
    const struct weir_source *source = resp->source;
    resp->source = NULL;
    if (source != NULL && source->release != NULL)
        source->release(resp->ctx);
}

static void exchange_free(struct http1_exchange *x)
{
    weir_buf_unref(&x->head_buf);
    mem_give(x->head_copy);
    mem_give(x);
}

static void exchange_wake(struct http1 *h)
{
    if (!h->in_call)
        h->host->wake(h->host);
}

/* Answer with a short text instead of what was or would be the response. */
static void exchange_say(struct http1_exchange *x, unsigned status)
{
    response_release(&x->response);
    x->text = status_text(status);
    x->response = (struct weir_response){
        .status = (uint16_t)status,
        .fields = text_fields,
        .field_count = sizeof(text_fields) / sizeof(text_fields[0]),
        .body_len = x->text.len,
    };
    x->state = EXCHANGE_ANSWERED;
}

static enum weir_err exchange_respond(struct weir_request *r, const struct weir_response *resp)
{
    struct http1_exchange *x = container_of(r, struct http1_exchange, request);
    WEIR_ASSERT(x->handler_owes);
    struct weir_response given = *resp;
    x->handler_owes = false;
    if (x->session == NULL) {
        response_release(&given);
        exchange_free(x);
        return WEIR_CLOSED;
    }
    if (x->state != EXCHANGE_WAITING) { /* we have answered ourselves */
        response_release(&given);
        return WEIR_CLOSED;
    }
    x->response = given;
    x->state = EXCHANGE_ANSWERED;
    if (!ready_heads_has(x->session->env->heads, &x->response, x->is_head) &&
        !response_is_sound(&x->response, x->is_head)) {
        log_line(LV_ERROR, "http1: a handler's response cannot be sent: c=%llu status=%u",
                 (unsigned long long)x->session->host->id, (unsigned)resp->status);
        exchange_say(x, 500);
    }
    exchange_wake(x->session);
    return WEIR_OK;
}

static void exchange_resume(struct weir_request *r)
{
    struct http1_exchange *x = container_of(r, struct http1_exchange, request);
    x->is_blocked = false;
    if (x->session != NULL)
        exchange_wake(x->session);
}

static const struct exchange_ops ops = {.respond = exchange_respond, .resume = exchange_resume};

struct http1_exchange *http1_exchange_new(struct http1 *h, size_t field_cap)
{
    struct http1_exchange *x = mem_take(h->env->mem, sizeof(*x) + field_cap * sizeof(x->fields[0]));
    if (x == NULL)
        return NULL;
    *x = (struct http1_exchange){.session = h, .field_cap = field_cap};
    x->request.fields = x->fields;
    x->request.ops = &ops;
    return x;
}

void http1_exchange_queue(struct http1 *h, struct http1_exchange *x)
{
    if (h->last == NULL)
        h->first = x;
    else
        h->last->next = x;
    h->last = x;
    h->open++;
}

struct http1_exchange *http1_exchange_take(struct http1 *h)
{
    struct http1_exchange *x = h->first;
    h->first = x->next;
    if (h->first == NULL)
        h->last = NULL;
    x->next = NULL;
    h->open--;
    if (h->body.exchange == x)
        h->body.exchange = NULL;
    return x;
}

void http1_exchange_make_last(struct http1 *h)
{
    http1_end_input(h);
    struct http1_exchange *only = http1_exchange_take(h);
    while (h->first != NULL)
        http1_exchange_end(http1_exchange_take(h));
    http1_exchange_queue(h, only);
}

void http1_exchange_refuse(struct http1_exchange *x, unsigned status)
{
    const struct protocol_env *env = x->session->env;
    WEIR_ASSERT(x->state != EXCHANGE_SENDING);
    response_release(&x->response);
    x->is_blocked = false;
    if (env->refuse == NULL) {
        exchange_say(x, status);
        return;
    }
    bool handler_owes = x->handler_owes; /* it may still answer, and then too late */
    x->state = EXCHANGE_WAITING;
    x->handler_owes = true;
    env->refuse(env->handler_ctx, &x->request, status);
    x->handler_owes = handler_owes;
}

void http1_exchange_end(struct http1_exchange *x)
{
    response_release(&x->response);
    x->session = NULL;
    if (!x->handler_owes)
        exchange_free(x);
}
