#include "cli/serve/http/serve_listen.h"

#include "cli/common/cli_io.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    BACKLOG = 256,
    FIRST_FD = 3, // of the sockets of systemd
};

//-- systemd ---------------------------------------------------------------------------------------

static bool read_variable(const char *name, long *value)
{
    const char *text = getenv(name);
    char *end;
    if (!text) {
        return false;
    }
    errno = 0;
    *value = strtol(text, &end, 10);
    return errno == 0 && end != text && !*end;
}

// Takes the listening sockets of systemd.
static bool take_sockets(struct serve_sockets *sockets)
{
    long pid, n;
    if (!read_variable("LISTEN_PID", &pid) || pid != getpid() || !read_variable("LISTEN_FDS", &n) ||
        n < 1) {
        return false;
    }
    for (long i = 0; i < n && sockets->count < SERVE_MAX_SOCKETS; i++) {
        const int fd = FIRST_FD + (int)i;
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        sockets->fds[sockets->count++] = fd;
    }
    return true;
}

void serve_notify_manager(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path || !path[0] || strlen(path) >= sizeof(address.sun_path)) {
        return;
    }
    memcpy(address.sun_path, path, strlen(path));
    const socklen_t size =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(address.sun_path));
    if (path[0] == '@') { // an abstract name begins with a zero byte
        address.sun_path[0] = 0;
    }
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
                     size);
        close(fd);
    }
}

//-- paths -----------------------------------------------------------------------------------------

// Removes a socket that no process listens on.
static void remove_stale(const struct sockaddr_un *address)
{
    struct stat status;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && stat(address->sun_path, &status) == 0 && S_ISSOCK(status.st_mode) &&
        connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
        errno == ECONNREFUSED) {
        unlink(address->sun_path);
    }
    if (fd >= 0) {
        close(fd);
    }
}

static bool open_path(struct serve_sockets *sockets, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) {
        return cli_fail(CLI_EXIT_USAGE, "invalid socket path %s: longer than %zu bytes", path,
                        sizeof(address.sun_path) - 1);
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    remove_stale(&address);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, BACKLOG) < 0) {
        cli_fail(CLI_EXIT_FAILED, "cannot listen on %s: %s", path, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    sockets->fds[sockets->count++] = fd;
    sockets->unlink_path = path;
    return true;
}

//-- TCP -------------------------------------------------------------------------------------------

static int open_address(const struct addrinfo *info)
{
    const int one = 1;
    const int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (info->ai_family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
    }
    if (bind(fd, info->ai_addr, info->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
        const int reason = errno;
        close(fd);
        errno = reason;
        return -1;
    }
    return fd;
}

static bool open_one_host(struct serve_sockets *sockets, const char *host, uint16_t port)
{
    const size_t n_before = sockets->count;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *list = NULL;
    char service[8];
    int reason = 0;
    snprintf(service, sizeof(service), "%u", port);
    const int failure = getaddrinfo(host, service, &hints, &list);
    if (failure != 0) {
        return cli_fail(CLI_EXIT_FAILED, "cannot find the host %s: %s", host,
                        gai_strerror(failure));
    }
    for (const struct addrinfo *info = list; info && sockets->count < SERVE_MAX_SOCKETS;
         info = info->ai_next) {
        const int fd = open_address(info);
        if (fd >= 0) {
            sockets->fds[sockets->count++] = fd;
        } else {
            reason = errno;
        }
    }
    freeaddrinfo(list);
    return sockets->count > n_before || cli_fail(CLI_EXIT_FAILED, "cannot listen on %s port %u: %s",
                                                 host, port, strerror(reason));
}

bool serve_sockets_open_host(struct serve_sockets *sockets, const char *host, uint16_t port)
{
    char *hosts = cli_copy(host), *rest = hosts;
    bool is_done = true;
    for (char *one; is_done && (one = strsep(&rest, ","));) {
        is_done = open_one_host(sockets, one, port);
    }
    free(hosts);
    return is_done;
}

bool serve_sockets_open(struct serve_sockets *sockets, const char *host, uint16_t port,
                        const char *path)
{
    *sockets = (struct serve_sockets){.count = 0};
    return take_sockets(sockets) ||
           (path ? open_path(sockets, path) : serve_sockets_open_host(sockets, host, port));
}

static void print_address(const struct sockaddr *address, socklen_t size, const char *before,
                          const char *port)
{
    char host[NI_MAXHOST];
    if (getnameinfo(address, size, host, sizeof(host), NULL, 0, NI_NUMERICHOST) == 0) {
        const bool is_six = address->sa_family == AF_INET6;
        cli_say("%s://%s%s%s:%s", before, is_six ? "[" : "", host, is_six ? "]" : "", port);
    }
}

// Prints the addresses for other machines of a socket that listens on all addresses of IPv4.
static void print_own_addresses(const char *scheme, const char *port)
{
    char before[48];
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) < 0) {
        return;
    }
    snprintf(before, sizeof(before), "from other machines %s", scheme);
    for (const struct ifaddrs *own = all; own; own = own->ifa_next) {
        const unsigned wanted = IFF_UP | IFF_RUNNING;
        if (own->ifa_addr && own->ifa_addr->sa_family == AF_INET &&
            (own->ifa_flags & (wanted | IFF_LOOPBACK)) == wanted) {
            print_address(own->ifa_addr, sizeof(struct sockaddr_in), before, port);
        }
    }
    freeifaddrs(all);
}

