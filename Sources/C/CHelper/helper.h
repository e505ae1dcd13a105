// The protocol between latchkey-derive ("the helper") and the programs that start it: pam_latchkey.so and latchkey.
// docs/developer/protocols.md describes it.
//
// This header, with request.h beside it, is the only place with the protocol's numbers. The module (Embedded Swift) and the
// programs import it. A `switch` that lacks a case does not compile, or causes a warning. The tests read the lists in this file. So
// each entry needs its own line, and nothing else may begin with `entry(`.
//
// Results and fields are open enums. A `switch` over a closed C enum traps at an unknown number, and the module must never trap. A
// `switch` over an open enum needs an `@unknown default`.
//
// A byte from another process becomes an enum only after helper_has_operation or helper_has_result has accepted it, because the
// `init(rawValue:)` of an imported enum accepts any number. SwiftPM does not see that this file changed: run `make clean` before
// the next build.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "request.h"

#define HELPER_VERSION 3
// A request begins with its version, operation and flags, and the moment at which the person gave its secrets (8 bytes).
#define HELPER_HEAD_SIZE 11
// The largest request without its length, and the longest password, in bytes.
#define HELPER_REQUEST_LIMIT 16384
#define HELPER_TOKEN_LIMIT 4096
// A caller sends this byte when it stops waiting for the helper.
#define HELPER_GO_ON 1

// The requests of a caller.
#define HELPER_OPERATIONS(entry)                                                                  \
  entry(Authenticate, 1)       /* unlock; the stack may still refuse the login */                 \
  entry(OpenSession, 2)        /* the stack has accepted the login */                             \
  entry(CloseSession, 3)       /* the session ends */                                             \
  entry(Passphrase, 4)         /* a passphrase for one prompt */                                  \
  entry(Rotate, 5)             /* new keys */                                                     \
  entry(CreateRecoveryCode, 6) /* writes a new recovery code to descriptor 1 */                   \
  entry(CheckRecoveryCode, 7)  /* whether this is the recovery code */                            \
  entry(Recover, 8)            /* the recovery code, and the password from now on */              \
  entry(RemoveRecoveryCode, 9) /* the recovery code opens nothing any more */                     \
  entry(RemovePassword, 10)    /* the login has no password any more */                           \
  entry(ChangePassword, 11)    /* the new password, and the former one */                         \
  entry(Rewrap, 12)            /* the present password, and a former one or the recovery code */  \
  entry(AddSession, 13)        /* a login without a password may open the vault */                \
  entry(RemoveSession, 14)     /* it may not any more */                                          \
  entry(CreateVault, 15)       /* a vault for a person who has none */                            \
  entry(AddFinger, 16)         /* a finger may unlock again, with a TPM */                        \
  entry(AddFingerInMemory, 17) /* the same, without one */                                        \
  entry(RemoveFinger, 18)      /* it may not any more */                                          \
  entry(AddSecurityKey, 20)    /* a security key may open the vault */                            \
  entry(OpenBySecurityKey, 21) /* unlock by the answer of a security key */                       \
  entry(RemoveSecurityKey, 22) /* a security key opens nothing any more */                        \
  entry(RenameSecurityKey, 23) /* a security key gets another name */

// How the helper answers, in one byte.
#define HELPER_RESULTS(entry)                                                                      \
  entry(Unlocked, 0)            /* the daemon took the keys; of a command: done */                 \
  entry(NothingNeeded, 1)       /* the daemon needs no keys */                                     \
  entry(NoDaemon, 2)            /* nobody listens at the control socket */                         \
  entry(NoVault, 3)             /* there is no vault, and none was to be created */                \
  entry(Created, 4)             /* a vault was created */                                          \
  entry(WrongPassword, 5)       /* no protector opens with it; of a passphrase: it is another */   \
  entry(Refused, 6)             /* the daemon may not be unlocked by this authentication */        \
  entry(Damaged, 7)             /* the vault's files cannot be used */                             \
  entry(DaemonSilent, 8)        /* the daemon did not answer in time */                            \
  entry(NoMemory, 9)            /* there is not enough memory for Argon2id */                      \
  entry(HomeUnavailable, 10)    /* the vault's folder cannot be read or made */                    \
  entry(BadRequest, 11)         /* the request is malformed */                                     \
  entry(InternalError, 12)      /* anything else */                                                \
  entry(Closed, 13)             /* the daemon knows that the session ends */                       \
  entry(TooManyEpochs, 14)      /* items still need too many former keys */                        \
  entry(Begun, 15)              /* the keybag has new keys, which the daemon takes at the next unlock */ \
  entry(Passwordless, 16)       /* the login has no password, and the vault goes by that */        \
  entry(SessionOpened, 20)      /* without a password: what is readable behind the locked screen */ \
  entry(NoDeviceKey, 21)        /* the device key service gives this login no key */               \
  entry(ServicesUnbelieved, 22) /* others than root could have written the list of services */     \
  entry(Overtaken, 23)          /* a login of the same moment changed the keybag, again and again */ \
  entry(GoesOn, 24)             /* the caller waits no longer; the work goes on */                 \
  entry(Late, 25)               /* the daemon began long after the password */                  \
  entry(OtherVersion, 26)       /* the daemon is of another version of the package */              \
  entry(Unlocking, 27)          /* the daemon expects the keys, which come while the session starts */

