/* Preloaded into a build: lets one of its system calls on files below FAULT_FOLDER fail.

   FAULT_AT counts the calls that change something (write, pwrite, writev, fsync, fdatasync, rename,
   ftruncate, unlink, open for writing). At that count FAULT_KIND happens: "kill" ends the process
   as a power cut would, after writing half of what it was given; "eio" and "enospc" make the call
   and all later ones of its kind fail; "term" and "int" send a signal. The count is written to
   FAULT_LOG at the end, so that a first run without faults tells how many there are.

   Every process counts for itself. If FAULT_ONCE names a file, the fault happens once in all of
   them: in the process that removes the file. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;
static atomic_int failing;

static const char *folder(void) { return getenv("FAULT_FOLDER"); }

static int inside(const char *path) {
    const char *root = folder();
    return root && path && strncmp(path, root, strlen(root)) == 0;
}

static int inside_file(int file) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return inside(path);
}

int unlinkat(int at_folder, const char *path, int flags);

/* 0: go on; -1: fail with errno; 1: die after half of the work. */
static int fault(void) {
    const char *at = getenv("FAULT_AT"), *kind = getenv("FAULT_KIND");
    long call = atomic_fetch_add(&calls, 1) + 1;
    if (!at || !kind) return 0;
    if (call < atol(at)) return 0;
    const char *once = getenv("FAULT_ONCE");
    if (once) {
        if (unlinkat(AT_FDCWD, once, 0) != 0) return 0;
        if (strcmp(kind, "kill") == 0) return 1;
        if (strcmp(kind, "eio") == 0 || strcmp(kind, "enospc") == 0) {
            errno = strcmp(kind, "eio") == 0 ? EIO : ENOSPC;
            return -1;
        }
        raise(strcmp(kind, "term") == 0 ? SIGTERM : SIGINT);
        return 0;
    }
    if (strcmp(kind, "eio") == 0 || strcmp(kind, "enospc") == 0) {
        if (call > atol(at) && strcmp(kind, "eio") == 0) return 0;
        errno = strcmp(kind, "eio") == 0 ? EIO : ENOSPC;
        return -1;
    }
    if (call != atol(at)) return 0;
    if (strcmp(kind, "kill") == 0) return 1;
    atomic_store(&failing, 1);
    raise(strcmp(kind, "term") == 0 ? SIGTERM : SIGINT);
    return 0;
}

static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void *data, size_t size) {
    if (inside_file(file)) {
        int what = fault();
        if (what < 0) return -1;
        if (what > 0) { REAL(write)(file, data, size / 2); die(); }
    }
    return REAL(write)(file, data, size);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    if (inside_file(file)) {
        int what = fault();
        if (what < 0) return -1;
        if (what > 0) { REAL(pwrite64)(file, data, size / 2, at); die(); }
    }
    return REAL(pwrite64)(file, data, size, at);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    if (inside_file(file)) {
        int what = fault();
        if (what < 0) return -1;
        if (what > 0) { REAL(writev)(file, parts, count / 2); die(); }
    }
    return REAL(writev)(file, parts, count);
}

#define PLAIN(type, name, parameters, arguments, is_inside)                                        \
    type name parameters {                                                                         \
        if (is_inside) {                                                                           \
            int what = fault();                                                                    \
            if (what < 0) return -1;                                                               \
            if (what > 0) die();                                                                   \
        }                                                                                          \
        return REAL(name) arguments;                                                               \
    }

PLAIN(int, fsync, (int file), (file), inside_file(file))
PLAIN(int, fdatasync, (int file), (file), inside_file(file))
PLAIN(int, ftruncate64, (int file, off64_t size), (file, size), inside_file(file))
PLAIN(int, rename, (const char *from, const char *to), (from, to), inside(from))
PLAIN(int, unlink, (const char *path), (path), inside(path))
PLAIN(int, mkdir, (const char *path, mode_t mode), (path, mode), inside(path))
PLAIN(int, rmdir, (const char *path), (path), inside(path))

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    if (inside(from)) {
        int what = fault();
        if (what < 0) return -1;
        if (what > 0) die();
    }
    return REAL(renameat)(from_folder, from, to_folder, to);
}

int unlinkat(int at_folder, const char *path, int flags) {
    if (inside(path) || (at_folder != AT_FDCWD && inside_file(at_folder))) {
        int what = fault();
        if (what < 0) return -1;
        if (what > 0) die();
    }
    return REAL(unlinkat)(at_folder, path, flags);
}

#define OPENING(name)                                                                              \
    int name(const char *path, int flags, ...) {                                                   \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = va_arg(rest, mode_t);                                                        \
        va_end(rest);                                                                              \
        if ((flags & (O_WRONLY | O_RDWR)) && inside(path)) {                                       \
            int what = fault();                                                                    \
            if (what < 0) return -1;                                                               \
            if (what > 0) die();                                                                   \
        }                                                                                          \
        return REAL(name)(path, flags, mode);                                                      \
    }

OPENING(open)
OPENING(open64)

__attribute__((destructor)) static void tell(void) {
    const char *log = getenv("FAULT_LOG");
    if (!log) return;
    int file = REAL(open64)(log, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0) return;
    char text[32];
    int length = snprintf(text, sizeof text, "%ld\n", atomic_load(&calls));
    if (REAL(write)(file, text, length) < 0) _exit(9);
    close(file);
}