// Returns the address that a socket is bound to; of the family AF_UNSPEC if that fails.
static struct sockaddr_storage address_of(int fd, socklen_t *size)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    *size = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, size) < 0) {
        address.ss_family = AF_UNSPEC;
    }
    return address;
}

static void print_socket(int fd, const char *scheme)
{
    socklen_t size;
    const struct sockaddr_storage address = address_of(fd, &size);
    const struct sockaddr_in *four = (const struct sockaddr_in *)&address;
    char port[NI_MAXSERV], before[48];
    snprintf(before, sizeof(before), "listening on %s", scheme);
    if (address.ss_family == AF_UNIX) {
        const struct sockaddr_un *path = (const struct sockaddr_un *)&address;
        cli_say("listening on %s", path->sun_path);
    } else if (getnameinfo((const struct sockaddr *)&address, size, NULL, 0, port, sizeof(port),
                           NI_NUMERICSERV) == 0) {
        print_address((const struct sockaddr *)&address, size, before, port);
        if (address.ss_family == AF_INET && four->sin_addr.s_addr == htonl(INADDR_ANY)) {
            print_own_addresses(scheme, port);
        }
    }
}

void serve_sockets_print(const struct serve_sockets *sockets, const char *scheme)
{
    for (size_t i = 0; i < sockets->count; i++) {
        print_socket(sockets->fds[i], scheme);
    }
}

uint16_t serve_sockets_port(const struct serve_sockets *sockets)
{
    socklen_t size;
    const struct sockaddr_storage address = address_of(sockets->fds[0], &size);
    return address.ss_family == AF_INET ? ntohs(((const struct sockaddr_in *)&address)->sin_port)
           : address.ss_family == AF_INET6
               ? ntohs(((const struct sockaddr_in6 *)&address)->sin6_port)
               : 0;
}

bool serve_sockets_are_local(const struct serve_sockets *sockets)
{
    bool are_local = true;
    for (size_t i = 0; i < sockets->count; i++) {
        socklen_t size;
        const struct sockaddr_storage address = address_of(sockets->fds[i], &size);
        const struct sockaddr_in *four = (const struct sockaddr_in *)&address;
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address;
        are_local = are_local &&
                    (address.ss_family == AF_UNIX ||
                     (address.ss_family == AF_INET && ntohl(four->sin_addr.s_addr) >> 24 == 127) ||
                     (address.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr)));
    }
    return are_local;
}

void serve_sockets_close(struct serve_sockets *sockets)
{
    for (size_t i = 0; i < sockets->count; i++) {
        close(sockets->fds[i]);
    }
    if (sockets->unlink_path) {
        unlink(sockets->unlink_path);
    }
    *sockets = (struct serve_sockets){.count = 0};
}
