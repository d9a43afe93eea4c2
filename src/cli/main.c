#include <stdio.h>

int main(void)
{
    fputs("abrd: no subcommand yet\n", stderr);
    return 2;
}
