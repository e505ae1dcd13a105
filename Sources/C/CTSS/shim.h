// tpm2-tss, which the program loads at run time, because latchkey-deviced must also run without the library. Swift does not import
// the library's constants, which have casts. Some calls have fifteen arguments, and most of these are always the same.
#pragma once
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <tss2/tss2_esys.h>
#include <tss2/tss2_mu.h>
#include <tss2/tss2_tctildr.h>

/// The functions that are used.
typedef struct latchkey_tss {
  __typeof__(&Tss2_TctiLdr_Initialize) tcti_initialize;
  __typeof__(&Tss2_TctiLdr_Finalize) tcti_finalize;
  __typeof__(&Esys_Initialize) initialize;
  __typeof__(&Esys_Finalize) finalize;
  __typeof__(&Esys_Free) release;
  __typeof__(&Esys_CreatePrimary) create_primary;
  __typeof__(&Esys_StartAuthSession) start_session;
  __typeof__(&Esys_TRSess_SetAttributes) set_attributes;
  __typeof__(&Esys_Create) create;
  __typeof__(&Esys_Load) load;
  __typeof__(&Esys_Unseal) unseal;
  __typeof__(&Esys_FlushContext) flush;
  __typeof__(&Esys_ContextSave) save;
  __typeof__(&Esys_ContextLoad) restore;
  __typeof__(&Tss2_MU_TPM2B_PUBLIC_Marshal) marshal_public;
  __typeof__(&Tss2_MU_TPM2B_PUBLIC_Unmarshal) unmarshal_public;
  __typeof__(&Tss2_MU_TPM2B_PRIVATE_Marshal) marshal_private;
  __typeof__(&Tss2_MU_TPM2B_PRIVATE_Unmarshal) unmarshal_private;
  __typeof__(&Tss2_MU_TPMS_CONTEXT_Marshal) marshal_context;
  __typeof__(&Tss2_MU_TPMS_CONTEXT_Unmarshal) unmarshal_context;
} latchkey_tss;

