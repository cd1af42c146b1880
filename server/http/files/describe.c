/*
 * See describe.h.
 *
 * One field list serves three responses:
 *
 *     content-length content-type accept-ranges x-content-type-options content-encoding
 *         server cache-control vary etag last-modified
 *         └─────────── 304 ───────────┘
 *
 * A 304 repeats what a cache must know anew (RFC 9110 15.4.5); the date goes with it only if there
 * is no tag.
 */
#include "describe.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cache_control.h"
#include "clock.h"
#include "digest.h"
#include "internal/assert.h"
#include "mime.h"
#include "root.h"

static void add_field(struct file *f, struct weir_str name, struct weir_str value)
{
    WEIR_ASSERT(f->whole.field_count < FILE_FIELDS);
    f->fields[f->whole.field_count++] = (struct weir_field){name, value};
}

/* The digest of a snapshot. */
static void file_digest(const struct file *f, uint64_t out[2])
{
    struct digest d;
    digest_init(&d);
    digest_feed(&d, f->buf.base, (size_t)f->size);
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
static void describe_validators(struct file *f)
{
    struct validators *v = &f->validators;
    v->date_s = f->id.mtime.tv_sec;
    bool is_meaningful = mtime_is_meaningful(v->date_s);
    v->has_date = is_meaningful && time_has_come(v->date_s);
    if (v->has_date) {
        clock_format_date(v->date_s, f->last_modified);
        v->date = (struct weir_str){f->last_modified, CLOCK_DATE_LEN};
    }
    v->etag.ptr = f->etag;
    uint64_t digest[2];
    if (is_meaningful) {
        int64_t mtime_ns = (int64_t)f->id.mtime.tv_sec * 1000000000 + f->id.mtime.tv_nsec;
        v->etag.len = etag_write(f->etag, f->size, mtime_ns, f->mark);
    } else if (!file_is_map(f)) {
        file_digest(f, digest);
        v->etag.len = etag_write_digest(f->etag, digest, f->mark);
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

static void describe_fields(struct file *f, const struct file_env *env, const char *path,
                            enum coding coding, bool has_siblings)
{
    struct weir_str path_str = {path, strlen(path)};
    struct weir_str length = {f->content_length, 0};
    length.len = (size_t)snprintf(f->content_length, sizeof(f->content_length), "%llu",
                                  (unsigned long long)f->size);
    add_field(f, WEIR_STR("content-length"), length);
    struct weir_str type = type_of(path_str, env);
    add_field(f, WEIR_STR("content-type"), type);
    add_field(f, WEIR_STR("accept-ranges"), WEIR_STR("bytes"));
    add_field(f, WEIR_STR("x-content-type-options"), WEIR_STR("nosniff"));
    if (coding != CODING_IDENTITY)
        add_field(f, WEIR_STR("content-encoding"), coding_names[coding]);

    size_t kept = f->whole.field_count; /* from here on a 304 has them too */
    if (env->server.len > 0)
        add_field(f, WEIR_STR("server"), env->server);
    struct weir_str control = cache_control_of(path_str, type, env->cache_rules);
    if (control.len > 0)
        add_field(f, WEIR_STR("cache-control"), control);
    struct weir_str vary = vary_of(weir_str_eq(path_str, env->fallback), has_siblings);
    if (vary.len > 0)
        add_field(f, WEIR_STR("vary"), vary);
    if (f->validators.etag.len > 0)
        add_field(f, WEIR_STR("etag"), f->validators.etag);
    f->not_modified = f->whole;
    if (f->validators.has_date)
        add_field(f, WEIR_STR("last-modified"), f->validators.date);
    if (f->validators.etag.len == 0)
        f->not_modified = f->whole;
    f->not_modified.fields += kept;
    f->not_modified.field_count -= kept;
    f->not_modified.status = 304;
    f->not_modified.fields_id = ++env->root->lists_made;
}

void file_describe(struct file *f, const struct file_env *env, const char *path, enum coding coding,
                   bool has_siblings)
{
    f->mark = marks[coding];
    describe_validators(f);
    f->whole = (struct weir_response){
        .status = 200,
        .fields = f->fields,
        .fields_id = ++env->root->lists_made,
        .source = &file_source,
        .ctx = f,
    };
    f->whole.urgency = urgency_of(path);
    f->partial_id = ++env->root->lists_made;
    describe_fields(f, env, path, coding, has_siblings);
    f->head = f->whole;
    f->whole.body_len = f->size;
}

void file_add_tag(struct file *f, const uint64_t digest[2])
{
    WEIR_ASSERT(f->validators.etag.len == 0 && !f->validators.has_date);
    f->validators.etag.len = etag_write_digest(f->etag, digest, f->mark);
    add_field(f, WEIR_STR("etag"), f->validators.etag);
    f->head.field_count++;
    f->not_modified.field_count++;
    f->partial_id = ++f->root->lists_made;
    f->whole.fields_id = ++f->root->lists_made;
    f->head.fields_id = f->whole.fields_id;
    f->not_modified.fields_id = ++f->root->lists_made;
}
