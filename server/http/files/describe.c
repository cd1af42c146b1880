/* See describe.h. */
#include "describe.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cache_control.h"
#include "clock.h"
#include "digest.h"
#include "internal/assert.h"
#include "mem.h"
#include "mime.h"
#include "root.h"

/* Lists of fields that a description stands for. */
#define FILE_LISTS 3

/* What is to be said, before it is known how much memory that takes. */
struct draft {
    struct weir_field fields[FILE_FIELDS];
    char content_length[21];
    char etag[ETAG_CAP];
    char last_modified[30];
    struct description head; /* the last, since it may have more behind it */
};

static void add_field(struct draft *d, struct weir_str name, struct weir_str value)
{
    WEIR_ASSERT(d->head.field_count < FILE_FIELDS);
    d->fields[d->head.field_count++] = (struct weir_field){name, value};
}

/* The digest of a snapshot. */
static void file_digest(const struct file *f, uint64_t out[2])
{
    struct digest d;
    digest_init(&d);
    digest_feed(&d, f->buf.base, (size_t)f->id.size);
    digest_finish(&d, out);
}

/* Marks of entity-tags: representations of one resource may agree in size and time. */
static const char marks[CODINGS] = {
    [CODING_BR] = 'x',
    [CODING_ZSTD] = 'y',
    [CODING_GZIP] = 'z',
};

static const struct weir_str coding_names[CODINGS] = {
    [CODING_BR] = WEIR_STR_INIT("br"),
    [CODING_ZSTD] = WEIR_STR_INIT("zstd"),
    [CODING_GZIP] = WEIR_STR_INIT("gzip"),
};

/* A date that is still to come must not be sent (RFC 9110 8.8.2.1), nor then be compared with. */
static bool time_has_come(int64_t time_s)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return time_s <= now.tv_sec;
}

/* A map whose time says nothing has no tag yet: see tagger.h. */
static void draft_validators(struct draft *d, const struct file *f)
{
    struct validators *v = &d->head.validators;
    v->date_s = f->id.mtime_s;
    bool is_meaningful = mtime_is_meaningful(v->date_s);
    v->has_date = is_meaningful && time_has_come(v->date_s);
    if (v->has_date) {
        clock_format_date(v->date_s, d->last_modified);
        v->date = (struct weir_str){d->last_modified, CLOCK_DATE_LEN};
    }
    v->etag.ptr = d->etag;
    uint64_t digest[2];
    if (is_meaningful) {
        uint64_t mtime_ns = (uint64_t)v->date_s * 1000000000 + f->id.mtime_ns;
        v->etag.len = etag_write(d->etag, f->id.size, mtime_ns, d->head.mark);
    } else if (!file_is_map(f)) {
        file_digest(f, digest);
        v->etag.len = etag_write_digest(d->etag, digest, d->head.mark);
    }
}

/* What RFC 9218 4.1 counts upwards from the first. */
static int8_t urgency_of(const char *path)
{
    return (int8_t)(MIME_URGENCY_DEFAULT -
                    mime_find((struct weir_str){path, strlen(path)})->urgency);
}

/* Who gets the fallback depends on what it accepts: others get a 404. */
static struct weir_str vary_of(bool is_fallback, bool has_siblings)
{
    if (is_fallback)
        return has_siblings ? WEIR_STR("accept-encoding, accept") : WEIR_STR("accept");
    return has_siblings ? WEIR_STR("accept-encoding") : (struct weir_str){0};
}

/* The operator's word goes before the table's. */
static struct weir_str type_of(struct weir_str path, const struct file_env *env)
{
    const struct path_rule *rule = rules_find(&env->type_rules, path);
    return rule != NULL ? rule->value : mime_find(path)->type;
}

/* All but the validators; the content-length comes first. */
static void draft_representation(struct draft *d, const struct file *f, struct weir_str path,
                                 enum coding coding, bool has_siblings)
{
    const struct file_env *env = f->env;
    struct weir_str length = {d->content_length, 0};
    length.len = (size_t)snprintf(d->content_length, sizeof(d->content_length), "%llu",
                                  (unsigned long long)f->id.size);
    add_field(d, WEIR_STR("content-length"), length);
    struct weir_str type = type_of(path, env);
    add_field(d, WEIR_STR("content-type"), type);
    add_field(d, WEIR_STR("accept-ranges"), WEIR_STR("bytes"));
    add_field(d, WEIR_STR("x-content-type-options"), WEIR_STR("nosniff"));
    if (coding != CODING_IDENTITY)
        add_field(d, WEIR_STR("content-encoding"), coding_names[coding]);

