/* Runs a fuzz target over the files of its corpus, as an ordinary test: no fuzzer needed. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    uint8_t *data = size >= 0 ? malloc((size_t)size + 1) : NULL;
    int whole = data && fread(data, 1, (size_t)size, f) == (size_t)size;
    fclose(f);
    if (whole) LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return whole;
}

int main(int argc, char **argv)
{
    int files = 0;
    DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;
    for (struct dirent *e; folder && (e = readdir(folder));) {
        char path[1024];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
        files += run_file(path);
    }
    if (folder) closedir(folder);
    printf("%d inputs\n", files);
    return files == 0;
}
