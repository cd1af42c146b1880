/* weir: command line ──▶ configuration ──▶ run. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "internal/bench.h"
#include "internal/log.h"
#include "config.h"
#include "run.h"

/* A file or a connection must not become standard output by getting the number of a closed one. */
static void open_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", O_RDWR | O_NOCTTY) != fd)
            _exit(1); /* there is nobody to be told */
    }
}

static int status_after_output(int status)
{
    if (fflush(stdout) == 0)
        return status;
    log_errno(LV_ERROR, errno, "cannot write to standard output");
    return 1;
}

int main(int argc, char **argv)
{
    open_standard_streams();
    struct config config;
    BENCH_TAKE_OPTION(&argc, argv);
    switch (config_parse(argc, argv, &config)) {
    case CONFIG_RUN: break;
    case CONFIG_EXIT: return status_after_output(0);
    case CONFIG_BAD: return 2;
    }
    return status_after_output(config.check_only ? run_check(&config) : run(&config));
}
