/*
 * verbfault run: the command's file, and whether a preloaded library reaches
 * what it calls.
 *
 * The loader preloads for programs that it loads: those with an interpreter
 * segment, of its own word size, that do not run with another user's rights.
 * And what such a program defines itself goes before the preloaded library's.
 * Only ELF files of 64 bits are looked into; a script's interpreter, and what
 * a program starts, are not.
 */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- looking it up
 * ----------------------------------------------------------- */

static int complain(const char *name, const char *what)
{
    fprintf(stderr, "verbfault run: %s: %s\n", name, what);
    return CLI_USAGE;
}

static bool is_executable(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode) &&
           access(path, X_OK) == 0;
}

static int look_at_path(struct run_program *program, const char *name)
{
    struct stat file;
    if ((size_t)snprintf(program->path, sizeof program->path, "%s", name) >=
        sizeof program->path)
        return complain(name, strerror(ENAMETOOLONG));
    if (stat(program->path, &file) != 0)
        return complain(name, strerror(errno));
    if (S_ISDIR(file.st_mode))
        return complain(name, "is a directory, not a command");
    if (!is_executable(program->path))
        return complain(name, "is not executable");
    return CLI_FINE;
}

static int look_along_path(struct run_program *program, const char *name)
{
    const char *directories = getenv("PATH");
    if (!directories)
        directories = "/usr/local/bin:/usr/bin:/bin";
    for (const char *at = directories;; at++) {
        size_t length = strcspn(at, ":");
        int written = snprintf(program->path, sizeof program->path, "%.*s%s%s",
                               (int)length, at, length > 0 ? "/" : "./", name);
        if (written > 0 && (size_t)written < sizeof program->path &&
            is_executable(program->path))
            return CLI_FINE;
        at += length;
        if (*at == '\0')
            break;
    }
    return complain(name, "no such command");
}

/* ---- looking into it
 * ------------------------------------------------------------ */

