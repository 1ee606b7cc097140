/* verbfault run: output, line by line. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FULL ((size_t)1 << 20)      /* bytes that wait in a sink */
#define LINE_MOST ((size_t)1 << 20) /* a longer line is cut into several */
#define PIECE                                                                  \
    ((size_t)4096) /* a pipe with any room takes that much at once             \
                    */

/* ---- sinks
 * --------------------------------------------------------------------- */

static void open_sink(struct run_sink *sink, int fd)
{
    const char *terminal = getenv("TERM");
    struct stat file;
    memset(sink, 0, sizeof *sink);
    sink->fd = fd;
    sink->regular = fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
    sink->colour = isatty(fd) && !getenv("NO_COLOR") && terminal &&
                   strcmp(terminal, "dumb") != 0;
}

static bool are_one_file(int a, int b)
{
    struct stat of_a, of_b;
    return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 &&
           of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

void run_output_open(struct run_output *output)
{
    open_sink(&output->sinks[RUN_STDOUT], STDOUT_FILENO);
    open_sink(&output->sinks[RUN_STDERR], STDERR_FILENO);
    output->to[RUN_STDOUT] = &output->sinks[RUN_STDOUT];
    output->to[RUN_STDERR] = are_one_file(STDOUT_FILENO, STDERR_FILENO)
                                 ? &output->sinks[RUN_STDOUT]
                                 : &output->sinks[RUN_STDERR];
}

void run_output_close(struct run_output *output)
{
    for (int i = 0; i < 2; i++) {
        free(output->sinks[i].data);
        memset(&output->sinks[i], 0, sizeof output->sinks[i]);
    }
}

static size_t waiting(const struct run_sink *sink)
{
    return sink->broken ? 0 : sink->end - sink->start;
}

static bool make_room(struct run_sink *sink, size_t length)
{
    size_t room = sink->room ? sink->room : 4096;
    char *larger;
    if (sink->room - sink->end >= length)
        return true;
    if (sink->start > 0) {
        memmove(sink->data, sink->data + sink->start, sink->end - sink->start);
        sink->end -= sink->start;
        sink->start = 0;
    }
    while (room - sink->end < length)
        room *= 2;
    if (room == sink->room)
        return true;
    larger = realloc(sink->data, room);
    if (!larger) {
        sink->broken = true;
        return false;
    }
    sink->data = larger;
    sink->room = room;
    return true;
}

static void put(struct run_sink *sink, const char *bytes, size_t length)
{
    if (sink->broken || length == 0 || !make_room(sink, length))
        return;
    memcpy(sink->data + sink->end, bytes, length);
    sink->end += length;
}

static void put_prefix(struct run_sink *sink, int rank)
{
    static const int colours[] = {36, 32, 33, 35, 34, 31, 96, 92, 93, 95};
    const int count = sizeof colours / sizeof colours[0];
    char text[32];
    int length;
    if (rank < 0)
        return;
    if (sink->colour)
        length = snprintf(text, sizeof text, "\033[%dm[%d]\033[0m ",
                          colours[rank % count], rank);
    else
        length = snprintf(text, sizeof text, "[%d] ", rank);
    put(sink, text, (size_t)length);
}

void run_output_line(struct run_output *output, enum run_to to, int rank,
                     const char *line, size_t length)
{
    struct run_sink *sink = output->to[to];
    put_prefix(sink, rank);
    put(sink, line, length);
    put(sink, "\n", 1);
}

void run_say(struct run_output *output, const char *format, ...)
{
    char text[1024] = "verbfault run: ";
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
    run_output_line(output, RUN_STDERR, -1, text, strlen(text));
}

static void write_sink(struct run_sink *sink)
{
    struct pollfd poll_for = {.fd = sink->fd, .events = POLLOUT};
    while (waiting(sink) > 0) {
        size_t piece = waiting(sink);
        ssize_t written;
        if (!sink->regular) {
            piece = piece < PIECE ? piece : PIECE;
            if (poll(&poll_for, 1, 0) != 1)
                return;
        }
        written = write(sink->fd, sink->data + sink->start, piece);
        if (written >= 0)
            sink->start += (size_t)written;
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR)
            sink->broken = true;
    }
    sink->start = sink->end = 0;
}

void run_output_write(struct run_output *output)
{
    write_sink(&output->sinks[RUN_STDOUT]);
    write_sink(&output->sinks[RUN_STDERR]);
}

int run_output_polls(const struct run_output *output, struct pollfd *polls)
{
    int count = 0;
    for (int i = 0; i < 2; i++)
        if (waiting(&output->sinks[i]) > 0) {
            polls[count].fd = output->sinks[i].fd;
            polls[count].events = POLLOUT;
            polls[count++].revents = 0;
        }
    return count;
}

bool run_output_full(const struct run_output *output)
{
    return waiting(&output->sinks[RUN_STDOUT]) >= FULL ||
           waiting(&output->sinks[RUN_STDERR]) >= FULL;
}

/* ---- streams
 * --------------------------------------------------------------------- */

static void keep_part(struct run_stream *stream, const char *bytes,
                      size_t length)
{
    if (stream->room - stream->length < length) {
        size_t room = stream->room ? stream->room : 1024;
        char *larger;
        while (room - stream->length < length)
            room *= 2;
        larger = realloc(stream->part, room);
        if (!larger)
            return; /* what does not fit is lost: nobody can be told either */
        stream->part = larger;
        stream->room = room;
    }
    memcpy(stream->part + stream->length, bytes, length);
    stream->length += length;
}

static void end_line(struct run_stream *stream, struct run_output *output,
                     enum run_to to, int rank)
{
    run_output_line(output, to, rank, stream->part, stream->length);
    stream->length = 0;
}

static void take_lines(struct run_stream *stream, struct run_output *output,
                       enum run_to to, int rank, const char *bytes,
                       size_t length)
{
    while (length > 0) {
        const char *newline = memchr(bytes, '\n', length);
        size_t line = newline ? (size_t)(newline - bytes) : length;
        if (newline && stream->length == 0) {
            run_output_line(output, to, rank, bytes, line);
        } else {
            keep_part(stream, bytes, line);
            if (newline || stream->length >= LINE_MOST)
                end_line(stream, output, to, rank);
        }
        line += newline != NULL;
        bytes += line;
        length -= line;
    }
}

bool run_stream_read(struct run_stream *stream, struct run_output *output,
                     enum run_to to, int rank)
{
    static char bytes[1 << 16];
    ssize_t got;
    if (stream->fd < 0)
        return false;
    got = read(stream->fd, bytes, sizeof bytes);
    if (got > 0)
        take_lines(stream, output, to, rank, bytes, (size_t)got);
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        run_stream_close(stream, output, to, rank);
    return got > 0 || (got < 0 && errno == EINTR);
}

void run_stream_close(struct run_stream *stream, struct run_output *output,
                      enum run_to to, int rank)
{
    if (stream->length > 0)
        end_line(stream, output, to, rank);
    if (stream->fd >= 0)
        close(stream->fd);
    free(stream->part);
    memset(stream, 0, sizeof *stream);
    stream->fd = -1;
}