// Bits of a request's third byte.
#define HELPER_FLAGS(entry)                                                           \
  entry(NoCreate, 1) /* no vault may be created with this password */                 \
  entry(Debug, 2)    /* the caller logs everything; the helper does nothing about it */ \
  entry(Anywhere, 4) /* a recovery code may be written to something else than a terminal */ \
  entry(Beside, 8)   /* the keys may come while the session starts */

// The texts of a request, in this order. The token follows, and in some operations a second secret.
#define HELPER_FIELDS(entry)                                                            \
  entry(User, 0)       /* PAM_USER */                                                   \
  entry(Service, 1)    /* PAM_SERVICE */                                                \
  entry(TTY, 2)        /* PAM_TTY */                                                    \
  entry(RemoteHost, 3) /* PAM_RHOST */                                                  \
  entry(Home, 4)       /* in place of the user's home folder */                         \
  entry(Runtime, 5)    /* in place of the user's runtime folder */                      \
  entry(Shadow, 6)     /* in place of /etc/shadow */                                    \
  entry(Prompt, 7)     /* the decimal number of the daemon's prompt */                  \
  entry(Services, 8)   /* in place of /etc/latchkey/services */                         \
  entry(Device, 9)     /* in place of the device key service's socket */

// For these PAM services the module does nothing, in every entry point and every stack. They never create or unlock a vault. The
// first four run without a person. `systemd-user` even runs inside another service's open_session, while that user's manager is
// still starting. The other services change the user within a session that has its own login, or only ask for a right. None of
// these services begins a session, and none may end a lock.
#define HELPER_EXCLUDED_SERVICES(entry) \
  entry("systemd-user")                 \
  entry("cron")                         \
  entry("crond")                        \
  entry("atd")                          \
  entry("su")                           \
  entry("su-l")                         \
  entry("sudo")                         \
  entry("sudo-i")                       \
  entry("polkit-1")                     \
  entry("runuser")                      \
  entry("runuser-l")                    \
  entry("pkexec")                       \
  entry("passwd")                       \
  entry("chpasswd")                     \
  entry("doas")                         \
  entry("ksu")                          \
  entry("systemd-run0")                 \
  entry("chfn")                         \
  entry("chsh")

// PAM services of screen lockers that may ask for a finger. They let a person back in who is already logged in at this screen. No
// other service may ask for a finger, even if its PAM line says so. sudo or sshd would let somebody else in with a touch that was
// meant for the locker. gdm-password is not in the list, because gdm runs gdm-fingerprint at the same time.
#define HELPER_FINGER_SERVICES(entry) \
  entry("gdm-fingerprint")            \
  entry("kde-fingerprint")            \
  entry("kde")                        \
  entry("kscreenlocker")              \
  entry("lightdm")                    \
  entry("light-locker")               \
  entry("gnome-screensaver")          \
  entry("cinnamon-screensaver")       \
  entry("mate-screensaver")           \
  entry("xfce4-screensaver")          \
  entry("ukui-screensaver-qt")        \
  entry("xscreensaver")               \
  entry("xsecurelock")                \
  entry("i3lock")                     \
  entry("swaylock")                   \
  entry("swaylock-plugin")            \
  entry("hyprlock")                   \
  entry("waylock")                    \
  entry("gtklock")                    \
  entry("schlock")                    \
  entry("slock")                      \
  entry("xlock")                      \
  entry("vlock")                      \
  entry("physlock")

#define HELPER_CASE(name, number) HelperOperation##name = number,
typedef enum __attribute__((enum_extensibility(closed))) HelperOperation : uint8_t {
  HELPER_OPERATIONS(HELPER_CASE)
} HelperOperation;
#undef HELPER_CASE

#define HELPER_CASE(name, number) HelperResult##name = number,
typedef enum __attribute__((enum_extensibility(open))) HelperResult : uint8_t {
  HELPER_RESULTS(HELPER_CASE)
} HelperResult;
#undef HELPER_CASE

#define HELPER_CASE(name, number) HelperFlags##name = number,
typedef enum __attribute__((flag_enum, enum_extensibility(open))) HelperFlags : uint8_t {
  HELPER_FLAGS(HELPER_CASE)
} HelperFlags;
#undef HELPER_CASE

#define HELPER_CASE(name, number) HelperField##name = number,
typedef enum __attribute__((enum_extensibility(open))) HelperField : uint8_t {
  HELPER_FIELDS(HELPER_CASE)
} HelperField;
#undef HELPER_CASE

#define HELPER_CASE(name, number) +1
enum { helper_field_count = 0 HELPER_FIELDS(HELPER_CASE) };
#undef HELPER_CASE

#define HELPER_CASE(name, number) \
  case number:                    \
    return true;

static inline bool helper_has_operation(uint8_t number) {
  switch (number) {
    HELPER_OPERATIONS(HELPER_CASE)
    default:
      return false;
  }
}

static inline bool helper_has_result(uint8_t number) {
  switch (number) {
    HELPER_RESULTS(HELPER_CASE)
    default:
      return false;
  }
}
#undef HELPER_CASE

#define HELPER_CASE(name) \
  if (strcmp(service, name) == 0) return true;
static inline bool helper_excludes_service(const char *service) {
  HELPER_EXCLUDED_SERVICES(HELPER_CASE)
  return false;
}
static inline bool helper_asks_finger(const char *service) {
  HELPER_FINGER_SERVICES(HELPER_CASE)
  return false;
}
#undef HELPER_CASE
