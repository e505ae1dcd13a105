public import Foundation

// Values of `kSecAttrAuthenticationType`.

/// Distributed Password Authentication.
public nonisolated(unsafe) let kSecAttrAuthenticationTypeDPA: CFString = "dpaa"

/// The default of the protocol.
public nonisolated(unsafe) let kSecAttrAuthenticationTypeDefault: CFString = "dflt"

/// A form on a page.
public nonisolated(unsafe) let kSecAttrAuthenticationTypeHTMLForm: CFString = "form"

/// HTTP Basic.
public nonisolated(unsafe) let kSecAttrAuthenticationTypeHTTPBasic: CFString = "http"

/// HTTP Digest.
public nonisolated(unsafe) let kSecAttrAuthenticationTypeHTTPDigest: CFString = "httd"

/// Microsoft Network's default.
public nonisolated(unsafe) let kSecAttrAuthenticationTypeMSN: CFString = "msna"

/// NTLM.
public nonisolated(unsafe) let kSecAttrAuthenticationTypeNTLM: CFString = "ntlm"

/// Remote Password Authentication.
public nonisolated(unsafe) let kSecAttrAuthenticationTypeRPA: CFString = "rpaa"
