// Gives the module Apple's name, and does nothing else. In a build with a module of this name, packages that check
// `canImport(Security)` find it. So it is a separate module, and only programs that name its product build it.
@_exported public import LatchkeySecurity
