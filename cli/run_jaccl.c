/*
 * verbfault run: what JACCL reads at its start.
 *
 * A device file is a JSON array with a row for each rank; a row has a cell for
 * each rank: null, a device's name, or a list of names, one a wire.
 */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/run.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Quotes, comma and space around a name, brackets around a cell. */
#define CELL_MAX (SCN_NAMES_MAX * (VF_NAME_MAX + 4) + 4)

static void print_given_cell(char *text, const struct scn_statement *cell)
{
    size_t used = 0;
    int count = cell ? cell->u.cell.count : 0;
    if (count == 0) {
        strcpy(text, "null");
        return;
    }
    /* Names need no escapes: the language has none that would. */
    if (count > 1)
        text[used++] = '[';
    for (int i = 0; i < count; i++)
        used += (size_t)sprintf(text + used, "%s\"%s\"", i > 0 ? ", " : "",
                                cell->u.cell.names[i]);
    strcpy(text + used, count > 1 ? "]" : "");
}

static void print_cell(const struct run_setup *setup, int view, int row,
                       int column, char text[CELL_MAX])
{
    char name[VF_NAME_MAX];
    if (setup->from_scenario) {
        print_given_cell(text, scn_cell(&setup->complete, view, row, column));
    } else if (row == column) {
        strcpy(text, "null");
    } else {
        run_device_name(setup, row, column, name);
        snprintf(text, CELL_MAX, "\"%s\"", name);
    }
}

char *run_device_file(const struct run_setup *setup, int rank)
{
    int rows =
        setup->from_scenario ? scn_rows(&setup->complete, rank) : setup->ranks;
    char cell[CELL_MAX];
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (!stream)
        return NULL;
    fputs("[", stream);
    for (int row = 0; row < rows; row++) {
        fputs(row > 0 ? ",\n [" : "[", stream);
        for (int column = 0; column < rows; column++) {
            print_cell(setup, rank, row, column, cell);
            fprintf(stream, "%s%s", column > 0 ? ", " : "", cell);
        }
        fputs("]", stream);
    }
    fputs("]\n", stream);
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

int run_free_port(void)
{
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    int port = -1, fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        return -1;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &length) == 0)
        port = ntohs(address.sin_port);
    close(fd);
    return port;
}

void run_coordinator(const struct run_setup *setup, int rank, int port,
                     char *text, size_t room)
{
    const struct scn_statement *told = NULL;
    for (int i = 0; setup->from_scenario && i < setup->complete.count; i++) {
        const struct scn_statement *s = &setup->complete.statements[i];
        if (s->kind == SCN_COORDINATOR &&
            (s->rank == rank || (s->rank == SCN_ALL && !told)))
            told = s;
    }
    if (told)
        snprintf(text, room, "%s", told->u.text.word);
    else
        snprintf(text, room, "127.0.0.1:%d", port);
}

int run_setting(const struct run_setup *setup, int rank, enum scn_setting what)
{
    return setup->from_scenario ? scn_setting(&setup->complete, rank, what) : 0;
}
