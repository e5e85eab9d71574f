// The sockets that the server listens on: addresses of TCP, a path, or what systemd hands over.
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVE_MAX_SOCKETS = 8 };

struct serve_sockets {
    int fds[SERVE_MAX_SOCKETS];
    size_t count;
    const char *unlink_path; // of a socket that was made here; borrowed. NULL: none
};

// Takes the sockets of systemd (LISTEN_FDS) if there are any; else opens the path, or with path
// NULL every address of the host. Prints what failed; false then.
bool serve_sockets_open(struct serve_sockets *sockets, const char *host, uint16_t port,
                        const char *path);
// Prints where the sockets are, a line each.
void serve_sockets_print(const struct serve_sockets *sockets);
// Closes them and removes the path.
void serve_sockets_close(struct serve_sockets *sockets);

// Tells systemd (NOTIFY_SOCKET), if it wants to know: "READY=1", "STOPPING=1".
void serve_notify_manager(const char *state);

#endif
