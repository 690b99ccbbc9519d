/* A load client: a closed loop of keep-alive connections to 127.0.0.1, one thread, epoll.
 *
 * usage: load -p PORT -b BODY_FILE [-u PATH] [-k KEY] [-c CONNECTIONS]
 *             [-t SECONDS] [-n REQUESTS] [-s STAGGER_US]
 *
 * Sends the same POST again and again on every connection, each as soon as the answer to
 * the one before is complete, until SECONDS have passed or REQUESTS were started. The
 * connections start STAGGER_US apart. Prints one JSON object: counts, and the percentiles
 * of the time to the last byte and (for streams) to the first event, in microseconds.
 * Understands Content-Length and chunked bodies. Anything but a complete 200 ends the run. */
#include "wire.h"

#include <ctype.h>
#include <stdbool.h>

enum { MAX_CONNS = 1024, HEAD_SIZE = 16 * 1024, READ_SIZE = 256 * 1024 };

enum state { HEAD, BODY, CHUNK_SIZE, CHUNK_EXTENSION, CHUNK_DATA, CHUNK_END, TRAILER, DONE };

struct conn {
    int fd;
    enum state state;
    size_t sent;          /* bytes of the request */
    bool full;            /* the socket had no room for the rest of it */
    size_t left;          /* bytes of the body or the chunk still to come */
    size_t line;          /* length of the trailer line so far */
    size_t head_size;
    bool after_newline;   /* the last payload byte was '\n' */
    int64_t started, first;
    char head[HEAD_SIZE];
};

/* Every latency of a run: exact percentiles need them all, and there are few enough. */
struct series {
    int64_t *values;
    size_t count, room;
};

static struct options {
    int port, connections, stagger_us;
    double seconds;
    long requests;
    const char *path, *key, *body_file;
} options = {.connections = 1, .path = "/v1/chat/completions", .key = "none"};

static char *request;
static size_t request_size;
static struct conn *conns[MAX_CONNS];
static struct series latencies, firsts;
static long started, events, payload_bytes;
static int64_t deadline;
static int epoll;

static void record(struct series *series, int64_t value) {
    if (series->count == series->room) {
        series->room = series->room ? series->room * 2 : 4096;
        series->values = realloc(series->values, series->room * sizeof *series->values);
        if (!series->values) die("realloc");
    }
    series->values[series->count++] = value;
}

static void make_request(void) {
    FILE *file = fopen(options.body_file, "rb");
    if (!file) die(options.body_file);
    fseek(file, 0, SEEK_END);
    size_t body = (size_t)ftell(file);
    rewind(file);
    request = malloc(body + 2048);
    if (!request) die("malloc");
    int head = snprintf(request, 2048,
                        "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                        "Content-Type: application/json\r\nAccept: application/json\r\n"
                        "Authorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n",
                        options.path, options.port, options.key, body);
    if (fread(request + head, 1, body, file) != body) die(options.body_file);
    fclose(file);
    request_size = (size_t)head + body;
}

/* Writes what is left of the request; asks to be told of room when the socket is full. */
static void send_request(struct conn *conn) {
    ssize_t sent = write(conn->fd, request + conn->sent, request_size - conn->sent);
    if (sent < 0 && errno != EAGAIN) die("write");
    if (sent > 0) conn->sent += (size_t)sent;
    bool full = conn->sent < request_size;
    if (full == conn->full) return;
    conn->full = full;
    uint32_t wanted = full ? EPOLLIN | EPOLLOUT : EPOLLIN;
    watch(epoll, EPOLL_CTL_MOD, conn->fd, wanted, (epoll_data_t){.ptr = conn});
}

/* Starts the next request unless the run is over. */
static void begin(struct conn *conn) {
    int64_t now = now_ns();
    conn->state = DONE;
    if (options.requests && started >= options.requests) return;
    if (deadline && now >= deadline) return;
    started++;
    conn->state = HEAD;
    conn->sent = conn->head_size = 0;
    conn->after_newline = false;
    conn->first = 0;
    conn->started = now;
    send_request(conn);
}

