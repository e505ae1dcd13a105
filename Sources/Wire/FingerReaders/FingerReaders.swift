// FingerReaders: the fingers that fprintd has enrolled, and a touch of one of its readers.
//
// An item can require one of the fingers that were enrolled when it was stored. So the daemon compares
// the set of names that the item remembers with the present set. ``EnrolledFingers`` asks fprintd for
// the present set, over the system bus. ``FingerVerification`` waits for a finger at a reader. After a
// match, latchkey-deviced releases a key that it holds.
//
//     fingers.ask { result in
//       // the readers with their fingers, or why they are unknown
//     }
//
// The command line asks for the set too, to tell a person that no finger can be used here.
//
// The module promises that it believes only an fprintd that runs as root. Every question has a time
// limit, and the number of asked readers is bounded. "Unknown" never means "no fingers". An item that
// requires a finger stays locked as long as the answer is unknown.
//
// It verifies no finger for an item's prompt: pam_fprintd does this, in the PAM stack of the prompt's
// service. It cannot tell fingers apart that have the same name. fprintd does not tell which print
// belongs to "right-index-finger", so nobody notices another finger under the same name
// (docs/security/requirements.md). It destroys nothing when the fingers change: the item can be read
// again as soon as the former set is enrolled again. It keeps no result, and asks again for each
// question.
