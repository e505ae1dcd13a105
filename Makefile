# Latchkey: build, install, test. `make help` lists what there is.

# Where the installed files go. DESTDIR is put before each of them, and is for packagers and tests.
PREFIX     ?= /usr
SYSCONFDIR ?= /etc
DESTDIR    ?=
# Debian keeps libraries in a folder named after the architecture; empty where the compiler knows none.
MULTIARCH  ?= $(shell cc -print-multiarch 2>/dev/null)
LIBDIR     ?= $(PREFIX)/lib$(if $(MULTIARCH),/$(MULTIARCH))
LIBEXECDIR ?= $(PREFIX)/libexec
# libpam loads modules that are named without a path from here.
PAMDIR     ?= $(LIBDIR)/security
UNITDIR    ?= $(PREFIX)/lib/systemd/user
AUTOSTARTDIR ?= $(SYSCONFDIR)/xdg/autostart
SYSTEMDIR  ?= $(PREFIX)/lib/systemd/system
ENVDIR     ?= $(PREFIX)/lib/environment.d
MANDIR     ?= $(PREFIX)/share/man
DOCDIR     ?= $(PREFIX)/share/doc/latchkey
# The programs look here, whatever this says: share/locale above the folder that they are in.
LOCALEDIR  := $(PREFIX)/share/locale
# Debian's zsh looks in $(PREFIX)/share/zsh/vendor-completions instead.
ZSHDIR     ?= $(PREFIX)/share/zsh/site-functions

# Where the built programs lie, and the PAM module among them.
BUILT      ?= .build/release
PAM_MODULE ?= .build/pam/pam_latchkey.so
# Programs are installed without symbols; empty keeps them.
STRIP      ?= -s
# Options of every `swift build`, such as `-j 2`.
SWIFTFLAGS ?=
# Compiled into the PAM module, where it finds latchkey-derive: a login's environment is not to be asked.
export LATCHKEY_LIBEXECDIR := $(LIBEXECDIR)
# The interpreter that sees Debian's python3-* packages.
PYTHON     ?= /usr/bin/python3
# Runs a command where the packages of the tests are. As a user other than root: on this machine.
IN_ROOT    := Tests/Session/testroot --

# What goes onto the machine: libraries for building, and what `make run` and `make check` run on. Nothing of these starts by
# itself, answers for another program or changes a login.
BUILD_PACKAGES := libsodium-dev libpam0g-dev libsystemd-dev libgcrypt20-dev libsqlite3-dev libyaml-dev libtss2-dev \
  libfido2-dev gettext pkg-config
# The throw-away session.
SESSION_PACKAGES := dbus-daemon dbus-bin libsecret-tools libpam-wrapper libpam-pwdfile openssl python3
RUN_PACKAGES   := $(BUILD_PACKAGES) $(SESSION_PACKAGES)
# The window, which nothing else needs.
WINDOW_PACKAGES := libadwaita-1-dev
# Draws the pictures of the documents.
PICTURE_PACKAGES := gnuplot-nox
# For the tests of the manual pages.
MANUAL_PACKAGES := man-db groff-base mandoc
# All that `make check` needs: no desktop, no systemd that runs.
CHECK_PACKAGES := $(BUILD_PACKAGES) dbus libpam-wrapper libpam-pwdfile python3-pytest python3-pytest-xdist binutils gcc \
  libc6-dev openssl valgrind sqlite3 strace $(MANUAL_PACKAGES) $(PICTURE_PACKAGES)
# For `make deb`.
DEB_PACKAGES := build-essential debhelper po-debconf python3 lintian
# What makes the tests' root.
HOST_PACKAGES  := $(BUILD_PACKAGES) python3 mmdebstrap
PACKAGES       := $(HOST_PACKAGES)

