# NixOS. packaging/README.md says what of it was tried. It expects a package `latchkey`, installed with
#   make install DESTDIR= PREFIX=$out SYSCONFDIR=$out/etc LIBDIR=$out/lib LIBEXECDIR=$out/libexec
# and built with LIBEXECDIR=$out/libexec, which the PAM module is compiled with. nixpkgs has no Swift 6.2 yet, so no
# derivation is here.
{ config, lib, pkgs, ... }:
let
  cfg = config.services.latchkey;
  module = "${cfg.package}/lib/security/pam_latchkey.so";
  # Optional, and after all that NixOS itself writes: pam/README.md says why.
  rules = {
    rules = lib.genAttrs [ "auth" "session" "password" ] (_: {
      latchkey = {
        order = 20000;
        control = "optional";
        modulePath = module;
      };
    });
  };
  # Latchkey's own services, as the package has them.
  own = lib.genAttrs [ "latchkey-unlock" "latchkey-collection" "latchkey-item" "latchkey-presence" "latchkey-biometry" ]
    (name: {
      text = lib.replaceStrings [ "pam_latchkey.so" ] [ module ] (lib.readFile "${cfg.package}/etc/pam.d/${name}");
    });
in
{
  options.services.latchkey = {
    enable = lib.mkEnableOption "Latchkey, a credential vault that locks with the screen";
    package = lib.mkPackageOption pkgs "latchkey" { };
    pamServices = lib.mkOption {
      type = lib.types.listOf lib.types.str;
      default = [ "login" "sshd" "gdm-password" "sddm" "lightdm" "greetd" ];
      description = "PAM services of logins and screen lockers that unlock the vault.";
    };
  };

  config = lib.mkIf cfg.enable {
    assertions = [
      {
        assertion = !config.services.gnome.gnome-keyring.enable;
        message = "Latchkey and gnome-keyring both own org.freedesktop.secrets: set services.gnome.gnome-keyring.enable = false.";
      }
    ];
    environment.systemPackages = [ cfg.package ];
    services.dbus.packages = [ cfg.package ];
    systemd.packages = [ cfg.package ];
    # NixOS makes no links for [Install] sections.
    systemd.sockets.latchkey-deviced.wantedBy = [ "sockets.target" ];
    systemd.user.sockets.latchkeyd.wantedBy = [ "sockets.target" ];
    systemd.user.sockets.latchkey-ssh-agent.wantedBy = [ "sockets.target" ];
    systemd.user.sockets.latchkey-credentials.wantedBy = [ "sockets.target" ];
    # Nobody's daemon is restarted: it has the keys, and would come back without them.
    systemd.user.services.latchkeyd.restartIfChanged = false;
    xdg.portal.extraPortals = [ cfg.package ];
    security.pam.services = lib.genAttrs cfg.pamServices (_: rules) // own;
  };
}
