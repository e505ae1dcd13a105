# The PAM module: built by SwiftPM, then renamed and stripped. Included by the top Makefile.
#
# --disable-local-rpath: SwiftPM writes a run path of $ORIGIN otherwise, which a module loaded by setuid programs
# should not have. LATCHKEY_LIBEXECDIR is compiled in as the place of latchkey-derive.

PREFIX ?= /usr
LATCHKEY_LIBEXECDIR ?= $(PREFIX)/libexec
PAM_MODULE := .build/pam/pam_latchkey.so

.PHONY: pam-module check-pam-module

pam-module:
	LATCHKEY_LIBEXECDIR='$(LATCHKEY_LIBEXECDIR)' \
	  swift build -c release --disable-local-rpath --product pam_latchkey
	mkdir -p .build/pam
	cp .build/release/libpam_latchkey.so .build/pam/pam_latchkey.unstripped.so
	strip --strip-unneeded -o $(PAM_MODULE) .build/pam/pam_latchkey.unstripped.so

check-pam-module: pam-module
	/usr/bin/python3 -m pytest -q Tests/PAMModule
