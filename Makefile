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
SYSTEMDIR  ?= $(PREFIX)/lib/systemd/system
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
PYTEST     := $(PYTHON) -m pytest -p no:cacheprovider

BUILD_PACKAGES := libsodium-dev libpam0g-dev libsystemd-dev libgcrypt20-dev libsqlite3-dev libyaml-dev libtss2-dev \
  gettext pkg-config
# Draws the pictures of the documents.
PICTURE_PACKAGES := gnuplot-nox
# For the tests of the manual pages.
MANUAL_PACKAGES := man-db groff-base mandoc
TEST_PACKAGES  := dbus dbus-user-session libpam-systemd systemd-container libsecret-tools pamtester libpam-wrapper \
  keepassxc libkf5wallet-bin libqca-qt5-2-plugins pass libpam-pwdfile python3-pytest python3-pytest-xdist python3-pexpect python3-secretstorage python3-gi gir1.2-secret-1 python3-nacl \
  python3-argon2 python3-jeepney python3-cryptography python3-keyring golang-docker-credential-helpers git \
  libsecret-1-dev binutils gcc libc6-dev openssl valgrind xdg-desktop-portal bubblewrap xvfb xdotool chromium \
  seahorse gnome-keyring at-spi2-core gir1.2-atspi-2.0 gir1.2-gtk-3.0 libatk-adaptor gcr pinentry-curses pinentry-gtk2 pinentry-qt tmux swtpm libtss2-tcti-swtpm0 \
  fprintd libpam-fprintd i3lock xss-lock xauth sway swaylock swayidle wtype mate-screensaver xsecurelock vlock libwww-perl \
  xscreensaver-data qemu-system-x86 mmdebstrap e2fsprogs python3-pip python3-jaraco.functools python3-jaraco.context meson \
  ninja-build fonts-dejavu-core fonts-wqy-microhei libfuse3-dev fuse3 btrfs-progs sqlite3 strace $(MANUAL_PACKAGES) $(PICTURE_PACKAGES)
# For the suites that `make test` leaves out: compilers. gnome-keyring, the control, is among the packages above.
SUITES_PACKAGES := gir1.2-gcr-3 golang-go golang-github-docker-docker-credential-helpers-dev cargo rustc \
  librust-secret-service-dev
BENCH_PACKAGES := gnome-keyring $(PICTURE_PACKAGES)
# For `make deb` and `make test-packages`.
DEB_PACKAGES := build-essential debhelper po-debconf python3 lintian
# All that `make check` needs: no desktop, no systemd that runs.
CHECK_PACKAGES := $(BUILD_PACKAGES) dbus libpam-wrapper libpam-pwdfile python3-pytest python3-pytest-xdist binutils gcc \
  libc6-dev openssl valgrind sqlite3 strace $(MANUAL_PACKAGES) $(PICTURE_PACKAGES)
PACKAGES       := $(BUILD_PACKAGES) $(TEST_PACKAGES)

# Each has a file po/LANGUAGE.po.
LANGUAGES  := $(shell cat po/LINGUAS)
CATALOGUES := $(LANGUAGES:%=.build/locale/%/LC_MESSAGES/latchkey.mo)

PROGRAMS := latchkeyd latchkey-derive latchkey-prompt latchkey-deviced latchkey
# Tests with parts of their own run three at a time; a booted system mostly waits, and five of them do. Beside those, one machine under QEMU
# gives way. Programs type into windows and have time limits to keep: beside them is the fuzzing alone, which gives way too.
SUITES   := Tests/Repository Tests/Integration Tests/Suites Tests/PowerCuts
JOBS     ?= 3
MACHINES ?= 5
# The module's tests wait for helpers that hang, three of them for the 90 seconds that a person gets: they run beside the
# compiler, and many at a time.
WAITING  ?= 8

# How long `make fuzz` runs, all targets together.
FUZZ_SECONDS ?= 600
# How often `make kills` kills the daemon. LATCHKEY_SEED chooses when, and what the clients do.
KILLS ?= 500
# At how many power cuts `make machine` looks, for each file system.
CUTS ?= 1250

.PHONY: help deps build module deb reproducible install uninstall translations run check test machine test-packages test-desktops bench suites table fuzz fuzz-build kills beside docs pictures lint clean
.DEFAULT_GOAL := help

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

