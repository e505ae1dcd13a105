// Adwaita: the parts of a window, by GTK 4 and libadwaita.
//
// A program makes an ``Application`` and runs it. The program's closure gets the arguments of each start. It builds the window from
// parts: ``Box``, ``Row``, ``Group``, ``Panes``, ``LongList``, and others.
//
//     let application = Application(name: "org.latchkey.app")
//     application.run(CommandLine.arguments) { words in … }
//
// A part is a ``Widget``: an object that holds one reference to GTK's widget, and keeps the parts inside it. ``Handler`` calls a
// closure at a click or a key. Work that takes time runs in a thread, and ``MainThread`` brings its result to GTK's thread. Only
// that thread may use parts.
//
// The module promises that no C type and no pointer of GTK leaves it. A ``LongList`` has widgets only for the rows on the screen,
// however many rows its model has. ``SecretField`` keeps its text in GTK's locked memory, and ``Clipboard`` can be emptied at any
// time. Each part that a person can use has a name for screen readers.
//
// The module uses only functions of libadwaita 1.2, the version of Debian 12. So two panes are a leaf that folds and not a split
// view, and a question is a message dialog.
//
// The module does not know the vault, and it translates nothing. It cannot erase the copies that GTK and Pango make to draw a text.
// docs/user/window.md lists these copies.
