/* A program that is linked in one way or another, for run.sh. */
#include <stdio.h>

int main(void)
{
    return puts("well") < 0;
}