# What stays in the tests' root (Tests/Session/testroot): keyrings, wallets, lockers, portals, browsers and the like. Many of them
# start by themselves or answer for another program where they are installed.
DESKTOP_PACKAGES := gnome-keyring seahorse keepassxc libkf5wallet-bin libqca-qt5-2-plugins pass xdg-desktop-portal chromium \
  golang-docker-credential-helpers gcr pinentry-curses pinentry-gtk2 pinentry-qt i3lock xss-lock sway swaylock swayidle wtype \
  mate-screensaver xsecurelock vlock xscreensaver xscreensaver-data lightdm lightdm-gtk-greeter greetd fprintd libpam-fprintd \
  bubblewrap xvfb xauth xdotool at-spi2-core libatk-adaptor gir1.2-atspi-2.0 gir1.2-gtk-3.0 fonts-dejavu-core fonts-wqy-microhei
CLIENT_PACKAGES  := libsecret-1-dev libsecret-tools gir1.2-secret-1 libwww-perl meson ninja-build python3-argon2 \
  python3-cryptography python3-gi python3-jaraco.context python3-jaraco.functools python3-jeepney python3-keyring python3-nacl \
  python3-pexpect python3-pip python3-secretstorage
SYSTEM_PACKAGES  := systemd-sysv systemd-container libpam-systemd dbus-user-session iproute2 openssh-server openssh-client pamtester sudo \
  cron login procps tmux swtpm libtss2-tcti-swtpm0 qemu-system-x86 mmdebstrap e2fsprogs btrfs-progs fuse3 libfuse3-dev
# What a Debian that was only just made has not: for the Swift toolchain, and for what the tests call.
TOOL_PACKAGES    := ca-certificates git make g++ libcurl4-openssl-dev libedit2 libncurses6 libxml2-dev libz3-dev zlib1g-dev tzdata \
  unzip xz-utils
ROOT_PACKAGES    := $(sort $(CHECK_PACKAGES) $(SESSION_PACKAGES) $(DESKTOP_PACKAGES) $(CLIENT_PACKAGES) $(SYSTEM_PACKAGES) \
  $(TOOL_PACKAGES))

# Each has a file po/LANGUAGE.po.
LANGUAGES  := $(shell cat po/LINGUAS)
CATALOGUES := $(LANGUAGES:%=.build/locale/%/LC_MESSAGES/latchkey.mo)

PROGRAMS := latchkeyd latchkey-derive latchkey-prompt latchkey-deviced latchkey-kwallet latchkey-ssh-agent \
  latchkey-security-key latchkey
.PHONY: help deps ready root-packages build module window install-window uninstall-window deb reproducible release install uninstall translations run check test test-all bench table fuzz-build beside docs pictures lint clean
.DEFAULT_GOAL := help

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

# Says what it is about to do before it does it. apt-get's question is answered with no the first time: it comes with the sizes.
deps: ## Debian packages that building and testing put onto the machine: installs them (root) or names those missing
	@missing=$$(for p in $(PACKAGES); do \
	  dpkg-query -W -f '$${db:Status-Abbrev}' $$p 2>/dev/null | grep -q '^.i' || echo $$p; done); \
	test -z "$$missing" && exit 0; \
	echo "missing packages:" $$missing; \
	test "$$(id -u)" != 0 || apt-get -qq update || exit 1; \
	LC_ALL=C apt-get -o Debug::NoLocking=true --assume-no --no-install-recommends install $$missing 2>/dev/null | awk \
	  '/ newly installed/ { changes = $$3 + $$1 } /^Need to get/ { load = $$4 " " $$5 } /^After this operation/ { disk = $$4 " " $$5 } \
	  END { if (changes) print "These need " changes " packages: " load " to load, " disk " on the disk." }'; \
	if [ "$$(id -u)" = 0 ]; then \
	  DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 install -y --no-install-recommends $$missing </dev/null; \
	else \
	  echo "  sudo apt-get install --no-install-recommends" $$missing; exit 1; fi

root-packages:
	@echo $(ROOT_PACKAGES)

# No run path: SwiftPM's own would be $$ORIGIN, which a module that setuid programs load must not have.
RELEASE = swift build -c release $(SWIFTFLAGS) --static-swift-stdlib --disable-local-rpath --product

