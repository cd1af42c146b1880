/* See cpus.h. */
#include "cpus.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Read a small file; gives false if there is none. */
static bool read_text(const char *path, char *text, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1)
        return false;
    ssize_t n = read(fd, text, cap - 1);
    close(fd);
    if (n < 0)
        return false;
    text[n] = '\0';
    return true;
}

size_t cpus_from_quota(const char *cpu_max, size_t none)
{
    char *end;
    if (cpu_max[0] == '-')
        return none;
    unsigned long long quota = strtoull(cpu_max, &end, 10);
    if (end == cpu_max || *end != ' ')
        return none;
    const char *from = end + 1;
    unsigned long long period = strtoull(from, &end, 10);
    if (end == from || period == 0 || quota == 0)
        return none;
    unsigned long long worth = (quota + period - 1) / period;
    return worth < none ? (size_t)worth : none;
}

/* The path of a file in a folder; false if it is too long. */
static bool file_of(const char *folder, const char *name, char path[PATH_MAX])
{
    int len = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return len > 0 && len < PATH_MAX;
}

/* The unified hierarchy: "max 100000", or a number and a period. */
static size_t quota_unified(const char *folder, size_t none)
{
    char path[PATH_MAX];
    char text[64];
    if (!file_of(folder, "cpu.max", path) || !read_text(path, text, sizeof(text)))
        return none;
    return cpus_from_quota(text, none);
}

/* The hierarchy of its own that the controller `cpu` had before: two files, -1 if there is none. */
static size_t quota_legacy(const char *folder, size_t none)
{
    char path[PATH_MAX];
    char quota[32];
    char period[32];
    char both[sizeof(quota) + sizeof(period)];
    if (!file_of(folder, "cpu.cfs_quota_us", path) || !read_text(path, quota, sizeof(quota)))
        return none;
    if (!file_of(folder, "cpu.cfs_period_us", path) || !read_text(path, period, sizeof(period)))
        return none;
    quota[strcspn(quota, "\n")] = '\0';
    snprintf(both, sizeof(both), "%s %s", quota, period);
    return cpus_from_quota(both, none);
}

/*
 * The tightest quota from a group up to the root of what we see.  In a container the group may be
 * named as the host names it, and only the root is there.
 */
static size_t quota_of_group(const char *mount, const char *group, size_t group_len,
                             size_t (*quota_of)(const char *folder, size_t none), size_t none)
{
    size_t worth = none;
    char folder[PATH_MAX];
    int mount_len = snprintf(folder, sizeof(folder), "%s", mount);
    int len = snprintf(folder, sizeof(folder), "%s%.*s", mount, (int)group_len, group);
    if (len < 0 || (size_t)len >= sizeof(folder))
        return none;
    for (;;) {
        worth = quota_of(folder, worth);
        char *slash = strrchr(folder + mount_len, '/');
        if (slash == NULL)
            return worth;
        *slash = '\0';
    }
}

/* True if the comma-separated `names` have `cpu` among them. */
static bool has_cpu(const char *names, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t n = strcspn(names + at, ",:");
        if (n == 3 && memcmp(names + at, "cpu", 3) == 0)
            return true;
        at += n + 1;
    }
    return false;
}

size_t cpus_from_cgroups(const char *groups, const char *mount, size_t none)
{
    char text[4096];
    if (!read_text(groups, text, sizeof(text)))
        return none;
    char legacy[PATH_MAX];
    snprintf(legacy, sizeof(legacy), "%s/cpu", mount);
    size_t worth = none;
    /* Lines of number:controllers:group (cgroups(7)). */
    for (char *line = text; *line != '\0'; line += line[0] == '\n') {
        size_t len = strcspn(line, "\n");
        const char *names = memchr(line, ':', len);
        const char *group = names == NULL ? NULL : strchr(names + 1, ':');
        if (group != NULL && group < line + len) {
            size_t group_len = len - (size_t)(group + 1 - line);
            size_t names_len = (size_t)(group - names - 1);
            if (names_len == 0)
                worth = quota_of_group(mount, group + 1, group_len, quota_unified, worth);
            else if (has_cpu(names + 1, names_len))
                worth = quota_of_group(legacy, group + 1, group_len, quota_legacy, worth);
        }
        line += len;
    }
    return worth;
}

void cpus_find(struct cpus *out)
{
    *out = (struct cpus){0};
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        for (int i = 0; i < CPU_SETSIZE && out->count < CPUS_MAX; i++) {
            if (CPU_ISSET((size_t)i, &set))
                out->ids[out->count++] = i;
        }
    }
    out->worth =
        cpus_from_cgroups("/proc/self/cgroup", "/sys/fs/cgroup", out->count > 0 ? out->count : 1);
}
