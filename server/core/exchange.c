/* The handler's side of an exchange: see weir/request.h and weir/response.h. */
#include "weir/request.h"
#include "weir/response.h"

#include "internal/exchange.h"

const struct weir_field *weir_request_find(const struct weir_request *r, struct weir_str name)
{
    for (size_t i = 0; i < r->field_count; i++) {
        if (weir_str_eq(r->fields[i].name, name))
            return &r->fields[i];
    }
    return NULL;
}

enum weir_err weir_respond(struct weir_request *r, const struct weir_response *resp)
{
    return r->ops->respond(r, resp);
}

void weir_response_resume(struct weir_request *r)
{
    r->ops->resume(r);
}
