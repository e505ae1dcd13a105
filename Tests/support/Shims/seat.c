/* Makes libsystemd report a seat for every user, as for a person in front of the machine. Without logind, it would
 * find none. */
#include <sys/types.h>

int sd_uid_get_seats(uid_t user, int is_active, char ***seats) {
  (void)user, (void)is_active, (void)seats;
  return 1;
}
