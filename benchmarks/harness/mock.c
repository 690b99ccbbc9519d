/* A model server that costs next to nothing: one thread, epoll, fixed answers.
 *
 * usage: mock PORT
 *
 * POST anything          a chat completion holding one call of `write_file`, or, when the
 *                        body says "stream": true, the same call as server-sent events
 * GET anything           a list of one model
 *
 * The request itself says how it wants to be answered, in any of its messages, because a
 * message is the one thing that every gateway passes on unchanged:
 *     ~mock chunks=200 every_us=10000 reply=call       (the only '~' there is)
 * Other replies are `text`, words only, and `hermes`, the call written as text in that format.
 * Each chunk is one write of its own; `every_us` apart, without drifting.
 * Requests must carry Content-Length. */
#include "wire.h"

#include <signal.h>
#include <stdbool.h>

enum { MAX_FDS = 4096, IN_SIZE = 512 * 1024 };

/* Bytes ready to be written. */
struct frame {
    char data[2048];
    size_t size;
};

struct reply {
    const char *kind;
    struct frame whole, first, middle, last;
};

struct conn {
    size_t in_size;
    int chunks;       /* chunks of the running stream; 0 = none is running */
    int chunk;        /* the next one */
    size_t written;   /* how much of it went out already */
    int64_t due;      /* when it is to be sent */
    int64_t every;
    const struct reply *reply;
    char in[IN_SIZE];
};

static struct conn *conns[MAX_FDS];
static struct reply replies[3];
static struct frame models;

#define ENVELOPE(object) \
    "{\"id\":\"chatcmpl-mock\",\"object\":\"" object \
    "\",\"created\":1700000000,\"model\":\"mock-model\",\"choices\":[{\"index\":0,"
#define CHUNK(delta, finish) \
    "data: " ENVELOPE("chat.completion.chunk") "\"delta\":" delta \
    ",\"logprobs\":null,\"finish_reason\":" finish "}]}\n\n"
#define WHOLE(message, finish) \
    ENVELOPE("chat.completion") "\"message\":" message \
    ",\"logprobs\":null,\"finish_reason\":\"" finish "\"}]," \
    "\"usage\":{\"prompt_tokens\":5000,\"completion_tokens\":40,\"total_tokens\":5040}}"
#define HERMES \
    "{\\\"name\\\": \\\"write_file\\\", \\\"arguments\\\": {\\\"path\\\": \\\"src/app.py\\\"," \
    " \\\"content\\\": \\\""
#define FUNCTION(fields) "{\"tool_calls\":[{\"index\":0," fields "}]}"

