public import Foundation

// Values of `kSecAttrProtocol`. A blank at the end is part of the value.

/// AFP, the Apple Filing Protocol.
public nonisolated(unsafe) let kSecAttrProtocolAFP: CFString = "afp "

/// AppleTalk.
public nonisolated(unsafe) let kSecAttrProtocolAppleTalk: CFString = "atlk"

/// DAAP, the Digital Audio Access Protocol.
public nonisolated(unsafe) let kSecAttrProtocolDAAP: CFString = "daap"

/// Remote Apple events.
public nonisolated(unsafe) let kSecAttrProtocolEPPC: CFString = "eppc"

/// FTP.
public nonisolated(unsafe) let kSecAttrProtocolFTP: CFString = "ftp "

/// An FTP account, on the client's side.
public nonisolated(unsafe) let kSecAttrProtocolFTPAccount: CFString = "ftpa"

/// A proxy for FTP.
public nonisolated(unsafe) let kSecAttrProtocolFTPProxy: CFString = "ftpx"

/// FTP over TLS.
public nonisolated(unsafe) let kSecAttrProtocolFTPS: CFString = "ftps"

/// HTTP.
public nonisolated(unsafe) let kSecAttrProtocolHTTP: CFString = "http"

/// A proxy for HTTP.
public nonisolated(unsafe) let kSecAttrProtocolHTTPProxy: CFString = "htpx"

/// HTTP over TLS.
public nonisolated(unsafe) let kSecAttrProtocolHTTPS: CFString = "htps"

/// A proxy for HTTPS.
public nonisolated(unsafe) let kSecAttrProtocolHTTPSProxy: CFString = "htsx"

/// IMAP.
public nonisolated(unsafe) let kSecAttrProtocolIMAP: CFString = "imap"

/// IMAP over TLS.
public nonisolated(unsafe) let kSecAttrProtocolIMAPS: CFString = "imps"

/// IPP, the Internet Printing Protocol.
public nonisolated(unsafe) let kSecAttrProtocolIPP: CFString = "ipp "

/// IRC.
public nonisolated(unsafe) let kSecAttrProtocolIRC: CFString = "irc "

/// IRC over TLS.
public nonisolated(unsafe) let kSecAttrProtocolIRCS: CFString = "ircs"

/// LDAP.
public nonisolated(unsafe) let kSecAttrProtocolLDAP: CFString = "ldap"

/// LDAP over TLS.
public nonisolated(unsafe) let kSecAttrProtocolLDAPS: CFString = "ldps"

/// NNTP.
public nonisolated(unsafe) let kSecAttrProtocolNNTP: CFString = "nntp"

/// NNTP over TLS.
public nonisolated(unsafe) let kSecAttrProtocolNNTPS: CFString = "ntps"

/// POP3.
public nonisolated(unsafe) let kSecAttrProtocolPOP3: CFString = "pop3"

/// POP3 over TLS.
public nonisolated(unsafe) let kSecAttrProtocolPOP3S: CFString = "pops"

/// RTSP.
public nonisolated(unsafe) let kSecAttrProtocolRTSP: CFString = "rtsp"

/// A proxy for RTSP.
public nonisolated(unsafe) let kSecAttrProtocolRTSPProxy: CFString = "rtsx"

/// SMB.
public nonisolated(unsafe) let kSecAttrProtocolSMB: CFString = "smb "

/// SMTP.
public nonisolated(unsafe) let kSecAttrProtocolSMTP: CFString = "smtp"

/// SOCKS.
public nonisolated(unsafe) let kSecAttrProtocolSOCKS: CFString = "sox "

/// SSH.
public nonisolated(unsafe) let kSecAttrProtocolSSH: CFString = "ssh "

/// Telnet.
public nonisolated(unsafe) let kSecAttrProtocolTelnet: CFString = "teln"

/// Telnet over TLS.
public nonisolated(unsafe) let kSecAttrProtocolTelnetS: CFString = "tels"
