/* getpwuid_r of a directory service that answers slowly: for the numbers from 4000000000 on it waits while the file that
   LATCHKEY_HOLD names exists, and knows number 4000000001 alone. */
#include <dlfcn.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int getpwuid_r(uid_t uid, struct passwd *entry, char *buffer, size_t size, struct passwd **result) {
  int (*real)(uid_t, struct passwd *, char *, size_t, struct passwd **) = dlsym(RTLD_NEXT, "getpwuid_r");
  if (uid < 4000000000u)
    return real(uid, entry, buffer, size, result);
  const char *hold = getenv("LATCHKEY_HOLD");
  while (hold && access(hold, F_OK) == 0)
    usleep(10000);
  int error = real(0, entry, buffer, size, result);
  if (error == 0 && uid == 4000000001u)
    entry->pw_uid = uid;
  else
    *result = NULL;
  return error;
}
