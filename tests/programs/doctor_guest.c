/*
 * Who talks to a doctor and is none, or no good one.
 *
 *   doctor_guest connect PORT TEXT...   connects (tries for 10 s), says each
 *                                       TEXT once it has heard a line, leaves
 *   doctor_guest listen PORT TEXT...    the same, for one that connects
 *   doctor_guest probe PORT             0: the port is free
 *
 * A text "-" is none: it only waits for the next line; "..." stays until the
 * other end has gone; "\n" in a text is a newline. Says what it heard.
 */
#define _DEFAULT_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in address_of(const char *port)
{
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((unsigned short)atoi(port));
    return address;
}

static int be_connected(const char *port)
{
    struct sockaddr_in address = address_of(port);
    const struct timespec pause = {0, 10000000};
    for (int tries = 0; tries < 1000; tries++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
            return fd;
        close(fd);
        nanosleep(&pause, NULL);
    }
    perror("connect");
    exit(1);
}

static int probe(const char *port)
{
    struct sockaddr_in address = address_of(port);
    int on = 1, answer, fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    answer = bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
             listen(fd, 1) == 0;
    close(fd);
    return answer ? 0 : 1;
}

static int be_connected_to(const char *port)
{
    struct sockaddr_in address = address_of(port);
    int on = 1, fd, listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 1) != 0) {
        perror("listen");
        exit(1);
    }
    fd = accept(listener, NULL, NULL);
    close(listener);
    return fd;
}

/* Up to a newline or the end. */
static void hear(FILE *stream)
{
    char line[1024];
    if (fgets(line, sizeof line, stream))
        printf("heard %s", line);
}

static void say(int fd, const char *text)
{
    for (; *text; text++) {
        char c = *text;
        if (c == '\\' && text[1] == 'n') {
            c = '\n';
            text++;
        }
        if (write(fd, &c, 1) != 1)
            return;
    }
}

int main(int argc, char **argv)
{
    FILE *stream;
    int fd;
    if (argc < 3)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    if (argv[1][0] == 'p')
        return probe(argv[2]);
    fd = argv[1][0] == 'c' ? be_connected(argv[2]) : be_connected_to(argv[2]);
    stream = fdopen(fd, "r");
    if (!stream)
        return 1;
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "...") == 0) {
            while (fgetc(stream) != EOF)
                ;
            break;
        }
        if (strcmp(argv[i], "-") != 0)
            say(fd, argv[i]);
        if (i + 1 < argc)
            hear(stream);
    }
    fclose(stream);
    return 0;
}
