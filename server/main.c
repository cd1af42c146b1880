/* weir: command line ──▶ configuration ──▶ run. */
#include "config.h"
#include "run.h"

int main(int argc, char **argv)
{
    struct config config;
    switch (config_parse(argc, argv, &config)) {
    case CONFIG_RUN: break;
    case CONFIG_EXIT: return 0;
    case CONFIG_BAD: return 2;
    }
    return config.check_only ? run_check(&config) : run(&config);
}
