// Preloaded, it keeps a journal of what is written to the files of one folder and when they are synced, so that a test can
// make the folder as a power cut would leave it; and it lets fsync fail while a file exists.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST 4096
static char *names[MOST];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int journal = -1;
static const char *folder, *failing;

static void prepare(void) {
  if (folder) return;
  folder = getenv("POWERCUT_FOLDER");
  failing = getenv("POWERCUT_FAILING");
  const char *place = getenv("POWERCUT_JOURNAL");
  if (!folder) folder = "\1none";
  if (place) journal = syscall(SYS_openat, AT_FDCWD, place, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

// A record: kind, length of the name, offset, length of the data; then name and data, in one write.
static void note(char kind, const char *name, int64_t offset, const void *data, uint64_t length) {
  struct __attribute__((packed)) { char kind; uint32_t name; int64_t offset; uint64_t length; } head = {
    kind, (uint32_t)strlen(name), offset, length };
  struct iovec parts[3] = {{&head, sizeof head}, {(void *)name, head.name}, {(void *)data, data ? length : 0}};
  if (journal >= 0 && syscall(SYS_writev, journal, parts, 3) < 0) abort();
}

static void opened(int fd, const char *path) {
  if (fd < 0 || fd >= MOST) return;
  prepare();
  char whole[PATH_MAX];
  free(names[fd]);
  names[fd] = NULL;
  if (realpath(path, whole) && !strncmp(whole, folder, strlen(folder))) names[fd] = strdup(whole);
}

static const char *name_of(int fd) { return fd >= 0 && fd < MOST ? names[fd] : NULL; }

#define MODE va_list list; va_start(list, flags); int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0; va_end(list);
int open(const char *path, int flags, ...) { MODE int fd = syscall(SYS_openat, AT_FDCWD, path, flags, mode); opened(fd, path); return fd; }
int open64(const char *path, int flags, ...) { MODE int fd = syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode); opened(fd, path); return fd; }
int openat(int at, const char *path, int flags, ...) { MODE int fd = syscall(SYS_openat, at, path, flags, mode); if (at == AT_FDCWD || path[0] == '/') opened(fd, path); return fd; }
int openat64(int at, const char *path, int flags, ...) { MODE int fd = syscall(SYS_openat, at, path, flags | O_LARGEFILE, mode); if (at == AT_FDCWD || path[0] == '/') opened(fd, path); return fd; }
int close(int fd) { if (fd >= 0 && fd < MOST) { free(names[fd]); names[fd] = NULL; } return syscall(SYS_close, fd); }

static ssize_t put(int fd, const void *data, size_t size, off_t offset, int at) {
  const char *name = name_of(fd);
  if (!name) return at ? syscall(SYS_pwrite64, fd, data, size, offset) : syscall(SYS_write, fd, data, size);
  pthread_mutex_lock(&turn);
  off_t place = at ? offset : lseek(fd, 0, SEEK_CUR);
  ssize_t done = at ? syscall(SYS_pwrite64, fd, data, size, offset) : syscall(SYS_write, fd, data, size);
  if (done > 0) note('w', name, place, data, done);
  pthread_mutex_unlock(&turn);
  return done;
}
ssize_t write(int fd, const void *data, size_t size) { return put(fd, data, size, 0, 0); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return put(fd, data, size, offset, 1); }
ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset) { return put(fd, data, size, offset, 1); }

static int cut(int fd, off_t length) {
  const char *name = name_of(fd);
  pthread_mutex_lock(&turn);
  int done = syscall(SYS_ftruncate, fd, length);
  if (name && done == 0) note('t', name, length, NULL, 0);
  pthread_mutex_unlock(&turn);
  return done;
}
int ftruncate(int fd, off_t length) { return cut(fd, length); }
int ftruncate64(int fd, off_t length) { return cut(fd, length); }

static int synced(int fd) {
  const char *name = name_of(fd);
  if (name && failing && access(failing, F_OK) == 0) { errno = EIO; return -1; }
  if (!name) return syscall(SYS_fdatasync, fd);
  pthread_mutex_lock(&turn);  // not really to the disk: only the journal decides what a power cut leaves
  note('s', name, 0, NULL, 0);
  pthread_mutex_unlock(&turn);
  return 0;
}
int fsync(int fd) { return synced(fd); }
int fdatasync(int fd) { return synced(fd); }

int rename(const char *from, const char *to) {
  prepare();
  char source[PATH_MAX];
  int known = realpath(from, source) != NULL && !strncmp(source, folder, strlen(folder));
  int done = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  char target[PATH_MAX];
  if (done == 0 && known && realpath(to, target)) { pthread_mutex_lock(&turn); note('r', source, 0, target, strlen(target)); pthread_mutex_unlock(&turn); }
  return done;
}
int unlink(const char *path) {
  prepare();
  char whole[PATH_MAX];
  int known = realpath(path, whole) != NULL && !strncmp(whole, folder, strlen(folder));
  int done = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  if (done == 0 && known) { pthread_mutex_lock(&turn); note('u', whole, 0, NULL, 0); pthread_mutex_unlock(&turn); }
  return done;
}
