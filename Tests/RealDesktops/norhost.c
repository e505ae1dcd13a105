/* pam_norhost: removes the name of the remote host. gdm gives one to each session without a screen, and logind then
 * treats the session as remote. After this module, logind treats the session as one of a person at this machine. */
#include <security/pam_appl.h>
#include <security/pam_modules.h>
#define CALL(name) \
  int name(pam_handle_t *handle, int flags, int count, const char **words) { \
    (void)flags, (void)count, (void)words; \
    pam_set_item(handle, PAM_RHOST, 0); \
    return PAM_IGNORE; \
  }
CALL(pam_sm_authenticate)
CALL(pam_sm_setcred)
CALL(pam_sm_acct_mgmt)
CALL(pam_sm_open_session)
CALL(pam_sm_close_session)