    d->head.kept_from = d->head.field_count;
    if (env->server.len > 0)
        add_field(d, WEIR_STR("server"), env->server);
    struct weir_str control = cache_control_of(path, type, env->cache_rules);
    if (control.len > 0)
        add_field(d, WEIR_STR("cache-control"), control);
    struct weir_str vary = vary_of(weir_str_eq(path, env->fallback), has_siblings);
    if (vary.len > 0)
        add_field(d, WEIR_STR("vary"), vary);
}

static void draft_fields(struct draft *d, const struct file *f, struct weir_str path,
                         enum coding coding, bool has_siblings)
{
    draft_representation(d, f, path, coding, has_siblings);
    const struct validators *v = &d->head.validators;
    if (v->etag.len > 0)
        add_field(d, WEIR_STR("etag"), v->etag);
    d->head.kept_to = d->head.field_count;
    if (v->has_date)
        add_field(d, WEIR_STR("last-modified"), v->date);
    if (v->etag.len == 0)
        d->head.kept_to = d->head.field_count;
}

/* Move a text to *end, and views of it with it. */
static void text_move(struct weir_str *view, struct weir_str *other, char **end)
{
    memcpy(*end, view->ptr, view->len);
    view->ptr = *end;
    *other = *view;
    *end += view->len;
}

/*
 * A description of that draft, with room for a tag if it has none.  NULL: there is no memory.
 * Own: mem_give().
 */
static struct description *draft_copy(const struct draft *d, struct mem *mem)
{
    const struct validators *v = &d->head.validators;
    size_t count = d->head.field_count;
    bool has_tag = v->etag.len > 0;
    size_t room = count + (has_tag ? 0 : 1);
    size_t text_len =
        d->fields[FILE_CONTENT_LENGTH].value.len + v->date.len + (has_tag ? v->etag.len : ETAG_CAP);
    size_t len = sizeof(d->head) + room * sizeof(d->fields[0]) + text_len;
    struct description *says = mem_take(mem, len);
    if (says == NULL)
        return NULL;
    *says = d->head;
    says->len = (uint16_t)len;
    memcpy(says->fields, d->fields, count * sizeof(d->fields[0]));
    char *end = (char *)(says->fields + room);
    struct weir_str *length = &says->fields[FILE_CONTENT_LENGTH].value;
    text_move(length, length, &end);
    if (v->has_date)
        text_move(&says->validators.date, &says->fields[count - 1].value, &end);
    says->validators.etag.ptr = end;
    if (has_tag) {
        memcpy(end, d->etag, v->etag.len);
        says->fields[says->kept_to - 1].value = says->validators.etag;
    }
    return says;
}

unsigned file_describe(struct file *f, const char *path, enum coding coding, bool has_siblings)
{
    uint64_t *lists_made = &f->env->root->lists_made;
    struct draft d = {
        .head =
            {
                .lists_id = *lists_made + 1,
                .urgency = urgency_of(path),
                .mark = marks[coding],
            },
    };
    *lists_made += FILE_LISTS;
    draft_validators(&d, f);
    draft_fields(&d, f, (struct weir_str){path, strlen(path)}, coding, has_siblings);
    f->says = draft_copy(&d, f->env->mem);
    return f->says == NULL ? 503 : 0;
}

void file_add_tag(struct file *f, const uint64_t digest[2])
{
    struct description *says = f->says;
    WEIR_ASSERT(says->validators.etag.len == 0 && !says->validators.has_date);
    char text[ETAG_CAP];
    struct weir_str *tag = &says->validators.etag;
    tag->len = etag_write_digest(text, digest, says->mark);
    memcpy((char *)(uintptr_t)tag->ptr, text, tag->len);
    says->fields[says->field_count++] = (struct weir_field){WEIR_STR("etag"), *tag};
    says->kept_to = says->field_count;
    says->lists_id = f->env->root->lists_made + 1;
    f->env->root->lists_made += FILE_LISTS;
}

/* ---- responses ---- */

struct weir_response file_head(struct file *f)
{
    return (struct weir_response){
        .status = 200,
        .urgency = f->says->urgency,
        .fields = f->says->fields,
        .field_count = f->says->field_count,
        .fields_id = f->says->lists_id,
        .source = &file_source,
        .ctx = f,
    };
}

struct weir_response file_whole(struct file *f)
{
    struct weir_response whole = file_head(f);
    whole.body_len = f->id.size;
    return whole;
}

struct weir_response file_not_modified(struct file *f)
{
    struct weir_response resp = file_head(f);
    resp.status = 304;
    resp.fields += f->says->kept_from;
    resp.field_count = (size_t)f->says->kept_to - f->says->kept_from;
    resp.fields_id += FILE_LISTS - 1;
    return resp;
}
