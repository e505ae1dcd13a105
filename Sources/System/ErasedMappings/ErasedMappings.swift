// ErasedMappings: libc's `mmap` and `munmap`, replaced for the memory that Argon2id works in.
//
// libsodium maps that memory by itself, and gives it back without erasing it. It neither locks the
// memory nor offers a hook. This module defines both functions again. The linker exports them from the
// program, so libraries find these two before libc's own.
//
// A program uses the module by linking it. Package.swift adds the linker's options (`exportMappings`). There
// is nothing to call: the module Sodium announces the size of the next mapping (``WorkingMemory``), and
// these functions treat a mapping of just that size in a special way. The memory is locked as far as the
// limit allows, in no core dump, and erased before it is unmapped. Every other mapping is the plain system
// call.
//
// The module promises that no password and no key derived from one stays in freed pages. Tests/Integration/Memory looks for both
// traces.
//
// It does not replace `malloc`, and libc's own calls of `mmap` do not reach it. It does not fail if
// memory cannot be locked. A libsodium that is linked statically, or that maps memory by other means,
// does not find it. `Sodium` notices that the announced mapping never came, and `latchkey status` then
// says so.
//
// Only `latchkey-derive` and the tests of Sodium link it. A library that other people's programs link must not take the place of
// their `mmap`.
