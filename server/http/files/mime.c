/* See mime.h. */
#include "mime.h"

#include <stddef.h>

#define EXTENSION_MAX 12

#define TEXT(ext, type, urgency)                                                                   \
    {                                                                                              \
        ext, WEIR_STR_INIT(type "; charset=utf-8"), false, urgency                                 \
    }
#define OPEN(ext, type, urgency)                                                                   \
    {                                                                                              \
        ext, WEIR_STR_INIT(type), false, urgency                                                   \
    }
#define PACKED(ext, type, urgency)                                                                 \
    {                                                                                              \
        ext, WEIR_STR_INIT(type), true, urgency                                                    \
    }

/* How soon a page wants it. */
#define PAGE 1   /* documents, style sheets, fonts: nothing is drawn without them */
#define SCRIPT 2 /* code, and the data it asks for at once */
#define DATA MIME_URGENCY_DEFAULT
#define IMAGE 4 /* drawn into a page that stands already */
#define MEDIA 5 /* streams, which are long and come with a buffer */
#define BULK 6  /* downloads */

/* Sorted by extension. */
static const struct mime types[] = {
    PACKED("3gp", "video/3gpp", MEDIA),
    PACKED("7z", "application/x-7z-compressed", BULK),
    PACKED("aac", "audio/aac", MEDIA),
    PACKED("apk", "application/vnd.android.package-archive", BULK),
    PACKED("apng", "image/apng", IMAGE),
    OPEN("atom", "application/atom+xml", DATA),
    PACKED("avi", "video/x-msvideo", MEDIA),
    PACKED("avif", "image/avif", IMAGE),
    OPEN("bin", "application/octet-stream", BULK),
    OPEN("bmp", "image/bmp", IMAGE),
    PACKED("br", "application/x-brotli", BULK),
    PACKED("bz2", "application/x-bzip2", BULK),
    TEXT("c", "text/plain", DATA),
    TEXT("cjs", "text/javascript", SCRIPT),
    TEXT("conf", "text/plain", DATA),
    TEXT("css", "text/css", PAGE),
    TEXT("csv", "text/csv", DATA),
    OPEN("cur", "image/x-icon", IMAGE),
    PACKED("deb", "application/vnd.debian.binary-package", BULK),
    OPEN("doc", "application/msword", BULK),
    PACKED("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", BULK),
    OPEN("eot", "application/vnd.ms-fontobject", PAGE),
    PACKED("epub", "application/epub+zip", BULK),
    PACKED("flac", "audio/flac", MEDIA),
    OPEN("geojson", "application/geo+json", DATA),
    PACKED("gif", "image/gif", IMAGE),
    OPEN("glb", "model/gltf-binary", DATA),
    OPEN("gltf", "model/gltf+json", DATA),
    OPEN("gpx", "application/gpx+xml", DATA),
    OPEN("graphql", "application/graphql", DATA),
    PACKED("gz", "application/gzip", BULK),
    TEXT("h", "text/plain", DATA),
    PACKED("heic", "image/heic", IMAGE),
    TEXT("htm", "text/html", PAGE),
    TEXT("html", "text/html", PAGE),
    OPEN("ico", "image/x-icon", IMAGE),
    TEXT("ics", "text/calendar", DATA),
    TEXT("ini", "text/plain", DATA),
    OPEN("iso", "application/x-iso9660-image", BULK),
    PACKED("jar", "application/java-archive", BULK),
    PACKED("jfif", "image/jpeg", IMAGE),
    PACKED("jpeg", "image/jpeg", IMAGE),
    PACKED("jpg", "image/jpeg", IMAGE),
    TEXT("js", "text/javascript", SCRIPT),
    OPEN("json", "application/json", DATA),
    OPEN("json5", "application/json5", DATA),
    OPEN("jsonl", "application/jsonl", DATA),
    OPEN("jsonld", "application/ld+json", DATA),
    PACKED("jxl", "image/jxl", IMAGE),
    OPEN("kml", "application/vnd.google-earth.kml+xml", DATA),
    OPEN("ktx2", "image/ktx2", IMAGE),
    TEXT("log", "text/plain", DATA),
    OPEN("m3u8", "application/vnd.apple.mpegurl", DATA),
    PACKED("m4a", "audio/mp4", MEDIA),
    PACKED("m4s", "video/iso.segment", MEDIA),
    PACKED("m4v", "video/mp4", MEDIA),
    OPEN("map", "application/json", BULK),
    TEXT("markdown", "text/markdown", DATA),
    TEXT("md", "text/markdown", DATA),
    OPEN("mid", "audio/midi", MEDIA),
    TEXT("mjs", "text/javascript", SCRIPT),
    PACKED("mkv", "video/matroska", MEDIA),
    PACKED("mov", "video/quicktime", MEDIA),
    PACKED("mp3", "audio/mpeg", MEDIA),
    PACKED("mp4", "video/mp4", MEDIA),
    OPEN("mpd", "application/dash+xml", DATA),
    PACKED("mpeg", "video/mpeg", MEDIA),
    PACKED("mpg", "video/mpeg", MEDIA),
    OPEN("ndjson", "application/x-ndjson", DATA),
    PACKED("odp", "application/vnd.oasis.opendocument.presentation", BULK),
    PACKED("ods", "application/vnd.oasis.opendocument.spreadsheet", BULK),
    PACKED("odt", "application/vnd.oasis.opendocument.text", BULK),
    PACKED("oga", "audio/ogg", MEDIA),
    PACKED("ogg", "audio/ogg", MEDIA),
    PACKED("ogv", "video/ogg", MEDIA),
    PACKED("opus", "audio/ogg", MEDIA),
    OPEN("otf", "font/otf", PAGE),
    OPEN("parquet", "application/vnd.apache.parquet", BULK),
    OPEN("pdf", "application/pdf", BULK),
    OPEN("pem", "application/x-pem-file", DATA),
    PACKED("png", "image/png", IMAGE),
    OPEN("ppt", "application/vnd.ms-powerpoint", BULK),
    PACKED("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation",
           BULK),
    OPEN("ps", "application/postscript", BULK),
    TEXT("py", "text/plain", DATA),
    PACKED("rar", "application/vnd.rar", BULK),
    OPEN("rdf", "application/rdf+xml", DATA),
    PACKED("rpm", "application/x-rpm", BULK),
    OPEN("rss", "application/rss+xml", DATA),
    OPEN("rtf", "application/rtf", BULK),
    TEXT("sh", "text/plain", DATA),
    OPEN("sqlite", "application/vnd.sqlite3", BULK),
    OPEN("svg", "image/svg+xml", IMAGE),
    OPEN("tar", "application/x-tar", BULK),
    PACKED("tgz", "application/gzip", BULK),
    OPEN("tif", "image/tiff", IMAGE),
    OPEN("tiff", "image/tiff", IMAGE),
    TEXT("toml", "application/toml", DATA),
    PACKED("ts", "video/mp2t", MEDIA),
    OPEN("ttc", "font/collection", PAGE),
    OPEN("ttf", "font/ttf", PAGE),
    TEXT("txt", "text/plain", DATA),
    TEXT("vtt", "text/vtt", DATA),
    OPEN("wasm", "application/wasm", SCRIPT),
    OPEN("wav", "audio/wav", MEDIA),
    PACKED("weba", "audio/webm", MEDIA),
    PACKED("webm", "video/webm", MEDIA),
    OPEN("webmanifest", "application/manifest+json", DATA),
    PACKED("webp", "image/webp", IMAGE),
    PACKED("woff", "font/woff", PAGE),
    PACKED("woff2", "font/woff2", PAGE),
    TEXT("xhtml", "application/xhtml+xml", PAGE),
    OPEN("xls", "application/vnd.ms-excel", BULK),
    PACKED("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", BULK),
    OPEN("xml", "application/xml", DATA),
    OPEN("xsl", "application/xslt+xml", PAGE),
    PACKED("xz", "application/x-xz", BULK),
    OPEN("yaml", "application/yaml", DATA),
    OPEN("yml", "application/yaml", DATA),
    PACKED("zip", "application/zip", BULK),
    PACKED("zst", "application/zstd", BULK),
};

static const struct mime unknown = OPEN("", "application/octet-stream", DATA);

struct weir_str mime_extension(struct weir_str path)
{
    for (size_t i = path.len; i > 0; i--) {
        char c = path.ptr[i - 1];
        if (c == '/')
            break;
        if (c == '.')
            return (struct weir_str){path.ptr + i, path.len - i};
    }
    return (struct weir_str){path.ptr + path.len, 0};
}

const struct mime *mime_find(struct weir_str path)
{
    struct weir_str extension = mime_extension(path);
    if (extension.len == 0 || extension.len > EXTENSION_MAX)
        return &unknown;
    char lower[EXTENSION_MAX + 1] = {0};
    for (size_t i = 0; i < extension.len; i++) {
        char c = extension.ptr[i];
        lower[i] = c;
        if (c >= 'A' && c <= 'Z')
            lower[i] = (char)(c | 0x20);
    }
    size_t low = 0;
    size_t high = sizeof(types) / sizeof(types[0]);
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(lower, types[mid].extension);
        if (order == 0)
            return &types[mid];
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return &unknown;
}