static void make_whole(struct frame *frame, const char *json) {
    frame->size = (size_t)snprintf(frame->data, sizeof frame->data,
                                   "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                   "Content-Length: %zu\r\n\r\n%s", strlen(json), json);
}

static void make_chunk(struct frame *frame, const char *before, const char *event,
                       const char *after) {
    frame->size = (size_t)snprintf(frame->data, sizeof frame->data, "%s%zx\r\n%s\r\n%s",
                                   before, strlen(event), event, after);
}

static void make_reply(struct reply *reply, const char *kind, const char *whole,
                       const char *first, const char *middle, const char *last) {
    reply->kind = kind;
    make_whole(&reply->whole, whole);
    make_chunk(&reply->first, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
               "Transfer-Encoding: chunked\r\n\r\n", first, "");
    make_chunk(&reply->middle, "", middle, "");
    make_chunk(&reply->last, "", last, "0\r\n\r\n");
}

static void make_replies(void) {
    make_whole(&models, "{\"object\":\"list\",\"data\":[{\"id\":\"mock-model\",\"object\":"
               "\"model\",\"created\":1700000000,\"owned_by\":\"mock\"}]}");
    make_reply(&replies[0], "call",
        WHOLE("{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":"
              "\"call_mock00000001\",\"type\":\"function\",\"function\":{\"name\":"
              "\"write_file\",\"arguments\":\"{\\\"path\\\":\\\"src/app.py\\\",\\\"content"
              "\\\":\\\"print('hello')\\\"}\"}}]}", "tool_calls"),
        CHUNK("{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"index\":0,\"id\":"
              "\"call_mock00000001\",\"type\":\"function\",\"function\":{\"name\":"
              "\"write_file\",\"arguments\":\"{\\\"path\\\":\\\"src/app.py\\\",\\\"content"
              "\\\":\\\"\"}}]}", "null"),
        CHUNK(FUNCTION("\"function\":{\"arguments\":\" word\"}"), "null"),
        CHUNK(FUNCTION("\"function\":{\"arguments\":\"\\\"}\"}"), "null")
        CHUNK("{}", "\"tool_calls\"") "data: [DONE]\n\n");
    make_reply(&replies[1], "text",
        WHOLE("{\"role\":\"assistant\",\"content\":\"Nothing is left to be done here.\"}",
              "stop"),
        CHUNK("{\"role\":\"assistant\",\"content\":\"\"}", "null"),
        CHUNK("{\"content\":\" word\"}", "null"),
        CHUNK("{}", "\"stop\"") "data: [DONE]\n\n");
    make_reply(&replies[2], "hermes",
        WHOLE("{\"role\":\"assistant\",\"content\":\"<tool_call>\\n" HERMES "print('hello')"
              "\\\"}}\\n</tool_call>\"}", "stop"),
        CHUNK("{\"role\":\"assistant\",\"content\":\"<tool_call>\\n" HERMES "\"}", "null"),
        CHUNK("{\"content\":\" word\"}", "null"),
        CHUNK("{\"content\":\"\\\"}}\\n</tool_call>\"}", "null")
        CHUNK("{}", "\"stop\"") "data: [DONE]\n\n");
}

static const struct reply *find_reply(const char *kind) {
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++)
        if (strcmp(replies[i].kind, kind) == 0) return &replies[i];
    return &replies[0];
}

static void drop(int fd) {
    close(fd);
    free(conns[fd]);
    conns[fd] = NULL;
}

static void accept_all(int epoll, int listener) {
    int fd;
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        if (fd >= MAX_FDS) {
            errno = EMFILE;
            die("accept");
        }
        tune_socket(fd);
        conns[fd] = malloc(sizeof *conns[fd]);
        if (!conns[fd]) die("malloc");
        conns[fd]->in_size = 0;
        conns[fd]->chunks = 0;
        watch(epoll, EPOLL_CTL_ADD, fd, EPOLLIN, (epoll_data_t){.fd = fd});
    }
}

/* Sends every chunk that is due. False = the peer is gone. */
static bool send_due(int fd, struct conn *conn, int64_t now) {
    const struct reply *reply = conn->reply;
    while (conn->chunk < conn->chunks && conn->due <= now) {
        const struct frame *frame = conn->chunk == 0                 ? &reply->first
                                    : conn->chunk < conn->chunks - 1 ? &reply->middle
                                                                     : &reply->last;
        ssize_t sent = write(fd, frame->data + conn->written, frame->size - conn->written);
        if (sent < 0 && errno != EAGAIN) return false;
        if (sent > 0) conn->written += (size_t)sent;
        if (conn->written < frame->size) { /* the peer is slow: try again in a moment */
            conn->due = now + 200000;
            return true;
        }
        conn->written = 0;
        conn->chunk++;
        conn->due += conn->every;
    }
    if (conn->chunk == conn->chunks) conn->chunks = 0;
    return true;
}

/* Does the body say "stream": true? Gateways put the field first or last, so a look at both
 * ends spares the search through 20 kB of tools, which would cost more than all the rest. */
