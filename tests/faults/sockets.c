/* Preloaded by test_footprint.py: writes down every address that a process, native code included, asks for. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void tell(const char *what, const char *address) {
    const char *path = getenv("SOCKETS_SEEN");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "%s %s\n", what, address);
        fclose(file);
    }
}

static void tell_address(const char *what, const struct sockaddr *address) {
    char text[INET6_ADDRSTRLEN] = "?";
    if (address == NULL || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) return;
    if (address->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text, sizeof text);
    else
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text, sizeof text);
    tell(what, text);
}

int connect(int fd, const struct sockaddr *address, socklen_t length) {
    int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    tell_address("connect", address);
    return real(fd, address, length);
}

ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *address, socklen_t length) {
    ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "sendto");
    tell_address("sendto", address);
    return real(fd, data, size, flags, address, length);
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
    if (node) tell("getaddrinfo", node);
    return real(node, service, hints, found);
}