struct header {
    unsigned char ident[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, segments, sections;
    uint32_t flags;
    uint16_t size, segment_size, segment_count;
    uint16_t section_size, section_count, names;
};
struct segment {
    uint32_t type, flags;
    uint64_t offset, address, physical, file_size, memory_size, alignment;
};
struct section {
    uint32_t name, type;
    uint64_t flags, address, offset, size;
    uint32_t link, info;
    uint64_t alignment, entry_size;
};
struct symbol {
    uint32_t name;
    unsigned char info, other;
    uint16_t section;
    uint64_t value, size;
};
struct dynamic {
    uint64_t tag, value;
};
enum { LOAD = 1, DYNAMIC = 2, INTERPRETER = 3 };     /* segments */
enum { NEEDED = 1, STRINGS = 5, STRINGS_SIZE = 10 }; /* dynamic entries */
enum { SYMBOLS = 2, FUNCTION = 2 };                  /* a section, a symbol */

struct image {
    const unsigned char *bytes;
    uint64_t size;
    struct header header;
};

/* Nothing in the file is trusted: false if it is not all inside. */
static bool get(const struct image *image, uint64_t offset, void *to,
                size_t size)
{
    if (offset > image->size || size > image->size - offset)
        return false;
    memcpy(to, image->bytes + offset, size);
    return true;
}

/* The string at offset, or NULL if it does not end inside of the file. */
static const char *string_at(const struct image *image, uint64_t offset)
{
    if (offset >= image->size ||
        !memchr(image->bytes + offset, '\0', image->size - offset))
        return NULL;
    return (const char *)image->bytes + offset;
}

static bool get_segment(const struct image *image, int n,
                        struct segment *segment)
{
    return n < image->header.segment_count &&
           get(image,
               image->header.segments +
                   (uint64_t)n * image->header.segment_size,
               segment, sizeof *segment);
}

static bool find_segment(const struct image *image, uint32_t type,
                         struct segment *segment)
{
    for (int n = 0; get_segment(image, n, segment); n++)
        if (segment->type == type)
            return true;
    return false;
}

/* Where in the file an address of the program is; UINT64_MAX: nowhere. */
static uint64_t offset_of(const struct image *image, uint64_t address)
{
    struct segment segment;
    for (int n = 0; get_segment(image, n, &segment); n++)
        if (segment.type == LOAD && address >= segment.address &&
            address - segment.address < segment.file_size)
            return segment.offset + (address - segment.address);
    return UINT64_MAX;
}

static bool get_dynamic(const struct image *image,
                        const struct segment *segment, uint64_t n,
                        struct dynamic *dynamic)
{
    return n < segment->file_size / sizeof *dynamic &&
           get(image, segment->offset + n * sizeof *dynamic, dynamic,
               sizeof *dynamic) &&
           dynamic->tag != 0;
}

/* The n-th library that the program asks for by name, or NULL. */
static const char *needed(const struct image *image, int n)
{
    struct segment segment;
    struct dynamic dynamic;
    uint64_t strings = UINT64_MAX;
    if (!find_segment(image, DYNAMIC, &segment))
        return NULL;
    for (uint64_t i = 0; get_dynamic(image, &segment, i, &dynamic); i++)
        if (dynamic.tag == STRINGS)
            strings = offset_of(image, dynamic.value);
    if (strings >= image->size)
        return NULL;
    for (uint64_t i = 0; get_dynamic(image, &segment, i, &dynamic); i++)
        if (dynamic.tag == NEEDED && dynamic.value < image->size && n-- == 0)
            return string_at(image, strings + dynamic.value);
    return NULL;
}

static bool needs(const struct image *image, const char *library)
{
    const char *name;
    for (int n = 0; (name = needed(image, n)) != NULL; n++)
        if (strncmp(name, library, strlen(library)) == 0)
            return true;
    return false;
}

/* A name that only a static libibverbs, or this project's static mock, brings
 * into a program. (A program's own ibv_open_device may be a wrapper.) */
static bool is_static_verbs(const char *name)
{
    static const char tail[] = "ibverbs_init"; /* with its version in front */
    size_t length = strlen(name);
    return (length >= sizeof tail - 1 &&
            strcmp(name + length - (sizeof tail - 1), tail) == 0) ||
           strcmp(name, "vf_world_install") == 0;
}

static bool has_static_verbs(const struct image *image,
                             const struct section *symbols)
{
    struct section strings;
    struct symbol symbol;
    const char *name;
    if (!get(image,
             image->header.sections +
                 (uint64_t)symbols->link * image->header.section_size,
             &strings, sizeof strings))
        return false;
    for (uint64_t at = 0; at + sizeof symbol <= symbols->size;
         at += sizeof symbol) {
        if (!get(image, symbols->offset + at, &symbol, sizeof symbol))
            return false;
        if (symbol.section == 0 || (symbol.info & 15) != FUNCTION)
            continue;
        name = string_at(image, strings.offset + symbol.name);
        if (name && is_static_verbs(name))
            return true;
    }
    return false;
}

static bool links_verbs_statically(const struct image *image)
{
    struct section section;
    if (needs(image, "libibverbs.") || needs(image, "libverbfault."))
        return false;
    for (int n = 0; n < image->header.section_count; n++)
        if (get(image,
                image->header.sections +
                    (uint64_t)n * image->header.section_size,
                &section, sizeof section) &&
            section.type == SYMBOLS)
            return has_static_verbs(image, &section);
    return false; /* stripped */
}

/* A shared sanitizer runtime insists on being the first library. */
static void note_runtime(struct run_program *program, const struct image *image)
{
    static const char *const runtimes[] = {"libasan.", "libtsan.", "liblsan.",
                                           "libhwasan.", "libclang_rt."};
    const char *name;
    for (int n = 0; (name = needed(image, n)) != NULL; n++)
        for (size_t i = 0; i < sizeof runtimes / sizeof runtimes[0]; i++)
            if (strncmp(name, runtimes[i], strlen(runtimes[i])) == 0 &&
                strlen(name) < sizeof program->runtime)
                strcpy(program->runtime, name);
}

/* This very command: it has the simulator's mock in it, but its doctor opens
 * the library as any program does, and nothing else of it is there to be run.
 */
static bool is_this_command(const char *path)
{
    char self[RUN_PATH_MAX];
    struct stat this_file, that_file;
    return run_os_executable(self) && stat(self, &this_file) == 0 &&
           stat(path, &that_file) == 0 &&
           this_file.st_dev == that_file.st_dev &&
           this_file.st_ino == that_file.st_ino;
}

static int judge(struct run_program *program, const struct image *image)
{
    struct segment segment;
    if (!find_segment(image, INTERPRETER, &segment))
        return complain(program->path,
                        "is statically linked: the library cannot take the "
                        "place of libibverbs in it");
    if (links_verbs_statically(image) && !is_this_command(program->path))
        return complain(program->path,
                        "has verbs linked into it: build it against "
                        "libibverbs.so for the library to take its place");
    program->needs_rdmacm = needs(image, "librdmacm.");
    note_runtime(program, image);
    return CLI_FINE;
}

static bool is_elf(const struct image *image)
{
    return image->size >= 5 && memcmp(image->bytes, "\177ELF", 4) == 0;
}

static int look_into(struct run_program *program, struct image *image)
{
    enum { BITS = 4, BYTE_ORDER_OF = 5, BITS_64 = 2 };
    const uint16_t one = 1;
    const unsigned char order = *(const unsigned char *)&one == 1 ? 1 : 2;
    if (!is_elf(image))
        return CLI_FINE; /* a script, or another system's */
    if (image->bytes[BITS] != BITS_64 && sizeof(void *) == 8)
        return complain(program->path,
                        "is a 32-bit program: the library cannot reach it");
    if (image->bytes[BITS] != BITS_64 ||
        !get(image, 0, &image->header, sizeof image->header) ||
        image->bytes[BYTE_ORDER_OF] != order)
        return CLI_FINE; /* the system will say what it thinks of it */
    return judge(program, image);
}

int run_program_find(struct run_program *program, const char *name)
{
    struct image image;
    struct stat file;
    void *mapped;
    int fd, code;
    memset(program, 0, sizeof *program);
    memset(&image, 0, sizeof image);
    code = strchr(name, '/') ? look_at_path(program, name)
                             : look_along_path(program, name);
    if (code != CLI_FINE)
        return code;
    fd = open(program->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &file) != 0 || file.st_size <= 0) {
        if (fd >= 0)
            close(fd);
        return CLI_FINE; /* executable, not readable: that is its right */
    }
    image.size = (uint64_t)file.st_size;
    mapped = mmap(NULL, (size_t)image.size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (mapped == MAP_FAILED)
        return CLI_FINE;
    image.bytes = mapped;
    code = look_into(program, &image);
    munmap(mapped, (size_t)image.size);
    if (code == CLI_FINE && (file.st_mode & S_ISUID) != 0 &&
        file.st_uid != getuid())
        code = complain(program->path, "is set-user-ID: the system keeps "
                                       "preloaded libraries out of it");
    return code;
}
