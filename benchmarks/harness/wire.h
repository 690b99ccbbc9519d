/* What mock.c and load.c share: a clock, sockets, and just enough HTTP/1.1 framing.
 * Not an HTTP library: it trusts its peer, which is always another part of the benchmark. */
#ifndef WIRE_H
#define WIRE_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static inline int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* A benchmark with an error in it is no measurement, so every error ends the program. */
static inline _Noreturn void die(const char *what) {
    fprintf(stderr, "%s: %s\n", what, errno ? strerror(errno) : "failed");
    exit(1);
}

static inline struct sockaddr_in loopback(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* Small writes leave at once; a whole request fits the send buffer; nothing ever blocks. */
static inline void tune_socket(int fd) {
    int on = 1, buffer = 200 * 1024;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0) die("fcntl");
}

/* Adds or changes the events that epoll reports for `fd`, and what it hands back with them. */
static inline void watch(int epoll, int operation, int fd, uint32_t events, epoll_data_t data) {
    struct epoll_event event = {.events = events, .data = data};
    if (epoll_ctl(epoll, operation, fd, &event) < 0) die("epoll_ctl");
}

/* Waits for events until `due` (monotonic ns; 0 = for ever). epoll_wait alone counts in
 * milliseconds, which would bunch paced chunks together, so ppoll does the timed wait. */
static inline int wait_events(int epoll, struct epoll_event *events, int max, int64_t due) {
    if (due) {
        int64_t left = due - now_ns();
        if (left < 0) left = 0;
        struct timespec timeout = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        struct pollfd self = {.fd = epoll, .events = POLLIN};
        ppoll(&self, 1, &timeout, NULL);
    }
    int count = epoll_wait(epoll, events, max, due ? 0 : -1);
    if (count < 0 && errno != EINTR) die("epoll_wait");
    return count < 0 ? 0 : count;
}

/* The length of the message head with its blank line, or 0 while it is incomplete. */
static inline size_t head_length(const char *data, size_t size) {
    const char *end = memmem(data, size, "\r\n\r\n", 4);
    return end ? (size_t)(end - data) + 4 : 0;
}

/* The value of header `name` in a complete head, or NULL. The value ends at its "\r\n". */
static inline const char *header(const char *head, size_t size, const char *name) {
    size_t length = strlen(name);
    const char *end = head + size, *line = head;
    while ((line = memchr(line, '\n', (size_t)(end - line))) != NULL) {
        line++;
        if ((size_t)(end - line) > length && line[length] == ':' &&
            strncasecmp(line, name, length) == 0) {
            line += length + 1;
            return line + strspn(line, " \t");
        }
    }
    return NULL;
}

#endif
