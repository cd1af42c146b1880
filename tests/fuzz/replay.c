/*
 * The main() of a fuzz target where there is no libFuzzer: runs every file of the folders named on
 * the command line through the target, and the empty input.  Each input lies in a heap block of
 * its own length, so that AddressSanitizer sees a read beyond its end.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static bool replay_fail(const char *path)
{
    perror(path);
    return false;
}

/* Run one open file. */
static bool replay_stream(FILE *f, size_t len, const char *path)
{
    uint8_t *input = malloc(len > 0 ? len : 1);
    if (input == NULL)
        return replay_fail(path);
    bool ok = fread(input, 1, len, f) == len;
    if (ok)
        LLVMFuzzerTestOneInput(input, len);
    free(input);
    return ok || replay_fail(path);
}

static bool replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return replay_fail(path);
    struct stat st;
    bool ok = fstat(fileno(f), &st) == 0;
    if (!ok)
        replay_fail(path);
    else if (S_ISREG(st.st_mode))
        ok = replay_stream(f, (size_t)st.st_size, path);
    fclose(f);
    return ok;
}

/* A corpus that is missing or empty is an error: it would test nothing. */
static bool replay_folder(const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    if (count == -1)
        return replay_fail(path);
    int inputs = 0;
    bool ok = true;
    for (int i = 0; i < count; i++) {
        if (ok && entries[i]->d_name[0] != '.') {
            char file[4096];
            snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
            ok = replay_file(file);
            inputs++;
        }
        free(entries[i]);
    }
    free(entries);
    printf("replay: %d inputs from %s\n", inputs, path);
    return ok && inputs > 0;
}

int main(int argc, char **argv)
{
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    bool ok = argc > 1;
    for (int i = 1; i < argc && ok; i++)
        ok = replay_folder(argv[i]);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
