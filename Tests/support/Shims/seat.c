/* The person of a test is in front of the machine. Where no logind runs, libsystemd finds no seat of anybody's. */
#include <sys/types.h>

int sd_uid_get_seats(uid_t user, int is_active, char ***seats) {
  (void)user, (void)is_active, (void)seats;
  return 1;
}