/// Loads the libraries, which then stay until the program ends. Returns whether all of them are installed.
static inline int latchkey_tss_open(latchkey_tss *tss) {
  void *tcti = dlopen("libtss2-tctildr.so.0", RTLD_NOW | RTLD_LOCAL);
  void *esys = dlopen("libtss2-esys.so.0", RTLD_NOW | RTLD_LOCAL);
  void *mu = dlopen("libtss2-mu.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!tcti || !esys || !mu) return 0;
  int all = 1;
#define LATCHKEY_TSS(field, library, name) \
  all = all && (tss->field = (__typeof__(tss->field))dlsym(library, name)) != NULL
  LATCHKEY_TSS(tcti_initialize, tcti, "Tss2_TctiLdr_Initialize");
  LATCHKEY_TSS(tcti_finalize, tcti, "Tss2_TctiLdr_Finalize");
  LATCHKEY_TSS(initialize, esys, "Esys_Initialize");
  LATCHKEY_TSS(finalize, esys, "Esys_Finalize");
  LATCHKEY_TSS(release, esys, "Esys_Free");
  LATCHKEY_TSS(create_primary, esys, "Esys_CreatePrimary");
  LATCHKEY_TSS(start_session, esys, "Esys_StartAuthSession");
  LATCHKEY_TSS(set_attributes, esys, "Esys_TRSess_SetAttributes");
  LATCHKEY_TSS(create, esys, "Esys_Create");
  LATCHKEY_TSS(load, esys, "Esys_Load");
  LATCHKEY_TSS(unseal, esys, "Esys_Unseal");
  LATCHKEY_TSS(flush, esys, "Esys_FlushContext");
  LATCHKEY_TSS(save, esys, "Esys_ContextSave");
  LATCHKEY_TSS(restore, esys, "Esys_ContextLoad");
  LATCHKEY_TSS(marshal_public, mu, "Tss2_MU_TPM2B_PUBLIC_Marshal");
  LATCHKEY_TSS(unmarshal_public, mu, "Tss2_MU_TPM2B_PUBLIC_Unmarshal");
  LATCHKEY_TSS(marshal_private, mu, "Tss2_MU_TPM2B_PRIVATE_Marshal");
  LATCHKEY_TSS(unmarshal_private, mu, "Tss2_MU_TPM2B_PRIVATE_Unmarshal");
  LATCHKEY_TSS(marshal_context, mu, "Tss2_MU_TPMS_CONTEXT_Marshal");
  LATCHKEY_TSS(unmarshal_context, mu, "Tss2_MU_TPMS_CONTEXT_Unmarshal");
#undef LATCHKEY_TSS
  return all;
}

/// Makes the primary storage key: P-256 in the owner hierarchy. The chip derives the same key from this template each time.
static inline TSS2_RC latchkey_tss_primary(
    const latchkey_tss *tss, ESYS_CONTEXT *context, ESYS_TR *object, TPM2B_PUBLIC **public_part) {
  const TPM2B_PUBLIC template = {.publicArea = {
      .type = TPM2_ALG_ECC,
      .nameAlg = TPM2_ALG_SHA256,
      .objectAttributes = TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_DECRYPT | TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT |
          TPMA_OBJECT_SENSITIVEDATAORIGIN | TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_NODA,
      .parameters.eccDetail = {
          .symmetric = {.algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB},
          .scheme.scheme = TPM2_ALG_NULL,
          .curveID = TPM2_ECC_NIST_P256,
          .kdf.scheme = TPM2_ALG_NULL,
      },
  }};
  const TPM2B_SENSITIVE_CREATE sensitive = {0};
  const TPM2B_DATA outside = {0};
  const TPML_PCR_SELECTION pcrs = {0};
  return tss->create_primary(
      context, ESYS_TR_RH_OWNER, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE, &sensitive, &template, &outside, &pcrs,
      object, public_part, NULL, NULL, NULL);
}

/// Starts a session that is salted with the primary key, so that only the chip and this program know the session's key.
static inline TSS2_RC latchkey_tss_session(
    const latchkey_tss *tss, ESYS_CONTEXT *context, ESYS_TR primary, ESYS_TR *session) {
  const TPMT_SYM_DEF cipher = {.algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB};
  return tss->start_session(
      context, primary, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, NULL, TPM2_SE_HMAC, &cipher,
      TPM2_ALG_SHA256, session);
}

/// Says which side the session encrypts: the first parameter of the command, of the answer, or of both.
static inline TSS2_RC latchkey_tss_encrypt(
    const latchkey_tss *tss, ESYS_CONTEXT *context, ESYS_TR session, int command, int answer) {
  const TPMA_SESSION all = TPMA_SESSION_CONTINUESESSION | TPMA_SESSION_DECRYPT | TPMA_SESSION_ENCRYPT;
  return tss->set_attributes(
      context, session,
      TPMA_SESSION_CONTINUESESSION | (command ? TPMA_SESSION_DECRYPT : 0) | (answer ? TPMA_SESSION_ENCRYPT : 0), all);
}

/// How much memory latchkey_tss_seal needs for its copy of the secret.
static inline size_t latchkey_tss_seal_size(void) { return sizeof(TPM2B_SENSITIVE_CREATE); }

/// Seals `size` bytes (at most 128) to the chip. The caller gives `memory` with zeros in it, and erases it afterwards.
static inline TSS2_RC latchkey_tss_seal(
    const latchkey_tss *tss, ESYS_CONTEXT *context, ESYS_TR primary, ESYS_TR session, const void *secret, size_t size,
    void *memory, TPM2B_PRIVATE **private_part, TPM2B_PUBLIC **public_part) {
  const TPM2B_PUBLIC template = {.publicArea = {
      .type = TPM2_ALG_KEYEDHASH,
      .nameAlg = TPM2_ALG_SHA256,
      .objectAttributes =
          TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_NODA,
      .parameters.keyedHashDetail.scheme.scheme = TPM2_ALG_NULL,
  }};
  TPM2B_SENSITIVE_CREATE *sensitive = memory;
  if (size > 128) return TSS2_BASE_RC_BAD_SIZE;
  sensitive->sensitive.data.size = (UINT16)size;
  memcpy(sensitive->sensitive.data.buffer, secret, size);
  const TPM2B_DATA outside = {0};
  const TPML_PCR_SELECTION pcrs = {0};
  return tss->create(
      context, primary, session, ESYS_TR_NONE, ESYS_TR_NONE, sensitive, &template, &outside, &pcrs, private_part,
      public_part, NULL, NULL, NULL);
}

/// Loads an object that latchkey_tss_seal made.
static inline TSS2_RC latchkey_tss_load(
    const latchkey_tss *tss, ESYS_CONTEXT *context, ESYS_TR primary, ESYS_TR session, const TPM2B_PRIVATE *private_part,
    const TPM2B_PUBLIC *public_part, ESYS_TR *object) {
  return tss->load(
      context, primary, session, ESYS_TR_NONE, ESYS_TR_NONE, private_part, public_part, object);
}

/// Puts `size` bytes (at most 128) into an object that the chip loses when the machine starts again. The object is below the null
/// hierarchy, which has another seed after each start, and it has the attribute stClear. `memory` is used as in latchkey_tss_seal.
static inline TSS2_RC latchkey_tss_hold(
    const latchkey_tss *tss, ESYS_CONTEXT *context, ESYS_TR session, const void *secret, size_t size, void *memory,
    ESYS_TR *object) {
  const TPM2B_PUBLIC template = {.publicArea = {
      .type = TPM2_ALG_KEYEDHASH,
      .nameAlg = TPM2_ALG_SHA256,
      .objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_STCLEAR |
          TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_NODA,
      .parameters.keyedHashDetail.scheme.scheme = TPM2_ALG_NULL,
  }};
  TPM2B_SENSITIVE_CREATE *sensitive = memory;
  if (size > 128) return TSS2_BASE_RC_BAD_SIZE;
  sensitive->sensitive.data.size = (UINT16)size;
  memcpy(sensitive->sensitive.data.buffer, secret, size);
  const TPM2B_DATA outside = {0};
  const TPML_PCR_SELECTION pcrs = {0};
  return tss->create_primary(
      context, ESYS_TR_RH_NULL, session, ESYS_TR_NONE, ESYS_TR_NONE, sensitive, &template, &outside, &pcrs, object,
      NULL, NULL, NULL, NULL);
}

/// Unseals `size` bytes into `out`, or returns an error.
static inline TSS2_RC latchkey_tss_unseal(
    const latchkey_tss *tss, ESYS_CONTEXT *context, ESYS_TR object, ESYS_TR session, void *out, size_t size) {
  TPM2B_SENSITIVE_DATA *data = NULL;
  TSS2_RC result = tss->unseal(context, object, session, ESYS_TR_NONE, ESYS_TR_NONE, &data);
  if (result != TSS2_RC_SUCCESS) return result;
  if (data->size == size) memcpy(out, data->buffer, size);
  else result = TSS2_BASE_RC_BAD_SIZE;
  explicit_bzero(data, sizeof *data);
  tss->release(data);
  return result;
}

/// The value that means "no handle".
static inline ESYS_TR latchkey_tss_none(void) { return ESYS_TR_NONE; }
