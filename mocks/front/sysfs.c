/*
 * The library's small helpers around /sys. A device of the mock has no files
 * there; the helpers read what a program asks for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* These two are in no header that is installed. */
const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf,
                        size_t size);

/* Where /sys is, without a slash at its end. */
const char *ibv_get_sysfs_path(void)
{
    static _Thread_local char path[512];
    const char *told = getenv("SYSFS_PATH");
    size_t length;

    if (!told)
        return "/sys";
    snprintf(path, sizeof(path), "%s", told);
    length = strlen(path);
    while (length > 0 && path[length - 1] == '/')
        path[--length] = '\0';
    return path;
}

/* The file's first size bytes, without the newline at their end; answers how
 * many, or -1. */
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf,
                        size_t size)
{
    char path[1024];
    size_t length;
    FILE *from;

    if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
        return -1;
    from = fopen(path, "r");
    if (!from)
        return -1;
    length = fread(buf, 1, size, from);
    fclose(from);
    if (length > 0 && buf[length - 1] == '\n')
        buf[--length] = '\0';
    else if (length < size)
        buf[length] = '\0';
    else if (size > 0)
        buf[size - 1] = '\0';
    return (int)length;
}
