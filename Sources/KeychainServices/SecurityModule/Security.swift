// Apple's name for the module, and nothing else. Packages that ask `canImport(Security)` find a module of this name wherever
// it is built, so only programs that name the product build it.
@_exported public import LatchkeySecurity
