/// The longest time, in seconds, for which one showing of a finger is enough.
public let LATouchIDAuthenticationMaximumAllowableReuseDuration: Double = 300
