// FingerReaders: the fingers that fprintd has enrolled, and a touch of one of its readers.
//
// An item can require one of the fingers that were enrolled when it was stored. The daemon therefore
// compares a set of names that the item remembers with the present one. ``EnrolledFingers`` asks
// fprintd for the present set, over the system bus. ``FingerVerification`` waits for a finger at a
// reader: latchkey-deviced gives a held key back after a match.
//
//     fingers.ask { result in
//       // the readers with their fingers, or why they are unknown
//     }
//
// The command line asks for the set too, to say that a finger could not be asked for here.
//
// The module promises that only root's fprintd is believed: the name must have an owner whose user is
// root. Every question has a limit of time, and the number of readers that are asked is bounded.
// "Unknown" never means "no fingers". An item that requires a finger stays locked as long as the answer
// is unknown.
//
// It verifies no finger for a prompt. PAM does, by pam_fprintd, in the stack of the prompt's service. It
// does not know whose finger a name is. fprintd tells nobody which print belongs to
// "right-index-finger", so enrolling another finger under the same name goes unnoticed
// (docs/security/requirements.md). It does not destroy anything when the fingers change: the item opens
// again as soon as the former set is enrolled again. It keeps no result. A later question gets the
// answer of that moment.
