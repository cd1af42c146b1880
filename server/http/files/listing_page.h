/*
 * What a list of a directory says: a page of it, written off the loop.
 * Thread: any.
 */
#ifndef FILES_LISTING_PAGE_H
#define FILES_LISTING_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scratch.h"
#include "sheet.h"
#include "weir/str.h"

struct root;

/* names on one page; the query "page=N" asks for the others */
#define LISTING_PAGE 1000

struct listing_page {
    struct weir_str path; /* of the directory, decoded; begins and ends with '/', NUL behind it */
    size_t number;        /* from 1 */
    bool is_json;
    struct scratch scratch; /* Own: listing_page_deinit(); where the text lies */
    struct sheet text;
    uint64_t digest[2]; /* of the text */
};

/* The path of the directory as the root takes it. */
const char *listing_page_place(const struct listing_page *p);

/*
 * Write the page that path, number and is_json tell of.
 * Gives 0, or the status due: 404 if there is no such directory, or no such page.
 */
unsigned listing_page_write(struct listing_page *p, const struct root *root);

void listing_page_deinit(struct listing_page *p, struct stats *stats);

#endif