static bool wants_stream(const char *body, size_t size) {
    size_t end = size < 400 ? size : 400;
    const char *at = memmem(body, end, "\"stream\"", 8);
    if (!at) at = memmem(body + size - end, end, "\"stream\"", 8);
    if (!at) at = memmem(body, size, "\"stream\"", 8);
    return at && at[8 + strspn(at + 8, ": ")] == 't';
}

/* Answers one complete POST. False = the peer is gone. */
static bool answer(int fd, struct conn *conn, const char *body, size_t size) {
    int chunks = 200, every_us = 0;
    char kind[8] = "call";
    const char *wish = memchr(body, '~', size);
    if (wish) sscanf(wish, "~mock chunks=%d every_us=%d reply=%7s", &chunks, &every_us, kind);
    conn->reply = find_reply(kind);
    if (!wants_stream(body, size)) {
        const struct frame *frame = &conn->reply->whole;
        return write(fd, frame->data, frame->size) == (ssize_t)frame->size;
    }
    conn->chunks = chunks < 2 ? 2 : chunks; /* a first and a last one at least */
    conn->chunk = 0;
    conn->written = 0;
    conn->every = every_us * 1000LL;
    conn->due = now_ns();
    return send_due(fd, conn, conn->due);
}

/* Answers the request in the buffer, once it is complete. False = close. */
static bool take_request(int fd, struct conn *conn) {
    size_t head = head_length(conn->in, conn->in_size);
    if (!head) return true;
    if (conn->in[0] == 'G') {
        conn->in_size = 0;
        return write(fd, models.data, models.size) == (ssize_t)models.size;
    }
    const char *length = header(conn->in, head, "content-length");
    if (!length) {
        static const char refusal[] = "HTTP/1.1 411 Length Required\r\nContent-Length: 0\r\n\r\n";
        (void)!write(fd, refusal, sizeof refusal - 1);
        return false;
    }
    size_t body = strtoul(length, NULL, 10);
    if (head + body >= IN_SIZE) return false;
    if (conn->in_size < head + body) return true;
    conn->in_size = 0; /* clients wait for the answer: nothing follows in the buffer */
    conn->in[head + body] = '\0';
    return answer(fd, conn, conn->in + head, body);
}

static void receive(int fd) {
    struct conn *conn = conns[fd];
    ssize_t got = read(fd, conn->in + conn->in_size, IN_SIZE - 1 - conn->in_size);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
        drop(fd);
        return;
    }
    conn->in_size += (size_t)got;
    if (!take_request(fd, conn)) drop(fd);
}

/* Sends what is due on every stream; returns when the next chunk is due, 0 = none is. */
static int64_t pace(int highest) {
    int64_t now = now_ns(), next = 0;
    for (int fd = 0; fd <= highest; fd++) {
        struct conn *conn = conns[fd];
        if (!conn || !conn->chunks) continue;
        if (!send_due(fd, conn, now)) {
            drop(fd);
        } else if (conn->chunks && (!next || conn->due < next)) {
            next = conn->due;
        }
    }
    return next;
}

static int listen_on(int port) {
    struct sockaddr_in address = loopback(port);
    int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) die("socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0) die("bind");
    if (listen(fd, 1024) < 0) die("listen");
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0) die("fcntl");
    return fd;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: mock PORT\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);      /* a client may leave in the middle of a stream */
    prctl(PR_SET_TIMERSLACK, 1UL); /* the default of 50 us would bunch paced chunks */
    make_replies();
    int listener = listen_on(atoi(argv[1])), epoll = epoll_create1(0), highest = 0;
    if (epoll < 0) die("epoll_create1");
    watch(epoll, EPOLL_CTL_ADD, listener, EPOLLIN, (epoll_data_t){.fd = listener});
    struct epoll_event events[256];
    for (;;) {
        int64_t next = pace(highest);
        int count = wait_events(epoll, events, 256, next);
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd > highest) highest = fd;
            if (fd == listener) accept_all(epoll, listener);
            else receive(fd);
        }
    }
}
