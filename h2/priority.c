/* See priority.h. */
#include "priority.h"

/* Step over a quoted string; *at is behind its first quote.  False: it has no end. */
static bool skip_quoted(struct weir_str s, size_t *at)
{
    while (*at < s.len) {
        char c = s.ptr[(*at)++];
        if (c == '"')
            return true;
        if (c == '\\')
            (*at)++;
    }
    return false;
}

/*
 * The text up to the next comma that is not within quotes, which is stepped over as well; another
 * member is to follow then.
 */
static bool next_member(struct weir_str s, size_t *at, struct weir_str *member, bool *has_more)
{
    size_t begin = *at;
    while (*at < s.len && s.ptr[*at] != ',') {
        if (s.ptr[(*at)++] == '"' && !skip_quoted(s, at))
            return false;
    }
    *member = (struct weir_str){s.ptr + begin, *at - begin};
    *has_more = *at < s.len;
    *at += *has_more;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Without white space around it, nor parameters. */
static struct weir_str bare(struct weir_str s)
{
    while (s.len > 0 && is_blank(s.ptr[0])) {
        s.ptr++;
        s.len--;
    }
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == ';')
            s.len = i;
    }
    while (s.len > 0 && is_blank(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

static bool is_key(char c)
{
    return (c >= 'a' && c <= 'z') || c == '*';
}

/* One member of the dictionary.  False: it is wrong. */
static bool priority_take(struct priority *p, struct weir_str member)
{
    if (member.len == 0 || !is_key(member.ptr[0]))
        return false;
    if (member.ptr[0] == 'u' && member.len > 1 && member.ptr[1] == '=') {
        if (member.len != 3 || member.ptr[2] < '0' || member.ptr[2] > '7')
            return false;
        p->urgency = (uint8_t)(member.ptr[2] - '0');
    } else if (weir_str_eq(member, WEIR_STR("i")) || weir_str_eq(member, WEIR_STR("i=?1"))) {
        p->is_incremental = true;
    } else if (weir_str_eq(member, WEIR_STR("i=?0"))) {
        p->is_incremental = false;
    } else if (member.ptr[0] == 'i' && member.len > 1 && member.ptr[1] == '=') {
        return false;
    }
    return !weir_str_eq(member, WEIR_STR("u"));
}

void priority_parse(struct priority *p, struct weir_str value)
{
    struct priority found = {p->urgency, p->is_incremental, true};
    p->is_given = true;
    bool has_more = value.len > 0;
    for (size_t at = 0; has_more;) {
        struct weir_str member;
        if (!next_member(value, &at, &member, &has_more) || !priority_take(&found, bare(member)))
            return;
    }
    *p = found;
}
