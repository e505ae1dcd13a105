// Adwaita: the parts of a window, by GTK 4 and libadwaita.
//
// A program makes an ``Application`` and runs it. Its closure gets the arguments of each start and
// makes the window of parts: ``Box``, ``Row``, ``Group``, ``Panes``, ``LongList``, and others.
//
//     let application = Application(name: "org.latchkey.app")
//     application.run(CommandLine.arguments) { words in … }
//
// A part is a ``Widget``: an object that holds one reference to GTK's, and keeps the parts in it.
// ``Signal`` brings a click or a key back as a closure. Work that takes time runs in a thread, and
// ``MainThread`` brings its result to GTK's thread. Parts may be used from that thread alone.
//
// The module promises that no C type and no pointer of GTK leaves it. A ``LongList`` has widgets for
// the rows on the screen and for no others, whatever its model counts. ``SecretField`` keeps its text
// in GTK's locked memory, and ``Clipboard`` empties itself after its time. Each part that a person can
// use has a name for screen readers.
//
// It uses only what libadwaita 1.2 has, the one of Debian 12. So two panes are a leaf that folds and
// not a split view, and a question is a message dialog.
//
// It does not know the vault, and it translates nothing. It cannot erase the copies that GTK and Pango
// make to draw a text: docs/user/window.md says which those are.
