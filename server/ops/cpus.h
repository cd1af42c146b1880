/*
 * The CPUs that this process may really use: its affinity mask, cut down to the quota of its
 * cgroup.  The machine's own number is of no interest: in a container it is somebody else's.
 */
#ifndef OPS_CPUS_H
#define OPS_CPUS_H

#include <stddef.h>

#define CPUS_MAX 1024

struct cpus {
    size_t count;      /* CPUs in ids */
    int ids[CPUS_MAX]; /* from the affinity mask */
    size_t worth;      /* CPUs' worth of time: count, or less by the quota; at least 1 */
};

void cpus_find(struct cpus *out);

/*
 * CPUs' worth of time that a cgroup's cpu.max allows, rounded up: "max 100000" and what cannot be
 * read give `none`.
 */
size_t cpus_from_quota(const char *cpu_max, size_t none);

/*
 * The same for a process: the tightest quota of the groups in the file `groups`, as
 * /proc/PID/cgroup has them, and of those above; `mount` is where the hierarchies are.
 */
size_t cpus_from_cgroups(const char *groups, const char *mount, size_t none);

#endif
