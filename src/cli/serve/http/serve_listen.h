// The sockets that the server listens on: addresses of TCP, a path, or sockets of systemd.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVE_MAX_SOCKETS = 8 };

struct serve_sockets {
    int fds[SERVE_MAX_SOCKETS];
    size_t count;
    const char *unlink_path; // of a socket that was created here; borrowed. NULL: no path
};

// Takes the sockets of systemd (LISTEN_FDS) if there are any; else opens the path or, with path
// NULL, every address of the host. Prints an error and returns false if that fails.
bool serve_sockets_open(struct serve_sockets *sockets, const char *host, uint16_t port,
                        const char *path);
// Opens every address of the host, or of several with commas between them. Fails in the same way.
bool serve_sockets_open_host(struct serve_sockets *sockets, const char *host, uint16_t port);
// Prints the addresses of the sockets, one a line, with a scheme such as "http".
void serve_sockets_print(const struct serve_sockets *sockets, const char *scheme);
// Returns the port of the first socket; 0: it has no port.
uint16_t serve_sockets_port(const struct serve_sockets *sockets);
// Returns true if only this machine reaches the sockets.
bool serve_sockets_are_local(const struct serve_sockets *sockets);
// Closes the sockets and removes the path.
void serve_sockets_close(struct serve_sockets *sockets);

// Sends a state to systemd if NOTIFY_SOCKET is set: "READY=1", "STOPPING=1".
void serve_notify_manager(const char *state);
