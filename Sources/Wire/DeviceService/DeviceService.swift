// DeviceService: the protocol of the device key service, and its client.
//
// `latchkey-deviced` has the machine's secret. A user's daemon asks it to wrap and unwrap the shares on
// which device-bound classes depend. ``DevicePacket`` is the form of all packets. ``ServiceDeviceKey``
// is the client, and a ``DeviceKey`` for the vault like any other.
//
//     if let key = try ServiceDeviceKey.find(at: ServiceDeviceKey.path) {
//       let share = try key.unwrap(wrapped, kind, context: vault)
//     }
//
// ``ServiceProbe`` waits in an event loop until the service has started. ``TurnLimit`` bounds all waits
// of one turn of the loop. ``LoginConnection`` is a connection that root opened for a login of a user
// who gave no password.
//
// The module promises that the kernel tells the service which user asks: no packet names a user, except
// one of root's. A service that is not root's own is not believed. A service that hangs costs a turn of
// the loop one short wait and not one for each request, and a lock ends the wait. Keys in packets are
// in locked memory.
//
// It does not keep any secret. The store on the disk is DeviceStore's, on the floor Vault. It does not
// decide whether a vault depends on the service or on a file, which the vault's room Device does. It
// does not say whether there is a TPM, beyond the word in ``ServiceDeviceKey/backend``.
// docs/developer/protocols.md has the bytes.
