/* A disk that logs its writes and flushes, as a file for a loop device.  writelog DISK LOG FOLDER  The program
 * mounts FOLDER with two files. `disk` has the content of DISK, and a test writes its marks into `mark`. LOG gets
 * each write to the disk, each flush, and each mark, in the order of their arrival. The log has the format of the
 * kernel's dm-log-writes target. The program handles one request after the other, so a write is in the log before it
 * is answered. It ends when FOLDER is unmounted. Debian: libfuse3-dev. */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECTOR = 512, FLUSH = 1, MARK = 8 };

static int disk, record;

/* Writes an entry and its data, padded to the next sector. */
static int note(uint64_t sector, uint64_t flags, const void *data, size_t size, size_t marked) {
  static char rest[SECTOR];
  uint64_t header[SECTOR / 8] = {sector, size / SECTOR, flags, marked};
  if (write(record, header, SECTOR) != SECTOR) return -EIO;
  size_t whole = size + marked, padding = (SECTOR - whole % SECTOR) % SECTOR;
  if (whole && write(record, data, whole) != (ssize_t)whole) return -EIO;
  if (padding && write(record, rest, padding) != (ssize_t)padding) return -EIO;
  return 0;
}

static int is_disk(const char *path) { return strcmp(path, "/disk") == 0; }
static int is_mark(const char *path) { return strcmp(path, "/mark") == 0; }

static int get_attributes(const char *path, struct stat *st, struct fuse_file_info *file) {
  (void)file;
  *st = (struct stat){.st_mode = S_IFREG | 0600, .st_nlink = 1};
  if (strcmp(path, "/") == 0)
    st->st_mode = S_IFDIR | 0700;
  else if (is_disk(path))
    st->st_size = lseek(disk, 0, SEEK_END);
  else if (!is_mark(path))
    return -ENOENT;
  return 0;
}

static int open_file(const char *path, struct fuse_file_info *file) {
  (void)path;
  file->direct_io = 1;
  return 0;
}

static int read_file(const char *path, char *data, size_t size, off_t offset, struct fuse_file_info *file) {
  (void)file;
  if (!is_disk(path)) return 0;
  ssize_t done = pread(disk, data, size, offset);
  return done < 0 ? -errno : (int)done;
}

static int write_file(const char *path, const char *data, size_t size, off_t offset, struct fuse_file_info *file) {
  (void)file;
  if (is_mark(path)) return note(0, MARK, data, 0, size) ?: (int)size;
  if (size % SECTOR || offset % SECTOR) return -EINVAL;
  int error = note(offset / SECTOR, 0, data, size, 0);
  if (error) return error;
  return pwrite(disk, data, size, offset) == (ssize_t)size ? (int)size : -EIO;
}

static int sync_file(const char *path, int data_only, struct fuse_file_info *file) {
  (void)data_only, (void)file;
  return is_disk(path) ? note(0, FLUSH, NULL, 0, 0) : 0;
}

/* A shell truncates a file before it writes into the file. */
static int truncate_file(const char *path, off_t size, struct fuse_file_info *file) {
  (void)size, (void)file;
  return is_mark(path) ? 0 : -EPERM;
}

int main(int count, char **arguments) {
  if (count != 4) return fprintf(stderr, "usage: writelog DISK LOG FOLDER\n"), 2;
  disk = open(arguments[1], O_RDWR | O_CLOEXEC);
  record = open(arguments[2], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (disk < 0 || record < 0) return perror("writelog"), 1;
  uint64_t super[SECTOR / 8] = {0x6a736677736872ULL, 1, 0, SECTOR};
  if (write(record, super, SECTOR) != SECTOR) return perror("writelog"), 1;
  static const struct fuse_operations operations = {
      .getattr = get_attributes,
      .open = open_file,
      .read = read_file,
      .write = write_file,
      .fsync = sync_file,
      .truncate = truncate_file,
  };
  char *options[] = {arguments[0], "-f", "-s", arguments[3], NULL};
  return fuse_main(4, options, &operations, NULL);
}
