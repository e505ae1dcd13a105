// TSS: a TPM 2.0, for one purpose: to seal the machine's secret.
//
// `latchkey-deviced` has one secret for the whole machine. If the machine has a chip, the secret on the
// disk is sealed by it, so a copied disk opens nothing. ``TPM`` seals a key to the chip and opens it
// again.
//
//     let chip = try TPM(tcti: "device:/dev/tpmrm0")
//     let sealed = try chip.seal(secret)
//     let opened = try chip.unseal(sealed)
//
// Each call is a connection of its own. The chip derives its storage key anew from its seed each time,
// so nothing of Latchkey's takes up room in the chip. The sealed value is kept in a file of the
// service. FORMAT.md has its bytes.
//
// The module promises that the secret crosses the wires to the chip encrypted, in a session that is salted with the chip's
// storage key. The module distinguishes a value that another chip sealed from a damaged value. Errors carry no secret.
//
// It does not bind the secret to the state of the boot (PCRs). A kernel or firmware update would then lock everybody out, and an
// attacker who could exploit the lack has root already. It does not ask for a password of the chip. It does not link tpm2-tss:
// ``TSSLibrary`` opens the library while the program runs, so a machine without a chip needs none of it. Keys that belong to users
// never reach the chip.
