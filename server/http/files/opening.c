/* See opening.h. */
#include "opening.h"

#include <stdlib.h>

#include "decode.h"
#include "internal/assert.h"

enum weir_err openings_init(struct openings *all, const struct file_env *env)
{
    all->env = env;
    list_init(&all->queue);
    list_init(&all->quick);
    all->looks = calloc(OPENINGS_MAX + 1, sizeof(*all->looks));
    if (all->looks == NULL)
        return WEIR_NOMEM;
    for (unsigned i = 0; i < OPENINGS_MAX; i++)
        all->free[i] = &all->looks[i];
    all->free_count = OPENINGS_MAX;
    return WEIR_OK;
}

void openings_deinit(struct openings *all)
{
    free(all->looks);
    all->looks = NULL;
}

struct look *openings_own_look(struct openings *all)
{
    struct look *look = &all->looks[OPENINGS_MAX];
    look_init(look, all->env->root);
    return look;
}

/* Make the original from the first sibling that can be decoded. */
static void opening_make_original(const struct opening *o)
{
    struct found *original = &o->look->found[CODING_IDENTITY];
    for (unsigned i = CODING_IDENTITY + 1; i < CODINGS && original->status != 0; i++) {
        if (o->packed[i] != NULL)
            decode_run(&o->look->root, o->packed[i], (enum coding)i,
                       o->look->bytes[CODING_IDENTITY], original);
    }
}

void opening_run(struct opening *o)
{
    switch (o->kind) {
    case OPENING_STAT: look_stat(o->look, o->path, o->hint); break;
    case OPENING_OPEN: look_open(o->look, o->path, o->hint, true); break;
    case OPENING_DECODE: opening_make_original(o); break;
    }
}

static int on_run(struct fetch *f)
{
    opening_run(container_of(f, struct opening, fetch));
    return 0;
}

static void on_done(struct fetch *f, int result);

/* Who is to have one of the looks that are free, or NULL. */
static struct list *openings_first(const struct openings *all)
{
    struct list *link = NULL;
    if (all->free_count > 0)
        link = list_first(&all->quick);
    if (link == NULL && all->free_count > LIMIT_HELPERS_QUICK)
        link = list_first(&all->queue);
    return link;
}

/* Give out the looks that are free. */
static void openings_advance(struct openings *all)
{
    struct list *link;
    while ((link = openings_first(all)) != NULL) {
        struct opening *o = container_of(link, struct opening, link);
        list_remove(link);
        o->look = all->free[--all->free_count];
        look_init(o->look, all->env->root);
        o->fetch =
            (struct fetch){.run = on_run, .done = on_done, .is_quick = o->kind == OPENING_STAT};
        all->env->root->stats->fetches++;
        all->env->fetcher->start(all->env->fetcher, &o->fetch);
    }
}

static void on_done(struct fetch *f, int result)
{
    (void)result;
    struct opening *o = container_of(f, struct opening, fetch);
    struct openings *all = o->all;
    struct look *look = o->look;
    look_count(look, all->env->root->stats);
    o->done(o); /* which may free it, or start it anew */
    look_close(look);
    look_count(look, all->env->root->stats);
    all->free[all->free_count++] = look;
    openings_advance(all);
}

void opening_start(struct opening *o)
{
    list_append(o->kind == OPENING_STAT ? &o->all->quick : &o->all->queue, &o->link);
    openings_advance(o->all);
}