deps: ## Debian packages for building and testing: installs them (root) or names those missing
	@missing=$$(for p in $(PACKAGES); do \
	  dpkg-query -W -f '$${db:Status-Abbrev}' $$p 2>/dev/null | grep -q '^.i' || echo $$p; done); \
	test -z "$$missing" && exit 0; \
	if [ "$$(id -u)" = 0 ]; then \
	  apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $$missing </dev/null; \
	else \
	  echo "missing packages:" $$missing; echo "  sudo apt-get install" $$missing; exit 1; fi

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
	$(RELEASE) pam_latchkey
	mkdir -p $(dir $(PAM_MODULE))
	cp $(BUILT)/libpam_latchkey.so $(PAM_MODULE:.so=.unstripped.so)
	strip --strip-unneeded -o $(PAM_MODULE) $(PAM_MODULE:.so=.unstripped.so)

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

# dpkg-buildpackage writes its packages beside the folder that it builds, so it gets a copy of the sources. SwiftPM fetches
# what Package.swift names before that; the build itself needs no network, and gets none where the kernel lets us take it away.
# -nc: the copy is clean.
DEB := .build/deb
OFFLINE = $(shell unshare -rn true 2>/dev/null && echo unshare -rn)

deb: ## Debian packages, in .build/deb
	@$(MAKE) -s deps PACKAGES="$(BUILD_PACKAGES) $(DEB_PACKAGES)"
	swift package resolve
	rm -rf $(DEB)
	mkdir -p $(DEB)/latchkey/.build
	tar -c --exclude=./.build --exclude=./.git . | tar -x -C $(DEB)/latchkey
	cp -a .build/checkouts .build/repositories .build/workspace-state.json $(DEB)/latchkey/.build/
	cd $(DEB)/latchkey && $(OFFLINE) dpkg-buildpackage -us -uc -b -nc
	lintian --pedantic --fail-on error,warning,info,pedantic $(DEB)/*.changes
	rm -rf $(DEB)/latchkey

# Of what is committed.
reproducible: ## the packages built twice, in two folders at two times: the same, byte by byte
	@one=$$(mktemp -d) && two=$$(mktemp -d /var/tmp/another.XXXXXXXX) && trap "rm -rf $$one $$two" EXIT && \
	  for folder in $$one $$two; do git clone -q . $$folder/latchkey && $(MAKE) -C $$folder/latchkey deb || exit 1; done && \
	  for package in $$one/latchkey/$(DEB)/*.deb; do cmp $$package $$two/latchkey/$(DEB)/$${package##*/} || exit 1; done

# The templates' places, filled in.
FILL = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBEXECDIR@|$(LIBEXECDIR)|g'

# The command prints what a shell needs to complete its arguments: in English, whoever installs it.
COMPLETIONS = LC_ALL=C $(BUILT)/latchkey --generate-completion-script

# D-Bus interfaces, under names of our own: another package may lay org.freedesktop.*.
INTERFACES = Secrets Vault Item Keychain Prompt

# Those that are Latchkey's own; see pam/README.md.
PAM_SERVICES = latchkey-unlock latchkey-collection latchkey-item latchkey-presence latchkey-biometry