# What swift-argument-parser uses of FoundationEssentials, under that name: the real one is 6 MB of `latchkey`. The compiler
# looks here first. `swift build` alone builds the same program, only larger.
ESSENTIALS := $(CURDIR)/.build/essentials
STANDIN    := $(wildcard packaging/FoundationEssentials/*.swift Sources/System/Text/JSON*.swift)

# All programs with the same options: SwiftPM compiles a module anew when they change.
build: module $(CATALOGUES) $(ESSENTIALS)/libLatchkeyEssentials.a ## the programs, the PAM module and the translations, for release
	for p in $(PROGRAMS); do $(RELEASE) $$p -Xswiftc -I$(ESSENTIALS) -Xlinker -L$(ESSENTIALS) || exit 1; done

# SwiftPM does not see that it changed, so what was compiled with it goes. No hash of the folder is in it, for `make reproducible`.
$(ESSENTIALS)/libLatchkeyEssentials.a: $(STANDIN)
	mkdir -p $(@D)
	swiftc -O -wmo -parse-as-library -swift-version 6 -static -emit-library -emit-module -module-name FoundationEssentials \
	  -module-link-name LatchkeyEssentials -emit-module-path $(@D)/FoundationEssentials.swiftmodule \
	  -Xfrontend -disable-incremental-llvm-codegen -o $@ $^
	rm -rf $(BUILT)/ArgumentParser.build

module:
	LATCHKEY_PAM_PRODUCT=1 $(RELEASE) pam_latchkey
	mkdir -p $(dir $(PAM_MODULE))
	cp $(BUILT)/libpam_latchkey.so $(PAM_MODULE:.so=.unstripped.so)
	strip --strip-unneeded -o $(PAM_MODULE) $(PAM_MODULE:.so=.unstripped.so)

# Apart from `build`: it needs GTK. SwiftPM refuses options of GTK's pkg-config file that no header needs, and says so each time:
# it gets a file without them.
window: $(CATALOGUES) ## latchkey-app, the window: a package of its own, which needs GTK
	@$(MAKE) -s deps PACKAGES="$(BUILD_PACKAGES) $(WINDOW_PACKAGES)"
	mkdir -p .build/pkgconfig
	printf 'Name: %s\nDescription: %s\nVersion: 1\nCflags: %s\nLibs: %s\n' libadwaita-1 libadwaita-1 \
	  "$$(pkg-config --cflags-only-I libadwaita-1)" "$$(pkg-config --libs libadwaita-1)" >.build/pkgconfig/latchkey-adwaita.pc
	LATCHKEY_WINDOW=1 PKG_CONFIG_PATH=$(CURDIR)/.build/pkgconfig $(RELEASE) latchkey-app

# A translation with wrong placeholders is an error.
$(CATALOGUES): .build/locale/%/LC_MESSAGES/latchkey.mo: po/%.po
	mkdir -p $(@D)
	msgfmt --check-format --check-domain -o $@ $<

translations: ## po/latchkey.pot from the texts in the sources, and what is new or gone in each po/*.po
	$(PYTHON) po/extract >po/latchkey.pot
	for language in $(LANGUAGES); do msgmerge -q -U --backup=none --no-fuzzy-matching --no-wrap po/$$language.po po/latchkey.pot && \
	  msgattrib --no-obsolete --no-wrap -o po/$$language.po po/$$language.po && \
	  msgfmt --check-format --statistics -o /dev/null po/$$language.po || exit 1; done

# Without prerequisites: what is built already is installed as it is, also by a root that has no Swift.
$(PROGRAMS:%=$(BUILT)/%) $(PAM_MODULE):
	$(MAKE) build

$(BUILT)/latchkey-app:
	$(MAKE) window

# dpkg-buildpackage writes its packages beside the folder that it builds, so it gets a copy of the sources. SwiftPM fetches
# what Package.swift names before that; the build itself needs no network, and gets none where the kernel lets us take it away.
# -nc: the copy is clean. Debian 13's lintian does not know all tags of Debian 12's that we override.
DEB := .build/deb
OFFLINE = $(shell unshare -rn true 2>/dev/null && echo unshare -rn)

deb: ## Debian packages, in .build/deb
	@$(MAKE) -s deps PACKAGES="$(BUILD_PACKAGES) $(WINDOW_PACKAGES) $(DEB_PACKAGES)"
	swift package resolve
	rm -rf $(DEB)
	mkdir -p $(DEB)/latchkey/.build
	tar -c --exclude=./.build --exclude=./.git . | tar -x -C $(DEB)/latchkey
	cp -a .build/checkouts .build/repositories .build/workspace-state.json $(DEB)/latchkey/.build/
	cd $(DEB)/latchkey && $(OFFLINE) dpkg-buildpackage -us -uc -b -nc
	lintian --pedantic --suppress-tags alien-tag --fail-on error,warning,info,pedantic $(DEB)/*.changes
	rm -rf $(DEB)/latchkey

# Of what is committed when it begins. The first of the two folders is $$one.
TWICE = one=$$(mktemp -d) && two=$$(mktemp -d /var/tmp/another.XXXXXXXX) && trap "rm -rf $$one $$two" EXIT && \
	  git clone -q . $$one/latchkey && git clone -q . $$two/latchkey && \
	  for folder in $$one $$two; do $(MAKE) -C $$folder/latchkey deb || exit 1; done && \
	  for package in $$one/latchkey/$(DEB)/*.deb; do cmp $$package $$two/latchkey/$(DEB)/$${package\#\#*/} || exit 1; done

