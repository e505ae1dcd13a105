// Gives the module Apple's name. Security.swift has the reason.
@_exported public import LatchkeyLocalAuthentication
