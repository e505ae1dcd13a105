// Apple's name for the module, for the reason that Security.swift gives.
@_exported public import LatchkeyLocalAuthentication
