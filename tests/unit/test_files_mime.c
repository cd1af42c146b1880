/* Media types by name. */
#include "cm.h"

#include <string.h>

#include "mime.h"

static const struct {
    const char *path;
    const char *type;
} rows[] = {
    {"/index.html", "text/html; charset=utf-8"},
    {"/a.HTM", "text/html; charset=utf-8"},
    {"/a.js", "text/javascript; charset=utf-8"},
    {"/a.mjs", "text/javascript; charset=utf-8"},
    {"/a.min.js", "text/javascript; charset=utf-8"},
    {"/a.css", "text/css; charset=utf-8"},
    {"/a.txt", "text/plain; charset=utf-8"},
    {"/a.md", "text/markdown; charset=utf-8"},
    {"/a.csv", "text/csv; charset=utf-8"},
    {"/a.json", "application/json"},
    {"/a.js.map", "application/json"},
    {"/a.wasm", "application/wasm"},
    {"/a.webmanifest", "application/manifest+json"},
    {"/a.svg", "image/svg+xml"},
    {"/a.avif", "image/avif"},
    {"/a.webp", "image/webp"},
    {"/a.JpG", "image/jpeg"},
    {"/a.png", "image/png"},
    {"/favicon.ico", "image/x-icon"},
    {"/a.woff2", "font/woff2"},
    {"/a.mp4", "video/mp4"},
    {"/a.pdf", "application/pdf"},
    {"/a.xml", "application/xml"},
    {"/a.tar.gz", "application/gzip"},
    {"/a.3gp", "video/3gpp"},
    {"/a.zst", "application/zstd"},
    {"/a.zip", "application/zip"},
    {"/a", "application/octet-stream"},
    {"/a.", "application/octet-stream"},
    {"/a.unknown", "application/octet-stream"},
    {"/a.html/b", "application/octet-stream"},
    {"/a.averyverylongextension", "application/octet-stream"},
    {"", "application/octet-stream"},
};

static struct weir_str str(const char *text)
{
    return (struct weir_str){text, strlen(text)};
}

static void the_last_extension_decides(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct mime *mime = mime_find(str(rows[i].path));

        if (!weir_str_eq(mime->type, str(rows[i].type)))
            fail_msg("%s: %.*s", rows[i].path, (int)mime->type.len, mime->type.ptr);
    }
}

static void every_extension_of_the_table_is_found(void **state)
{
    (void)state;
    /* The entries of a sorted table lie in one array: walk it from a known one to both ends. */
    const struct mime *first = mime_find(str("/a.3gp"));
    const struct mime *last = mime_find(str("/a.zst"));
    size_t count = (size_t)(last - first) + 1;

    assert_in_range(count, 100, 1000);
    for (size_t i = 0; i < count; i++) {
        char path[64];
        snprintf(path, sizeof(path), "/x.%s", first[i].extension);
        assert_ptr_equal(mime_find(str(path)), &first[i]);
        assert_in_range(first[i].urgency, 0, 7);
        bool is_text = strncmp(first[i].type.ptr, "text/", 5) == 0;
        bool has_charset = strstr(first[i].type.ptr, "; charset=utf-8") != NULL;
        assert_true(!is_text || has_charset);
    }
}

static void pages_come_before_scripts_before_images(void **state)
{
    (void)state;
    unsigned html = mime_find(str("/a.html"))->urgency;
    unsigned css = mime_find(str("/a.css"))->urgency;
    unsigned font = mime_find(str("/a.woff2"))->urgency;
    unsigned script = mime_find(str("/a.js"))->urgency;
    unsigned image = mime_find(str("/a.png"))->urgency;

    assert_true(html < script && css < script && font < script && script < image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_extension_decides),
        cmocka_unit_test(every_extension_of_the_table_is_found),
        cmocka_unit_test(pages_come_before_scripts_before_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
