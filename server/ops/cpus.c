/* See cpus.h. */
#include "cpus.h"

#include <fcntl.h>
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

/* The tightest quota from our cgroup up to the root of what we see. */
static size_t quota_of_cgroups(size_t none)
{
    char text[4096];
    if (!read_text("/proc/self/cgroup", text, sizeof(text)))
        return none;
    char *group = strstr(text, "0::"); /* the unified hierarchy */
    if (group == NULL)
        return none;
    group += 3;
    group[strcspn(group, "\n")] = '\0';

    size_t worth = none;
    for (;;) {
        char path[sizeof(text) + 32];
        char quota[64];
        snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", group);
        if (read_text(path, quota, sizeof(quota)))
            worth = cpus_from_quota(quota, worth);
        char *slash = strrchr(group, '/');
        if (slash == NULL)
            return worth;
        *slash = '\0';
    }
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
    out->worth = quota_of_cgroups(out->count > 0 ? out->count : 1);
}