# mdoc: man and mandoc read these sources as they are, so that nothing has to be built or converted.
MANUALS := $(sort $(wildcard docs/man/*.[158]))
# Where a page goes: latchkey.1 to man1/latchkey.1.
MANUAL = man$(subst .,,$(suffix $(1)))/$(notdir $(1))

# What users and administrators read, in the folders by which the pages link to each other. A page links to no other file of the
# sources: it would lead nowhere where it is installed.
DOCUMENTS := SECURITY.md pam/README.md $(sort $(wildcard docs/user/*.md docs/pictures/*.png)) docs/pictures/day.svg

# Everything that `install` lays and `uninstall` takes away again.
INSTALLED = $(PREFIX)/bin/latchkey $(LIBEXECDIR)/latchkeyd $(LIBEXECDIR)/latchkey-derive \
  $(LIBEXECDIR)/latchkey-prompt $(LIBEXECDIR)/latchkey-deviced $(PAMDIR)/pam_latchkey.so \
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
  $(foreach page,$(MANUALS),$(MANDIR)/$(call MANUAL,$(page))) \
  $(DOCUMENTS:%=$(DOCDIR)/%) \
  $(LANGUAGES:%=$(LOCALEDIR)/%/LC_MESSAGES/latchkey.mo) \
  $(addprefix $(SYSCONFDIR)/pam.d/,$(PAM_SERVICES))

install: $(PROGRAMS:%=$(BUILT)/%) $(PAM_MODULE) $(CATALOGUES) ## lay the files under DESTDIR and PREFIX
	install -d $(sort $(dir $(INSTALLED:%=$(DESTDIR)%)))
	install -m 755 $(STRIP) $(BUILT)/latchkey $(DESTDIR)$(PREFIX)/bin/
	install -m 755 $(STRIP) $(BUILT)/latchkeyd $(BUILT)/latchkey-derive $(BUILT)/latchkey-prompt \
	  $(BUILT)/latchkey-deviced $(DESTDIR)$(LIBEXECDIR)/
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
	$(FILL) dbus/latchkey-deviced.service.in >$(DESTDIR)$(SYSTEMDIR)/latchkey-deviced.service
	install -m 644 dbus/latchkey-deviced.socket $(DESTDIR)$(SYSTEMDIR)/
	ln -sfn ../latchkey-deviced.socket $(DESTDIR)$(SYSTEMDIR)/sockets.target.wants/latchkey-deviced.socket
	install -m 644 rules/rules.yaml $(DESTDIR)$(PREFIX)/share/latchkey/rules.yaml
	install -m 644 pam/pam-configs/latchkey $(DESTDIR)$(PREFIX)/share/pam-configs/latchkey
	install -m 644 $(addprefix pam/,$(PAM_SERVICES)) $(DESTDIR)$(SYSCONFDIR)/pam.d/
	for language in $(LANGUAGES); do \
	  install -m 644 .build/locale/$$language/LC_MESSAGES/latchkey.mo $(DESTDIR)$(LOCALEDIR)/$$language/LC_MESSAGES/ || exit 1; done
	for section in 1 5 8; do install -m 644 docs/man/*.$$section $(DESTDIR)$(MANDIR)/man$$section/ || exit 1; done
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
	-rmdir $(DESTDIR)$(UNITDIR)/sockets.target.wants $(DESTDIR)$(PREFIX)/share/latchkey 2>/dev/null
	-rmdir $(DESTDIR)$(PREFIX)/share/dbus-1/interfaces 2>/dev/null
	-cd $(DESTDIR)$(DOCDIR) 2>/dev/null && rmdir -p docs/user docs/pictures pam 2>/dev/null; rmdir $(DESTDIR)$(DOCDIR) 2>/dev/null
	-cd $(DESTDIR)$(PREFIX)/share 2>/dev/null && rmdir -p xdg-desktop-portal/portals 2>/dev/null

run: deps build ## a throwaway session with its own vault, and a tour of it
	Tests/Session/throwaway tour

# Unit tests, and the module under libpam beside them; `failed` has the names of those that failed.
UNIT = mkdir -p .build; $(PYTEST) -n $(WAITING) Tests/PAMModule >.build/module.log 2>&1 & module=$$!; \
	failed=; swift test $(SWIFTFLAGS) || failed="swift-test"; \
	wait $$module || failed="$$failed Tests/PAMModule"; cat .build/module.log
# Every part, even if one before it failed.
EVERY = $(UNIT); \
	for s in $(SUITES); do $(PYTEST) -n $(JOBS) $$s || failed="$$failed $$s"; done; \
	nice $(PYTEST) -m "not thorough" Tests/Machine >.build/machine.log 2>&1 & machine=$$!; \
	$(PYTEST) -n $(MACHINES) Tests/Desktop || failed="$$failed Tests/Desktop"; \
	wait $$machine || failed="$$failed Tests/Machine"; cat .build/machine.log; \
	nice $(PYTEST) Tests/Fuzz >.build/fuzz.log 2>&1 & fuzz=$$!; \
	$(PYTEST) Tests/Programs || failed="$$failed Tests/Programs"; \
	wait $$fuzz || failed="$$failed Tests/Fuzz"; cat .build/fuzz.log
# Runs the parts of $(1). What failed in them is far above by the end, so it is named once more.
NAMED = mkdir -p .build; { $(1); test -z "$$failed" && echo "all passed" || echo "failed: $$failed"; } 2>&1 | \
	tee .build/test.log; tail -n 1 .build/test.log | grep -qx 'all passed' || \
	{ grep -aE '^(FAILED|ERROR) |✘|error: ' .build/test.log | tail -n 60; tail -n 1 .build/test.log; exit 1; }

check: ## lint, unit tests, and the PAM module under libpam: in minutes, without root or a desktop
	@$(MAKE) -s deps PACKAGES="$(CHECK_PACKAGES)"
	$(MAKE) lint module
	$(PYTEST) -q Tests/Repository
	@$(call NAMED,$(UNIT))

test: deps build ## unit tests, then the PAM module, whole programs, and a booted system (as root)
	@$(call NAMED,$(EVERY))

machine: deps build ## a whole machine under QEMU (as root): what is left in its memory, what a power cut leaves
	$(PYTEST) -s Tests/Machine
	LATCHKEY_CUTS=$(CUTS) $(PYTEST) -s Tests/PowerCuts

test-packages: ## the packages of `make deb` in booted Debian 12 and 13 (as root): install, upgrade, remove, interruptions
	@$(MAKE) -s deps
	@set -- $(DEB)/*.changes; test -e "$$1" && \
	  test -z "$$(git ls-files -z | xargs -0 -I{} find {} -maxdepth 0 -newer "$$1" 2>/dev/null | head -1)" || $(MAKE) deb
	CI=true $(PYTEST) -n $(JOBS) Tests/Packages

# One desktop after the other: each of them draws by the processor.
test-desktops: deps build ## GNOME, Plasma, Xfce and MATE, booted (as root) and typed into; needs 7 GB below /var/tmp
	CI=true $(PYTEST) Tests/RealDesktops

# On a machine that does nothing else. The vaults are on the file system of /var/tmp; BENCHFLAGS=--below=DIR names another.
bench: build ## latchkeyd beside gnome-keyring: a table of ratios, and plots in .build/bench; below 15 minutes
	$(MAKE) deps PACKAGES="$(PACKAGES) $(BENCH_PACKAGES)" >&2
	mkdir -p .build/bench
	$(PYTHON) Tests/Benchmark/benchmark $(BENCHFLAGS) > .build/bench/report.md
	@cat .build/bench/report.md
	$(PYTHON) Tests/Benchmark/plots.py .build/bench/report.md .build/bench

suites: build ## other people's test suites, beside gnome-keyring as the control: prints a table
	$(MAKE) deps PACKAGES="$(PACKAGES) $(SUITES_PACKAGES)"
	LATCHKEY_SUITES=all $(PYTEST) Tests/Suites
	LATCHKEY_CORPUS=2000 $(PYTEST) Tests/Integration/test_import_corpus.py Tests/Integration/test_export_corpus.py

fuzz: deps build fuzz-build ## bad input for FUZZ_SECONDS (600): bus, control socket, every parser; damage of every byte
	FUZZ_SECONDS=$(FUZZ_SECONDS) $(PYTEST) -s Tests/Fuzz
	LATCHKEY_EVERY_BYTE=1 swift test $(SWIFTFLAGS) --filter VaultTests.DamageTests

kills: deps build ## the daemon killed at KILLS (500) random moments under load: nothing acknowledged is lost
	LATCHKEY_KILLS=$(KILLS) $(PYTEST) -s Tests/Integration/test_load.py

# That package asks whether it can import Security, and which of the two is compiled first is not defined: the second time
# ours is there for certain.
beside: ## the client library and swift-certificates in one program, built twice; some minutes
	@scratch=$$(mktemp -d) && trap 'rm -rf '$$scratch EXIT && \
	  for time in first second; do rm -rf $$scratch/debug/X509.build && \
	  swift build $(SWIFTFLAGS) --package-path Tests/SecurityBeside --scratch-path $$scratch && \
	  $$scratch/debug/Beside || exit 1; done

pictures: ## the drawing and the plots of the documents, from docs/pictures/day.gp and docs/BENCHMARKS.md
	$(MAKE) deps PACKAGES="$(PICTURE_PACKAGES)"
	gnuplot docs/pictures/day.gp > docs/pictures/day.svg
	$(PYTHON) Tests/Benchmark/plots.py docs/BENCHMARKS.md docs/pictures

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
	  $(MAKE) -s install DESTDIR=$$stage PREFIX=/usr >&2 && PYTHONPATH=Tests $(PYTHON) -m support.table --stage $$stage

lint: ## formatting and style of the Swift sources
	swift format lint --strict --recursive Package.swift Sources Tests Examples packaging

clean: ## remove what was built
	rm -rf .build