reproducible: ## the packages built twice, in two folders at two times: the same, byte by byte
	@$(TWICE)

release: ## `make reproducible`, then the files of a release of this Debian, in .build/release-files
	@$(TWICE) && $$one/latchkey/packaging/release write $$one/latchkey/$(DEB) $(CURDIR)/.build/release-files

# The templates' places, filled in.
FILL = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBEXECDIR@|$(LIBEXECDIR)|g'

# The command prints what a shell needs to complete its arguments: in English, whoever installs it.
COMPLETIONS = LC_ALL=C $(BUILT)/latchkey --generate-completion-script

# D-Bus interfaces, under names of our own: another package may lay org.freedesktop.*.
INTERFACES = Secrets Vault Item Keychain Prompt

# Those that are Latchkey's own; see pam/README.md.
PAM_SERVICES = latchkey-unlock latchkey-collection latchkey-item latchkey-presence latchkey-biometry

# mdoc: man and mandoc read these sources as they are, so that nothing has to be built or converted.
# The window's page goes with the window.
MANUALS := $(filter-out docs/man/latchkey-app.1,$(sort $(wildcard docs/man/*.[158])))
# Where a page goes: latchkey.1 to man1/latchkey.1.
MANUAL = man$(subst .,,$(suffix $(1)))/$(notdir $(1))

# What users and administrators read, in the folders by which the pages link to each other. A page links to no other file of the
# sources: it would lead nowhere where it is installed.
DOCUMENTS := SECURITY.md pam/README.md $(sort $(wildcard docs/user/*.md docs/security/*.md docs/pictures/*.png)) \
  docs/pictures/day.svg

# Everything that `install` lays and `uninstall` takes away again.
INSTALLED = $(PREFIX)/bin/latchkey $(LIBEXECDIR)/latchkeyd $(LIBEXECDIR)/latchkey-derive \
  $(LIBEXECDIR)/latchkey-prompt $(LIBEXECDIR)/latchkey-deviced $(LIBEXECDIR)/latchkey-kwallet \
  $(LIBEXECDIR)/latchkey-ssh-agent $(LIBEXECDIR)/latchkey-ssh-askpass $(LIBEXECDIR)/latchkey-security-key \
  $(AUTOSTARTDIR)/latchkey-security-key.desktop \
  $(PAMDIR)/pam_latchkey.so $(ENVDIR)/60-latchkey-ssh-agent.conf \
  $(UNITDIR)/latchkey-ssh-agent.socket $(UNITDIR)/latchkey-ssh-agent.service \
  $(UNITDIR)/sockets.target.wants/latchkey-ssh-agent.socket \
  $(UNITDIR)/latchkey-credentials.socket $(UNITDIR)/latchkey-credentials@.service \
  $(UNITDIR)/sockets.target.wants/latchkey-credentials.socket \
  $(PREFIX)/share/dbus-1/services/org.freedesktop.secrets.latchkey.service \
  $(PREFIX)/share/dbus-1/services/org.freedesktop.impl.portal.desktop.latchkey.service \
  $(PREFIX)/share/xdg-desktop-portal/portals/latchkey.portal \
  $(INTERFACES:%=$(PREFIX)/share/dbus-1/interfaces/org.latchkey.%.xml) \
  $(UNITDIR)/latchkeyd.socket $(UNITDIR)/latchkeyd.service $(UNITDIR)/latchkey-first-unlock.target \
  $(UNITDIR)/sockets.target.wants/latchkeyd.socket $(UNITDIR)/latchkey-prompt@.service \
  $(SYSTEMDIR)/latchkey-deviced.socket $(SYSTEMDIR)/latchkey-deviced.service \
  $(SYSTEMDIR)/sockets.target.wants/latchkey-deviced.socket \
  $(PREFIX)/share/latchkey/rules.yaml $(PREFIX)/share/pam-configs/latchkey \
  $(PREFIX)/share/bash-completion/completions/latchkey $(ZSHDIR)/_latchkey \
  $(PREFIX)/share/fish/vendor_completions.d/latchkey.fish \
  $(foreach page,$(MANUALS),$(MANDIR)/$(call MANUAL,$(page))) $(MANDIR)/man8/latchkey-ssh-askpass.8 \
  $(DOCUMENTS:%=$(DOCDIR)/%) \
  $(LANGUAGES:%=$(LOCALEDIR)/%/LC_MESSAGES/latchkey.mo) \
  $(addprefix $(SYSCONFDIR)/pam.d/,$(PAM_SERVICES))

install: $(PROGRAMS:%=$(BUILT)/%) $(PAM_MODULE) $(CATALOGUES) ## lay the files under DESTDIR and PREFIX
	install -d $(sort $(dir $(INSTALLED:%=$(DESTDIR)%)))
	install -m 755 $(STRIP) $(BUILT)/latchkey $(DESTDIR)$(PREFIX)/bin/
	install -m 755 $(STRIP) $(BUILT)/latchkeyd $(BUILT)/latchkey-derive $(BUILT)/latchkey-prompt \
	  $(BUILT)/latchkey-deviced $(BUILT)/latchkey-kwallet $(BUILT)/latchkey-ssh-agent \
	  $(BUILT)/latchkey-security-key $(DESTDIR)$(LIBEXECDIR)/
	install -m 644 $(STRIP) $(PAM_MODULE) $(DESTDIR)$(PAMDIR)/pam_latchkey.so
	$(FILL) dbus/org.freedesktop.secrets.latchkey.service.in \
	  >$(DESTDIR)$(PREFIX)/share/dbus-1/services/org.freedesktop.secrets.latchkey.service
	install -m 644 dbus/org.freedesktop.impl.portal.desktop.latchkey.service $(DESTDIR)$(PREFIX)/share/dbus-1/services/
	install -m 644 dbus/latchkey.portal $(DESTDIR)$(PREFIX)/share/xdg-desktop-portal/portals/
	install -m 644 dbus/org.freedesktop.Secrets.xml \
	  $(DESTDIR)$(PREFIX)/share/dbus-1/interfaces/org.latchkey.Secrets.xml
	install -m 644 $(patsubst %,dbus/org.latchkey.%.xml,$(filter-out Secrets,$(INTERFACES))) \
	  $(DESTDIR)$(PREFIX)/share/dbus-1/interfaces/
	$(FILL) dbus/latchkeyd.service.in >$(DESTDIR)$(UNITDIR)/latchkeyd.service
	$(FILL) dbus/latchkeyd.socket.in >$(DESTDIR)$(UNITDIR)/latchkeyd.socket
	$(FILL) dbus/latchkey-prompt@.service.in >$(DESTDIR)$(UNITDIR)/latchkey-prompt@.service
	install -m 644 dbus/latchkey-first-unlock.target $(DESTDIR)$(UNITDIR)/
	ln -sfn ../latchkeyd.socket $(DESTDIR)$(UNITDIR)/sockets.target.wants/latchkeyd.socket
	$(FILL) dbus/latchkey-credentials@.service.in >$(DESTDIR)$(UNITDIR)/latchkey-credentials@.service
	install -m 644 dbus/latchkey-credentials.socket $(DESTDIR)$(UNITDIR)/
	ln -sfn ../latchkey-credentials.socket $(DESTDIR)$(UNITDIR)/sockets.target.wants/latchkey-credentials.socket
	$(FILL) dbus/latchkey-ssh-agent.service.in >$(DESTDIR)$(UNITDIR)/latchkey-ssh-agent.service
	install -m 644 dbus/latchkey-ssh-agent.socket $(DESTDIR)$(UNITDIR)/
	ln -sfn ../latchkey-ssh-agent.socket $(DESTDIR)$(UNITDIR)/sockets.target.wants/latchkey-ssh-agent.socket
	ln -sfn latchkey-ssh-agent $(DESTDIR)$(LIBEXECDIR)/latchkey-ssh-askpass
	install -m 644 dbus/60-latchkey-ssh-agent.conf $(DESTDIR)$(ENVDIR)/
	$(FILL) dbus/latchkey-security-key.desktop.in >$(DESTDIR)$(AUTOSTARTDIR)/latchkey-security-key.desktop
	$(FILL) dbus/latchkey-deviced.service.in >$(DESTDIR)$(SYSTEMDIR)/latchkey-deviced.service
	install -m 644 dbus/latchkey-deviced.socket $(DESTDIR)$(SYSTEMDIR)/
	ln -sfn ../latchkey-deviced.socket $(DESTDIR)$(SYSTEMDIR)/sockets.target.wants/latchkey-deviced.socket
	install -m 644 rules/rules.yaml $(DESTDIR)$(PREFIX)/share/latchkey/rules.yaml
	install -m 644 pam/pam-configs/latchkey $(DESTDIR)$(PREFIX)/share/pam-configs/latchkey
	install -m 644 $(addprefix pam/,$(PAM_SERVICES)) $(DESTDIR)$(SYSCONFDIR)/pam.d/
	for language in $(LANGUAGES); do \
	  install -m 644 .build/locale/$$language/LC_MESSAGES/latchkey.mo $(DESTDIR)$(LOCALEDIR)/$$language/LC_MESSAGES/ || exit 1; done
	$(foreach page,$(MANUALS),install -m 644 $(page) $(DESTDIR)$(MANDIR)/$(call MANUAL,$(page)) &&) true
	ln -sfn latchkey-ssh-agent.8 $(DESTDIR)$(MANDIR)/man8/latchkey-ssh-askpass.8
	for page in $(DOCUMENTS); do install -m 644 $$page $(DESTDIR)$(DOCDIR)/$$page || exit 1; done
	$(COMPLETIONS) bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/latchkey
	sed -i '1{/^#!/d}' $(DESTDIR)$(PREFIX)/share/bash-completion/completions/latchkey
	$(COMPLETIONS) zsh >$(DESTDIR)$(ZSHDIR)/_latchkey
	$(COMPLETIONS) fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/latchkey.fish
	-@test -n "$(DESTDIR)" || ! test -d /run/systemd/system || \
	  { systemctl daemon-reload && systemctl start latchkey-deviced.socket; }
	@test -n "$(DESTDIR)" || echo "Now 'pam-auth-update --enable latchkey' puts the module into the login."

# The login must not name a module that is gone. Folders that may have been new go where they are empty.
uninstall: ## remove just what `make install` laid
	test -n "$(DESTDIR)" || ! command -v pam-auth-update >/dev/null || pam-auth-update --package --remove latchkey
	-@test -n "$(DESTDIR)" || ! test -d /run/systemd/system || \
	  systemctl stop latchkey-deviced.socket latchkey-deviced.service
	rm -f $(INSTALLED:%=$(DESTDIR)%)
	-rmdir $(DESTDIR)$(SYSTEMDIR)/sockets.target.wants 2>/dev/null
	-rmdir $(DESTDIR)$(UNITDIR)/sockets.target.wants $(DESTDIR)$(PREFIX)/share/latchkey $(DESTDIR)$(ENVDIR) 2>/dev/null
	-rmdir $(DESTDIR)$(PREFIX)/share/dbus-1/interfaces 2>/dev/null
	-cd $(DESTDIR)$(SYSCONFDIR) 2>/dev/null && rmdir -p xdg/autostart 2>/dev/null
	-cd $(DESTDIR)$(DOCDIR) 2>/dev/null && rmdir -p docs/user docs/security docs/pictures pam 2>/dev/null; rmdir $(DESTDIR)$(DOCDIR) 2>/dev/null
	-cd $(DESTDIR)$(PREFIX)/share 2>/dev/null && rmdir -p xdg-desktop-portal/portals 2>/dev/null

# The window's files. Its icon has the name of the program on the bus, as the desktop file has.
INSTALLED_WINDOW = $(PREFIX)/bin/latchkey-app $(PREFIX)/share/applications/org.latchkey.app.desktop \
  $(PREFIX)/share/metainfo/org.latchkey.app.metainfo.xml $(PREFIX)/share/dbus-1/services/org.latchkey.app.service \
  $(PREFIX)/share/icons/hicolor/scalable/apps/org.latchkey.app.svg \
  $(PREFIX)/share/icons/hicolor/symbolic/apps/org.latchkey.app-symbolic.svg $(MANDIR)/man1/latchkey-app.1

install-window: $(BUILT)/latchkey-app ## lay the window's files beside those of `make install`
	install -d $(sort $(dir $(INSTALLED_WINDOW:%=$(DESTDIR)%)))
	install -m 755 $(STRIP) $(BUILT)/latchkey-app $(DESTDIR)$(PREFIX)/bin/
	install -m 644 window/org.latchkey.app.desktop $(DESTDIR)$(PREFIX)/share/applications/
	install -m 644 window/org.latchkey.app.metainfo.xml $(DESTDIR)$(PREFIX)/share/metainfo/
	$(FILL) window/org.latchkey.app.service.in >$(DESTDIR)$(PREFIX)/share/dbus-1/services/org.latchkey.app.service
	install -m 644 window/org.latchkey.app.svg $(DESTDIR)$(PREFIX)/share/icons/hicolor/scalable/apps/
	install -m 644 window/org.latchkey.app-symbolic.svg $(DESTDIR)$(PREFIX)/share/icons/hicolor/symbolic/apps/
	install -m 644 docs/man/latchkey-app.1 $(DESTDIR)$(MANDIR)/man1/

uninstall-window: ## remove just what `make install-window` laid
	rm -f $(INSTALLED_WINDOW:%=$(DESTDIR)%)

run: ## a throwaway session with its own vault, and a tour of it
	@$(MAKE) -s deps PACKAGES="$(RUN_PACKAGES)"
	$(MAKE) build
	Tests/Session/throwaway tour

check: ## formatting, unit tests, the PAM module, documents: while you work; minutes, without root or a desktop
	@$(MAKE) -s deps PACKAGES="$(CHECK_PACKAGES)"
	$(MAKE) lint module
	Tests/run check

# The tests' root is made beside the build: one waits for the network, the other for the processor. The unit tests are built
# before anything runs: beside other tests that takes three times as long.
ready: deps
	@Tests/Session/testroot --make & root=$$!; $(MAKE) build && swift build $(SWIFTFLAGS) --build-tests && wait $$root

test: ready ## each promise once, and a booted system (as root): before you hand in a change
	Tests/run gate

# `make test-all PARTS="imports suites"` runs these alone; Tests/README.md has their names.
test-all: ready ## everything: suites, corpora, prompters, floods, power cuts, QEMU, fuzzing, packages, desktops; hours
	Tests/run all $(PARTS)

# On a machine that does nothing else. The vaults are on the file system of /var/tmp; BENCHFLAGS=--below=DIR names another.
bench: deps build ## latchkeyd beside gnome-keyring: a table of ratios, and plots in .build/bench; below 15 minutes
	mkdir -p .build/bench
	$(IN_ROOT) $(PYTHON) Tests/Benchmark/benchmark $(BENCHFLAGS) > .build/bench/report.md
	@cat .build/bench/report.md
	$(IN_ROOT) $(PYTHON) Tests/Benchmark/plots.py .build/bench/report.md .build/bench

# That package asks whether it can import Security, and which of the two is compiled first is not defined: the second time
# ours is there for certain.
beside: ## the client library and swift-certificates in one program, built twice; some minutes
	@scratch=$$(mktemp -d) && trap 'rm -rf '$$scratch EXIT && \
	  for time in first second; do rm -rf $$scratch/debug/X509.build && \
	  swift build $(SWIFTFLAGS) --package-path Tests/SecurityBeside --scratch-path $$scratch && \
	  $$scratch/debug/Beside || exit 1; done

pictures: ## the drawing and the plots of the documents, from docs/pictures/day.gp and benchmark.txt
	$(MAKE) deps PACKAGES="$(PICTURE_PACKAGES)"
	gnuplot docs/pictures/day.gp > docs/pictures/day.svg
	$(PYTHON) Tests/Benchmark/plots.py docs/pictures/benchmark.txt docs/pictures

# The public symbols of a module, under the name that programs import, and the articles beside its source. A link that leads
# nowhere is an error.
# With a copy of docc's own pages: it stops in the middle of copying files that belong to another user.
docs: ## the documentation of the modules for Swift programs, as archives in .build/docs
	swift build $(SWIFTFLAGS) --target LatchkeyKeychain
	rm -rf .build/docs
	mkdir -p .build/docs && cp -r "$$(dirname "$$(dirname "$$(readlink -f "$$(command -v docc)")")")/share/docc/render" .build/docs/render
	export DOCC_HTML_DIR="$$PWD/.build/docs/render"; target=$$(swiftc -print-target-info | sed -n 's/^ *"triple": "\(.*\)",/\1/p' | head -1) && \
	  for module in LatchkeyKeychain LocalAuthentication Security; do mkdir -p .build/docs/symbols/$$module && \
	  swift symbolgraph-extract -module-name Latchkey$${module#Latchkey} -target $$target -output-dir .build/docs/symbols/$$module \
	  -I "$$(swift build $(SWIFTFLAGS) --show-bin-path)/Modules" -minimum-access-level public -skip-synthesized-members && \
	  sed -i "s/\"name\":\"Latchkey$${module#Latchkey}\"/\"name\":\"$$module\"/" .build/docs/symbols/$$module/*.json && \
	  docc convert Sources/KeychainServices/$${module#Latchkey}/$$module.docc --additional-symbol-graph-dir .build/docs/symbols/$$module \
	  --fallback-display-name $$module --fallback-bundle-identifier org.latchkey.$$module --warnings-as-errors \
	  --output-path .build/docs/$$module.doccarchive || exit 1; done

# Apart from all other builds: everything in it is instrumented. The tests call this by themselves.
fuzz-build:
	LATCHKEY_FUZZ=1 swift build -c release $(SWIFTFLAGS) --scratch-path .build/fuzz -Xswiftc -sanitize=fuzzer \
	  -Xswiftc -enable-testing --product latchkey-fuzz

table: ## what becomes of each class in each state, for docs/user/classes.md
	@$(MAKE) -s build >&2
	@stage=$$(mktemp -d) && trap 'rm -rf '$$stage EXIT && chmod 755 $$stage && \
	  $(MAKE) -s install DESTDIR=$$stage PREFIX=/usr >&2 && PYTHONPATH=Tests $(IN_ROOT) $(PYTHON) -m support.table --stage $$stage

lint: ## formatting and style of the Swift sources
	swift format lint --strict --recursive Package.swift Sources Tests Examples packaging

clean: ## remove what was built
	rm -rf .build
