/* Paths resolved name by name give what openat2(2) gives. */
#include "files_fake.h"

#include <errno.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "beneath.h"

#define FLAGS (O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
#define NAMES 6 /* a to f, so that random paths meet something */

static struct fake fake; /* its directory alone: the parent of the root is outside */
static int root = -1;

static int setup(void **state)
{
    (void)state;
    fake_init(&fake);
    root = open(fake.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(root != -1);
    fake_put(&fake, "../secret", "SECRET");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(seteuid(getuid()), 0);
    close(root);
    fake_deinit(&fake);
    return 0;
}

/* The errno of an open, or 0 with who was opened in *st. */
static int outcome(int fd, struct stat *st)
{
    *st = (struct stat){0};
    if (fd == -1)
        return errno;
    assert_int_equal(fstat(fd, st), 0);
    close(fd);
    return 0;
}

static int by_kernel(const char *path, struct stat *st)
{
    struct open_how how = {.flags = FLAGS, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int err;
    do {
        err = outcome((int)syscall(SYS_openat2, root, path, &how, sizeof(how)), st);
    } while (err == EAGAIN); /* somebody renamed something, anywhere on this machine */
    return err;
}

static int by_walk(const char *path, struct stat *st)
{
    return outcome(beneath_open(root, NULL, path, FLAGS, &fake.stats), st);
}

static void assert_same(const char *path)
{
    struct stat want;
    struct stat got;
    int want_err = by_kernel(path, &want);
    int got_err = by_walk(path, &got);
    if (got_err != want_err)
        fail_msg("%s: %s, not %s", path, strerrordesc_np(got_err), strerrordesc_np(want_err));
    if (got_err == 0 && (got.st_ino != want.st_ino || got.st_dev != want.st_dev))
        fail_msg("%s: another file", path);
}

static void a_path_leads_where_it_should_and_never_out(void **state)
{
    (void)state;
    fake_mkdir(&fake, "dir");
    fake_mkdir(&fake, "dir/sub");
    fake_put(&fake, "file", "1");
    fake_put(&fake, "dir/file", "2");
    fake_symlink(&fake, "file", "link");
    fake_symlink(&fake, "file/", "link-slash");
    fake_symlink(&fake, "dir/", "to-dir");
    fake_symlink(&fake, "dir/sub/../file", "through");
    fake_symlink(&fake, "dir/sub/..", "ends-up");
    fake_symlink(&fake, "../secret", "out");
    fake_symlink(&fake, "..", "parent");
    fake_symlink(&fake, "../root/file", "out-and-in");
    fake_symlink(&fake, "/etc/passwd", "absolute");
    fake_symlink(&fake, "out", "to-out");
    fake_symlink(&fake, "../../secret", "dir/out");
    fake_symlink(&fake, "../file", "dir/up");
    fake_symlink(&fake, "loop", "loop");
    fake_symlink(&fake, "none", "dangling");
    static const struct {
        const char *path;
        int err;
    } rows[] = {
        {"file", 0},
        {"dir", 0},
        {".", 0},
        {"./file", 0},
        {"dir/", 0},
        {"dir//file", 0},
        {"dir/./sub/../file", 0},
        {"dir/..", 0},
        {"dir/../", 0},
        {"link", 0},
        {"to-dir", 0},
        {"to-dir/file", 0},
        {"to-dir/sub/../../file", 0},
        {"through", 0},
        {"ends-up/file", 0},
        {"ends-up", 0},
        {"dir/up", 0},
        {"dir/none/../file", ENOENT},
        {"", ENOENT},
        {"none", ENOENT},
        {"dangling", ENOENT},
        {"none/", ENOENT},
        {"file/", ENOTDIR},
        {"file/.", ENOTDIR},
        {"file/..", ENOTDIR},
        {"link/", ENOTDIR},
        {"link-slash", ENOTDIR},
        {"link/x", ENOTDIR},
        {"loop", ELOOP},
        {"loop/x", ELOOP},
        {"..", EXDEV},
        {"../secret", EXDEV},
        {"dir/../../secret", EXDEV},
        {"/", EXDEV},
        {"/etc/passwd", EXDEV},
        {"out", EXDEV},
        {"to-out", EXDEV},
        {"parent", EXDEV},
        {"parent/secret", EXDEV},
        {"out-and-in", EXDEV},
        {"absolute", EXDEV},
        {"dir/out", EXDEV},
        {"to-dir/out", EXDEV},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stat st;
        int err = by_walk(rows[i].path, &st);
        if (err != rows[i].err)
            fail_msg("%s: %d, not %d", rows[i].path, err, rows[i].err);
        if (beneath_is_in_kernel())
            assert_same(rows[i].path);
    }
}

static void forty_links_are_followed_and_no_more(void **state)
{
    (void)state;
    fake_put(&fake, "0", "the end");
    for (int i = 1; i <= 41; i++) {
        char target[8] = "";
        char name[8] = "";
        text_add(target, sizeof(target), "%d", i - 1);
        text_add(name, sizeof(name), "%d", i);
        fake_symlink(&fake, target, name);
    }
    struct stat st;

    assert_int_equal(by_walk("40", &st), 0);
    assert_int_equal(by_walk("41", &st), ELOOP);
}

/* The errno of a walk that knows the directory's path; *st shows what was opened. */
static int by_walk_from(const char *root_path, const char *path, struct stat *st)
{
    return outcome(beneath_open(root, root_path, path, FLAGS, &fake.stats), st);
}

static void absolute_links_that_come_back_are_followed(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct stat want;
    struct stat got;
    fake_mkdir(&fake, "a");
    fake_mkdir(&fake, "a/b");
    fake_put(&fake, "a/b/c", "inside");
    static const struct {
        const char *link;
        const char *below; /* its target, behind the path of the root */
        const char *path;
        int err;
        const char *leads; /* to this name below the root */
    } rows[] = {
        {"file", "/a/b/c", "file", 0, "a/b/c"},
        {"slashes", "//a///b/c", "slashes", 0, "a/b/c"},
        {"directory", "/a/b", "directory/c", 0, "a/b/c"},
        {"a/deeper", "/a/b/", "a/deeper/c", 0, "a/b/c"},
        {"root", "", "root/a/b/c", 0, "a/b/c"},
        {"whole", "", "whole", 0, "."},
        {"up", "/a/../a/b/c", "up", 0, "a/b/c"},
        {"chain", "/file", "chain", 0, "a/b/c"},
        {"out", "/../secret", "out", EXDEV, NULL},
        {"beside", "-secret", "beside", EXDEV, NULL},
        {"gone", "/none", "gone", ENOENT, NULL},
        {"self", "/self", "self", ELOOP, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", fake.dir, rows[i].below);
        fake_symlink(&fake, path, rows[i].link);
        assert_int_equal(by_walk_from(fake.dir, rows[i].path, &got), rows[i].err);
        assert_int_equal(by_walk(rows[i].path, &want), EXDEV); /* it does not know its path */
        if (rows[i].err != 0)
            continue;
        assert_int_equal(by_walk(rows[i].leads, &want), 0);
        assert_int_equal(got.st_ino, want.st_ino);
    }
}

static void what_is_too_long_is_refused(void **state)
{
    (void)state;
    static char name[NAME_MAX + 2];
    static char path[PATH_MAX + 1];
    memset(name, 'n', NAME_MAX + 1);
    memset(path, '/', PATH_MAX);
    path[0] = '.';
    struct stat st;

    assert_int_equal(by_walk(name, &st), ENAMETOOLONG);
    assert_int_equal(by_walk(path, &st), ENAMETOOLONG);
    path[PATH_MAX - 1] = '\0';
    assert_int_equal(by_walk(path, &st), 0);
}

static void links_cannot_blow_a_path_up(void **state)
{
    (void)state;
    static char target[PATH_MAX] = "l";
    while (strlen(target) < PATH_MAX - 3)
        memcpy(target + strlen(target), "/x", 3); /* each round leaves 4 KiB to be walked */
    fake_symlink(&fake, target, "l");
    struct stat st;

    assert_int_equal(by_walk("l", &st), ENAMETOOLONG);
}

/* A random path of names, dots and slashes. */
static void random_path(struct rng *r, char *out, size_t cap, size_t parts_max)
{
    static const char *const odd[] = {".", "..", "..", ""};
    out[0] = '\0';
    if (rng_below(r, 24) == 0)
        text_add(out, cap, "/");
    size_t parts = 1 + rng_below(r, parts_max);
    for (size_t i = 0; i < parts; i++) {
        if (i > 0)
            text_add(out, cap, "/");
        if (rng_below(r, 3) == 0)
            text_add(out, cap, "%s", odd[rng_below(r, 4)]);
        else
            text_add(out, cap, "%c", (int)('a' + rng_below(r, NAMES)));
    }
    if (rng_below(r, 8) == 0)
        text_add(out, cap, "/");
}

#define DIRS_MAX 24

struct grove {
    char dirs[DIRS_MAX][64]; /* from the root; the first is the root itself */
    size_t dir_count;
};

/* Put a directory, a link or a file into one of the directories; it may fail, the name is taken. */
static void grow(struct grove *g, struct rng *r)
{
    char place[64];
    char target[64];
    text_set(place, sizeof(place), g->dirs[rng_below(r, g->dir_count)]);
    text_add(place, sizeof(place), "/%c", (int)('a' + rng_below(r, NAMES)));
    switch (rng_below(r, 3)) {
    case 0:
        if (g->dir_count < DIRS_MAX && strlen(place) < 20 && mkdirat(root, place, 0755) == 0)
            text_set(g->dirs[g->dir_count++], 64, place);
        break;
    case 1:
        random_path(r, target, sizeof(target), 4);
        if (target[0] != '\0' && symlinkat(target, root, place) == -1)
            assert_int_equal(errno, EEXIST);
        break;
    default: {
        int fd = openat(root, place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd != -1)
            close(fd);
        break;
    }
    }
}

/* Some may be searched and not read, some read and not searched, some neither. */
static void close_some(const struct grove *g, struct rng *r)
{
    static const mode_t modes[] = {0755, 0755, 0711, 0744, 0700};
    for (size_t i = 1; i < g->dir_count; i++)
        assert_int_equal(fchmodat(root, g->dirs[i], modes[rng_below(r, 5)], 0), 0);
}

static void in_random_trees_both_ways_agree(void **state)
{
    (void)state;
    if (!beneath_is_in_kernel())
        skip();
    struct rng r = rng_new("beneath");
    uid_t user = geteuid();
    size_t found = 0;
    for (int tree = 0; tree < 40; tree++) {
        struct grove g = {.dirs = {"."}, .dir_count = 1};
        if (tree > 0)
            setup(NULL);
        for (int i = 0; i < 60; i++)
            grow(&g, &r);
        if (user == 0 && tree % 2 == 1) {
            close_some(&g, &r);
            assert_int_equal(seteuid(65534), 0); /* root may search everything */
        }
        for (int i = 0; i < 1500; i++) {
            char path[64];
            struct stat st;
            random_path(&r, path, sizeof(path), 6);
            assert_same(path);
            found += by_walk(path, &st) == 0;
        }
        assert_int_equal(seteuid(user), 0);
        if (tree < 39)
            teardown(NULL);
    }
    assert_in_range(found, 6000, 54000); /* neither nothing nor all of 60000 */
}

static atomic_bool is_over;

/* Swap a directory with a link that leads out, and move another one out and back, for ever. */
static void *confuse(void *opaque)
{
    (void)opaque;
    while (!is_over) {
        syscall(SYS_renameat2, root, "swap", root, "bait", RENAME_EXCHANGE);
        weir_ignore(renameat(root, "in/dir", root, "../dir") == 0 ? WEIR_OK : WEIR_IO);
        weir_ignore(renameat(root, "../dir", root, "in/dir") == 0 ? WEIR_OK : WEIR_IO);
    }
    return NULL;
}

static void a_tree_that_changes_meanwhile_lets_nobody_out(void **state)
{
    (void)state;
    fake_mkdir(&fake, "swap");
    fake_put(&fake, "swap/secret", "mine");
    fake_symlink(&fake, "..", "bait");
    fake_put(&fake, "secret", "mine");
    fake_mkdir(&fake, "in");
    fake_mkdir(&fake, "in/dir");
    fake_symlink(&fake, "../../secret", "in/dir/up"); /* from ../dir it would be /tmp/secret */
    fake_symlink(&fake, "../secret", "in/dir/next");  /* and this the secret */
    fake_put(&fake, "in/secret", "mine");
    struct stat secret;
    assert_int_equal(fstatat(root, "../secret", &secret, 0), 0);
    pthread_t thread;
    is_over = false;
    assert_int_equal(pthread_create(&thread, NULL, confuse, NULL), 0);

    static const char *const paths[] = {"swap/secret", "bait/secret", "in/dir/up", "in/dir/next"};
    size_t found = 0;
    for (int i = 0; i < 20000; i++) {
        struct stat st;
        if (by_walk(paths[i % 4], &st) != 0)
            continue;
        found++;
        assert_int_not_equal(st.st_ino, secret.st_ino);
    }

    is_over = true;
    pthread_join(thread, NULL);
    assert_int_not_equal(found, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_path_leads_where_it_should_and_never_out),
        CASE(forty_links_are_followed_and_no_more),
        CASE(absolute_links_that_come_back_are_followed),
        CASE(what_is_too_long_is_refused),
        CASE(links_cannot_blow_a_path_up),
        CASE(in_random_trees_both_ways_agree),
        CASE(a_tree_that_changes_meanwhile_lets_nobody_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
