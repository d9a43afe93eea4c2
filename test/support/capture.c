#include "support/capture.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static FILE *file;
static int captured, saved;

void capture_begin(int fd)
{
    fflush(NULL);
    file = tmpfile();
    assert(file);
    captured = fd;
    saved = dup(fd);
    dup2(fileno(file), fd);
}

char *capture_end(void)
{
    fflush(NULL);
    dup2(saved, captured);
    close(saved);

    fseek(file, 0, SEEK_END);
    long n = ftell(file);
    rewind(file);
    char *text = malloc((size_t)n + 1);
    assert(text);
    text[fread(text, 1, (size_t)n, file)] = '\0';
    fclose(file);
    return text;
}
