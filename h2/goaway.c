/* See goaway.h. */
#include "goaway.h"

#include "internal/log.h"
#include "internal/stats.h"
#include "session.h"

const uint8_t h2_goaway_ping[8] = {'w', 'e', 'i', 'r', 'b', 'y', 'e', 0};

void h2_conn_terminate(struct h2_conn *h)
{
    if (h->error == 0 || h->state == H2_ENDING)
        return;
    h->state = H2_ENDING;
    if (nghttp2_session_terminate_session(h->ng, h->error) != 0)
        h->fatal = WEIR_NOMEM;
}

void h2_conn_on_goaway_sent(struct h2_conn *h, uint32_t error_code)
{
    bool is_limit = error_code == NGHTTP2_ENHANCE_YOUR_CALM;
    if (is_limit)
        h->env->stats->limit_breaches++;
    else
        h->env->stats->protocol_errors++;
    log_line(LV_INFO, "connection ended by an error of the peer c=%llu error=%s",
             (unsigned long long)h->host->id, nghttp2_http2_strerror(error_code));
    h->state = H2_ENDING;
}

void h2_conn_on_notice_sent(struct h2_conn *h)
{
    if (h->state == H2_NOTIFIED &&
        nghttp2_submit_ping(h->ng, NGHTTP2_FLAG_NONE, h2_goaway_ping) != 0)
        h2_conn_fail_with(h, WEIR_NOMEM);
}

void h2_conn_leave(struct h2_conn *h)
{
    if (h->state != H2_NOTIFIED)
        return;
    h->state = H2_LEAVING;
    if (nghttp2_submit_goaway(h->ng, NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(h->ng), NGHTTP2_NO_ERROR,
                              NULL, 0) != 0)
        h2_conn_fail_with(h, WEIR_NOMEM);
}
