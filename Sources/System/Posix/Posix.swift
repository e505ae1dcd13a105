// Posix: a typed layer over the kernel and libc.
//
// It has descriptors, folders, sockets, processes, users and clocks. ``FileDescriptor`` owns one
// descriptor and closes it. ``Folder`` holds a folder of one user open, so that nobody can change its
// path meanwhile. ``NewFile`` makes a file that appears whole or not at all. ``LocalSocket`` keeps
// packets apart and gives every wait a deadline. ``Process`` forbids core dumps and inspection, and
// becomes another user. ``ChildProcess`` starts a program without waiting for it.
//
//     let folder = try Folder(path: "/home/alice/.local/share/latchkey", owner: 1000)
//     let bytes = try folder.read("keybag", limit: 4096)
//
// An error is a ``PosixError``: the operation and the kernel's number. Calls throw exactly this type.
//
// The module promises that files in a ``Folder`` are opened without following links and without waiting for a device or a pipe. A
// file of another owner is refused. A written file is on the disk before its name is. A file can be overwritten in place before
// it is removed. Pipes with secrets leave no page behind that the kernel would keep.
//
// It does not hide races that the kernel has: a path is only safe below a folder that is held.
// Overwriting reaches no copy that a disk or a file system made elsewhere, for example on SSDs and in
// snapshots. Nothing here knows the vault, D-Bus or a key.
//
// Unsafe pointers and C types of libc end here, but for a few calls whose types only one module has.