static _Noreturn void refuse(const struct conn *conn, const char *why) {
    fprintf(stderr, "%s\n%.*s\n", why, (int)conn->head_size, conn->head);
    exit(1);
}

/* Reads the complete head: is it a 200, and how is the body framed? */
static void read_head(struct conn *conn, size_t size) {
    if (strncmp(conn->head, "HTTP/1.1 200", 12) != 0) refuse(conn, "not a 200:");
    const char *length = header(conn->head, size, "content-length");
    const char *coding = header(conn->head, size, "transfer-encoding");
    conn->left = length ? strtoul(length, NULL, 10) : 0;
    if (coding && strncasecmp(coding, "chunked", 7) == 0) conn->state = CHUNK_SIZE;
    else if (length) conn->state = conn->left ? BODY : DONE;
    else refuse(conn, "neither Content-Length nor chunked:");
}

/* Collects the head; returns how many of the new bytes belong to it. */
static size_t feed_head(struct conn *conn, const char *data, size_t size) {
    size_t before = conn->head_size, room = HEAD_SIZE - 1 - before;
    size_t take = size < room ? size : room;
    memcpy(conn->head + before, data, take);
    conn->head_size += take;
    conn->head[conn->head_size] = '\0';
    size_t length = head_length(conn->head, conn->head_size);
    if (!length) {
        if (take == room) refuse(conn, "the head does not end:");
        return take;
    }
    read_head(conn, length);
    return length - before;
}

/* Counts events, which end with an empty line, across the cuts between reads and chunks. */
static void count_events(struct conn *conn, const char *data, size_t size) {
    const char *end = data + size, *at = data;
    payload_bytes += (long)size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline) {
            conn->after_newline = false;
            return;
        }
        if (conn->after_newline && newline == at) {
            events++;
            if (!conn->first) conn->first = now_ns();
        }
        conn->after_newline = true;
        at = newline + 1;
    }
}

static size_t feed_payload(struct conn *conn, const char *data, size_t size) {
    size_t take = size < conn->left ? size : conn->left;
    count_events(conn, data, take);
    conn->left -= take;
    if (!conn->left) conn->state = conn->state == BODY ? DONE : CHUNK_END;
    return take;
}

/* Reads one byte of chunked framing. */
static void feed_framing(struct conn *conn, char byte) {
    bool newline = byte == '\n';
    if (conn->state == CHUNK_END) {
        if (newline) conn->state = CHUNK_SIZE;
    } else if (conn->state == TRAILER) {
        if (newline && !conn->line) conn->state = DONE;
        conn->line = newline ? 0 : conn->line + (byte != '\r');
    } else if (newline) {
        conn->state = conn->left ? CHUNK_DATA : TRAILER;
        conn->line = 0;
    } else if (byte == ';') {
        conn->state = CHUNK_EXTENSION;
    } else if (conn->state == CHUNK_SIZE && isxdigit((unsigned char)byte)) {
        int digit = isdigit((unsigned char)byte) ? byte - '0' : (byte | 32) - 'a' + 10;
        conn->left = conn->left * 16 + (size_t)digit;
    }
}

static void feed(struct conn *conn, const char *data, size_t size) {
    while (size && conn->state != DONE) {
        size_t used = 1;
        if (conn->state == HEAD) used = feed_head(conn, data, size);
        else if (conn->state == BODY || conn->state == CHUNK_DATA)
            used = feed_payload(conn, data, size);
        else feed_framing(conn, *data);
        data += used;
        size -= used;
    }
    if (size) refuse(conn, "bytes after the end of the answer to:");
}

/* Reads what is there; a complete answer is recorded and the next request begun. */
static void receive(struct conn *conn) {
    static char buffer[READ_SIZE];
    ssize_t got = read(conn->fd, buffer, sizeof buffer);
    if (got < 0 && errno == EAGAIN) return;
    if (got < 0) die("read");
    if (got == 0) refuse(conn, "the connection was closed during or after:");
    feed(conn, buffer, (size_t)got);
    if (conn->state != DONE) return;
    record(&latencies, now_ns() - conn->started);
    if (conn->first) record(&firsts, conn->first - conn->started);
    begin(conn);
}

