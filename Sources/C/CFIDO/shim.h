// libfido2, which speaks to security keys. Only latchkey-security-key links it.
#pragma once
#include <fido.h>
