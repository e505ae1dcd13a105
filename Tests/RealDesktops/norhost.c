/* pam_norhost: makes a session of gdm's one of a person who sits at this machine. gdm names a remote host for each session that has no
   screen, which makes logind call the session remote. Here the name goes, and the session gets the machine's first seat. */
#include <security/pam_appl.h>
#include <security/pam_modules.h>
#define CALL(name) \
  int name(pam_handle_t *handle, int flags, int count, const char **words) { \
    (void)flags, (void)count, (void)words; \
    pam_set_item(handle, PAM_RHOST, 0); \
    pam_putenv(handle, "XDG_SEAT=seat0"); \
    return PAM_IGNORE; \
  }
CALL(pam_sm_authenticate)
CALL(pam_sm_setcred)
CALL(pam_sm_acct_mgmt)
CALL(pam_sm_open_session)
CALL(pam_sm_close_session)