static void open_all(void) {
    struct sockaddr_in address = loopback(options.port);
    for (int i = 0; i < options.connections; i++) {
        struct conn *conn = conns[i] = calloc(1, sizeof *conn);
        if (!conn) die("calloc");
        conn->state = DONE;
        conn->fd = socket(AF_INET, SOCK_STREAM, 0);
        if (conn->fd < 0) die("socket");
        if (connect(conn->fd, (struct sockaddr *)&address, sizeof address) < 0) die("connect");
        tune_socket(conn->fd);
        watch(epoll, EPOLL_CTL_ADD, conn->fd, EPOLLIN, (epoll_data_t){.ptr = conn});
    }
}

/* Runs until every connection has had its last answer. */
static void run(void) {
    struct epoll_event ready[256];
    int64_t start = now_ns();
    int opened = 0;
    if (options.seconds > 0) deadline = start + (int64_t)(options.seconds * 1e9);
    while (opened < options.connections || (long)latencies.count < started) {
        int64_t next = 0;
        while (opened < options.connections) {
            next = start + opened * options.stagger_us * 1000LL;
            if (next > now_ns()) break;
            begin(conns[opened]);
            opened++;
            next = 0;
        }
        int count = wait_events(epoll, ready, 256, next);
        for (int i = 0; i < count; i++) {
            struct conn *conn = ready[i].data.ptr;
            if (ready[i].events & EPOLLOUT) send_request(conn);
            if (ready[i].events & ~(uint32_t)EPOLLOUT) receive(conn);
        }
    }
}

static int ascending(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void print_series(const char *name, struct series *series) {
    if (!series->count) {
        printf(",\"%s\":null", name);
        return;
    }
    qsort(series->values, series->count, sizeof *series->values, ascending);
    double sum = 0;
    for (size_t i = 0; i < series->count; i++) sum += (double)series->values[i];
    printf(",\"%s\":{\"mean\":%.2f", name, sum / (double)series->count / 1e3);
    static const struct { const char *name; double share; } points[] = {
        {"min", 0}, {"p50", .5}, {"p90", .9}, {"p99", .99}, {"max", 1}};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        size_t at = (size_t)((double)(series->count - 1) * points[i].share + .5);
        printf(",\"%s\":%.2f", points[i].name, (double)series->values[at] / 1e3);
    }
    printf("}");
}

static void read_options(int argc, char **argv) {
    int letter;
    while ((letter = getopt(argc, argv, "p:b:u:k:c:t:n:s:")) != -1) {
        switch (letter) {
        case 'p': options.port = atoi(optarg); break;
        case 'b': options.body_file = optarg; break;
        case 'u': options.path = optarg; break;
        case 'k': options.key = optarg; break;
        case 'c': options.connections = atoi(optarg); break;
        case 't': options.seconds = atof(optarg); break;
        case 'n': options.requests = atol(optarg); break;
        case 's': options.stagger_us = atoi(optarg); break;
        default: exit(2);
        }
    }
    bool bounded = options.seconds > 0 || options.requests > 0;
    if (!options.port || !options.body_file || !bounded || options.connections < 1 ||
        options.connections > MAX_CONNS) {
        fprintf(stderr, "load: needs -p, -b, one of -t and -n, and 1 to %d connections\n",
                MAX_CONNS);
        exit(2);
    }
}

int main(int argc, char **argv) {
    read_options(argc, argv);
    prctl(PR_SET_TIMERSLACK, 1UL);
    make_request();
    epoll = epoll_create1(0);
    if (epoll < 0) die("epoll_create1");
    open_all();
    int64_t start = now_ns();
    run();
    printf("{\"requests\":%zu,\"seconds\":%.6f,\"events\":%ld,\"bytes\":%ld", latencies.count,
           (double)(now_ns() - start) / 1e9, events, payload_bytes);
    print_series("latency_us", &latencies);
    print_series("first_event_us", &firsts);
    printf("}\n");
    return 0;
}
