/* See weir/err.h. */
#include "weir/err.h"

const char *weir_err_name(enum weir_err err)
{
    switch (err) {
#define WEIR_ERR_CASE(code, reaction)                                                              \
    case WEIR_##code: return #code;
        WEIR_ERR_MAP(WEIR_ERR_CASE)
#undef WEIR_ERR_CASE
    }
    return "?";
}
