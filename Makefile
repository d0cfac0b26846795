# The commands of a developer's day. `make demo` and `make test` are the two to begin with.

JOBS     ?= $(shell nproc)
PYTHON   := /usr/bin/python3
FORMAT   := clang-format-14

# The packages of Debian and Ubuntu. Of names with | between them the first that the distribution has; one with a ? is left out where it has not.
FOR_BUILD := g++ cmake ninja-build make pkg-config libboost1.81-dev|libboost1.83-dev|libboost1.88-dev libssl-dev libsodium-dev \
             libtomlplusplus-dev libcli11-dev libfmt-dev
FOR_DEMO  := python3 python3-zmq libzmq5
FOR_TESTS := libgtest-dev git libbenchmark-dev ccache clang-format-14? python3-pytest python3-tornado strace valgrind binutils \
             python3-matplotlib libczmq-dev libnng-dev python3-websockets python3-aiohttp python3-pip python3-yaml mandoc codespell cppzmq-dev
FOR_MUSL := python3 python3-pip dpkg-dev make perl autoconf automake libtool
FOR_PACKAGE := build-essential debhelper lintian python3
FOR_INSTALL_PROOF := python3 python3-venv python3-pip dpkg-dev autoconf automake libtool libuv1-dev
FOR_PROOF := debootstrap binutils iproute2 debian-archive-keyring
FOR_DOCS  := python3 python3-pip mandoc
FOR_AARCH64 := g++-aarch64-linux-gnu libssl-dev:arm64 libsodium-dev:arm64
FOR_MUSL_PROOF := googletest openssl dpkg debian-archive-keyring
FOR_CROSS_CHECK := libgtest-dev:arm64 libstdc++6:arm64 qemu-user-static
SITE     := docs/site/requirements.txt
FOREIGN  := tests/interop/requirements.txt
PYZMQ    := tests/interop/requirements_pyzmq.txt
ZIG      := packaging/python/requirements_zig.txt
# The processor that a wheel is for, where it is another one: a preset, and a toolchain file in cmake/.
OTHER_ARCH := $(filter-out $(shell uname -m),$(ARCH))

# The compiler cache serves every checkout alike.
export CCACHE_BASEDIR  := $(CURDIR)
export CCACHE_NOHASHDIR := 1

# Programs with ThreadSanitizer need addresses that are not randomised too widely, where that may be asked for.
FIXED_ADDRESSES := $(shell setarch $$(uname -m) -R true 2>/dev/null && echo setarch $$(uname -m) -R)

.PHONY: help deps deps-build deps-demo deps-test build check test test-release test-asan test-tsan test-long test-web demo package package-proof source-proof dist bench docs clean format check-format wheel ecosystem deps-aarch64 deps-cross-check test-aarch64 cross-check musl-proof install-proof without-options

help:
	@echo 'make build         build/release/lib/libzmq.so.5 and libzmq.a, without the tests'
	@echo 'make deps          install the Debian packages that are missing, and what the tests need of PyPI into build/;'
	@echo '                   deps-build, deps-demo and deps-test are its parts, and what the others need they install'
	@echo 'make check         formatting, layering, documents and the unit tests of the release: what to run while working'
	@echo 'make test          formatting, and all tests: plain, ASan+UBSan, TSan; and some on an emulated aarch64, on Debian for x86-64'
	@echo 'make test-release  one of those four; also test-asan, test-tsan, test-aarch64'
	@echo 'make test-long     the tests with TSan, and as much of each as in a plain build, and more kills: what make test leaves out'
	@echo 'make test-web      the page of examples/web in a headless Chromium, which has to be installed'
	@echo 'make wheel         build/wheel/*.whl: zlink for Python and its pyzmq, on systems with GLIBC 2.27 or later'
	@echo 'make wheel ARCH=aarch64   the same for another processor, on Debian for x86-64'
	@echo 'make wheel LIBC=musl      for systems with musl 1.2, such as Alpine; with the compiler of zig, of PyPI'
	@echo 'make musl-proof    that wheel, proved on musl 1.2.5: cancelled threads, fork, and pyzmq'"'"'s own suite on a Python built for it;'
	@echo '                   ARCH=aarch64 by qemu, without Python'
	@echo 'make without-options   the library with each option of the build off alone: what it answers, hello, and the tests of the C interface;'
	@echo '                   ONLY="WITH_TLS ..." chooses, or all for the four at once; some twenty minutes'
	@echo 'make cross-check   the library for aarch64, and tests of each kind that qemu runs; some ten minutes'
	@echo 'make demo          a program written for libzmq, on libzmq and on zlink'
	@echo 'make package       the Debian packages, into build/package'
	@echo 'make package-proof proves them in a bare root made by debootstrap; needs root, and takes some ten minutes. source-proof has the'
	@echo '                   release of make dist build, run and make packages in one; SUITE=trixie is Debian 13, SUITE=noble Ubuntu 24.04;'
	@echo '                   source-proof TESTS=1 has make deps-test and the unit tests run there instead'
	@echo 'make install-proof does what docs/install.md says of builds on zlink and of zlink: FetchContent, pyzmq, Go, czmq, zeromq.js;'
	@echo '                   ONLY="NAME ..." chooses, the table has the names; some ten minutes'
	@echo 'make dist          the release of the last commit, into build/dist: tarball, SBOM and checksums'
	@echo 'make bench         zlink beside libzmq, nng and OpenSSL: tables of ratios, and pictures in build/bench; some hours'
	@echo '                   goes on where it was interrupted; AFRESH=1 begins again; PAIRS=1 instead of 3 takes half the time'
	@echo 'make bench QUICK=1 a part of it, once each, in some four minutes; in build/bench/quick'
	@echo 'make docs          the site: build/site/html, with the guide, the manual, and a search; MkDocs of PyPI, into build/'
	@echo 'make ecosystem     other people'"'"'s programs on libzmq and on zlink, fetched and run: a table; about an hour, goes on where it was'
	@echo '                   interrupted; ONLY="NAME ..." chooses programs, AFRESH=1 begins again; docs/ecosystem.md'
	@echo 'make format        format the sources; check-format only looks'
	@echo 'make clean         remove build/'

# Installs what is missing of $(1).
define install
@choose() { for name in $$(echo "$${1%\?}" | tr '|' ' '); do \
    if [ "$$(apt-cache show "$$name" 2>/dev/null)" ]; then echo "$$name"; return; fi; done; }; \
has() { dpkg-query -W -f '$${Status}' "$$1" 2>/dev/null | grep -q 'ok installed'; }; \
missing=$$(for p in $(foreach p,$(1),'$(p)'); do \
    name=$$(choose "$$p"); \
    case "$$name$$p" in *\?) [ "$$name" ] || [ ! "$$(apt-cache pkgnames g++ 2>/dev/null)" ] || continue ;; esac; \
    has "$$name" || echo "$$p"; done); \
if [ -n "$$missing" ]; then \
    if [ "$$(id -u)" = 0 ]; then root=; else root=sudo; fi; \
    names=; $$root apt-get update && \
    for p in $$missing; do \
        name=$$(choose "$$p"); \
        case "$$name$$p" in *\?) [ "$$name" ] || echo "$$p is not in this distribution, and left out" ;; \
            "$$p") echo "no package $$p in this distribution" >&2; exit 1 ;; esac; \
        names="$$names $$name"; \
    done && \
    if [ -n "$$(echo $$names)" ]; then \
        $$root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $$names; \
    fi; \
fi
endef

# Installs what $(1) names of PyPI into $(2), where it is not there yet.
define install_foreign
@cmp -s $(1) $(2)/installed || { \
    rm -rf $(2) && \
    $(PYTHON) -m pip install --quiet --root-user-action=ignore --require-hashes --target $(2) -r $(1) && \
    cp $(1) $(2)/installed; }
endef

deps: deps-build deps-demo deps-test

deps-build:
	$(call install,$(FOR_BUILD))

deps-demo:
	$(call install,$(FOR_DEMO))

deps-test: deps-build deps-demo
	$(call install,$(FOR_TESTS))
	$(call install_foreign,$(FOREIGN),build/python)
	$(call install_foreign,$(PYZMQ),build/pyzmq)

deps-aarch64: deps-build
	@dpkg --print-foreign-architectures | grep -qx arm64 || { \
	    if [ "$$(id -u)" = 0 ]; then root=; else root=sudo; fi; \
	    $$root dpkg --add-architecture arm64 && $$root apt-get update; }
	$(call install,$(FOR_AARCH64))

deps-cross-check: deps-aarch64
	$(call install,$(FOR_CROSS_CHECK))

build: deps-build
	cmake --preset release -D BUILD_TESTS=OFF -D ZLINK_WERROR=OFF
	cmake --build --preset release -j $(JOBS) --target library

check: deps check-format
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target unit_tests
	ctest --preset release -R '^(unit_.*|(layering|wording|listings|pages|mechanisms|manual)(_self_test)?|wrapped_self_test|spelling)$$'

test: deps check-format
	$(MAKE) test-release
	$(MAKE) test-asan
	$(MAKE) test-tsan
	@if ! grep -qx ID=debian /etc/os-release || [ "$$(uname -m)" != x86_64 ]; then \
	    echo 'aarch64 is emulated on Debian for x86-64 only: its tests are left out'; \
	elif $(MAKE) deps-cross-check; then \
	    $(MAKE) test-aarch64; \
	else \
	    echo 'the packages for aarch64 are not to be had: its tests are left out'; \
	fi

test-release: deps
	cmake --preset release
	cmake --build --preset release -j $(JOBS)
	ctest --preset release

test-asan: deps
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS)
	ctest --preset asan

test-tsan: deps
	cmake --preset tsan
	cmake --build --preset tsan -j $(JOBS)
	$(FIXED_ADDRESSES) ctest --preset tsan

# Some two minutes.
test-aarch64: deps-cross-check
	cmake --preset aarch64
	cmake --build --preset aarch64 -j $(JOBS) --target library unit_core unit_pipe unit_zmtp reopened
	ctest --preset aarch64 -R '^(unit_(core|pipe|zmtp)|reopened)$$'

test-long: export ZLINK_TESTS_WHOLE := 1
test-long: test-tsan
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target kill_peer library
	ctest --preset release -R '^kill_test$$'

test-web: build
	LD_LIBRARY_PATH=build/release/lib $(PYTHON) examples/web/check.py

wheel: made_in = build/wheel$(OTHER_ARCH:%=/%)$(LIBC:%=/%)
wheel: how_built = -B $(made_in)/library -D BUILD_TESTS=OFF -D ZLINK_WERROR=OFF -D ZLINK_BUNDLED=ON -D BUILD_STATIC=OFF
ifeq ($(LIBC),musl)
wheel: deps-build
	$(call install,$(FOR_MUSL))
	$(call install_foreign,$(ZIG),build/zig)
	rm -f $(made_in)/*.whl
	$(PYTHON) packaging/python/musl.py build/zig $(or $(ARCH),$(shell uname -m)) $(made_in)/root $(JOBS)
	cmake --preset release $(how_built) --toolchain $(made_in)/root/toolchain.cmake -D ZLINK_CCACHE=OFF -D CMAKE_SHARED_LINKER_FLAGS=-s -D CMAKE_EXE_LINKER_FLAGS=-s
else
wheel: deps-build $(OTHER_ARCH:%=deps-%)
	$(call install,python3)
	rm -f $(made_in)/*.whl
	$(OTHER_ARCH:%=CC=%-linux-gnu-gcc) $(PYTHON) packaging/python/older_glibc.py 2.27 $(made_in)/glibc
	cmake --preset $(or $(OTHER_ARCH),release) $(how_built) $(OTHER_ARCH:%=-D ZLINK_COMMAND_HEADERS=/usr/include) \
	    -D CMAKE_SHARED_LINKER_FLAGS=@$(CURDIR)/$(made_in)/glibc/flags \
	    -D "CMAKE_EXE_LINKER_FLAGS=-s @$(CURDIR)/$(made_in)/glibc/flags_of_programs"
endif
	cmake --build $(made_in)/library -j $(JOBS) --target libzmq zlink_command
	$(PYTHON) packaging/python/build_wheel.py $(made_in)/library/lib/libzmq.so.5 $(made_in)/library/bin/zlink $(made_in)

# One build after another in one folder: what an option does not concern is not compiled again.
without-options: deps-test
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target library capi_life capi_options capi_patterns capi_transports reopened
	$(PYTHON) tests/package/check_without_options.py --each . build/without build/release/bin $(JOBS) $(ONLY)

# Tests of the language, of memory order between threads, and of what the system is asked. With the whole of some, an emulator takes hours.
cross-check: deps-cross-check
	cmake --preset aarch64
	cmake --build --preset aarch64 -j $(JOBS) --target library unit_core unit_pipe unit_zmtp pattern_contract capi_life \
	    capi_transports reopened
	ctest --preset aarch64 -R '^(unit_(core|pipe|zmtp)|reopened|pattern_contract|test_(log|asio_tcp|bind_failures|inproc))$$'

musl-proof: FOR_THIS = $(FOR_MUSL_PROOF) $(OTHER_ARCH:%=qemu-user-static)
musl-proof: proved = build/wheel$(OTHER_ARCH:%=/%)/musl
musl-proof: processor = $(or $(ARCH),$(shell uname -m))
musl-proof:
	$(MAKE) wheel LIBC=musl $(OTHER_ARCH:%=ARCH=%)
	$(call install,$(FOR_THIS))
	$(PYTHON) tests/package/musl_programs.py $(proved) $(processor) build/musl_proof/$(processor)
	$(if $(OTHER_ARCH),,$(PYTHON) tests/package/musl_python.py $(proved) build/musl_proof/python $(JOBS))

demo: build deps-demo
	$(PYTHON) demo/run.py

package: deps-build
	$(call install,$(FOR_PACKAGE))
	packaging/debian/build.sh $(JOBS)

package-proof source-proof: SUITE ?= bookworm

package-proof: package
	$(call install,$(FOR_PROOF))
	tests/package/debian_root.py packages $(SUITE) build/package

source-proof: dist
	$(call install,$(FOR_PROOF))
	tests/package/debian_root.py $(if $(TESTS),tests,sources) $(SUITE) build/dist/zlink-$$(packaging/version.sh).tar.xz

install-proof: build dist
	$(call install,$(FOR_INSTALL_PROOF))
	$(PYTHON) tests/package/install_proof.py build/install_proof $(ONLY)

dist: deps-build
	$(call install,python3 git)
	rm -rf build/dist
	packaging/dist.py build/dist

bench: deps
	cmake --preset release -DBUILD_BENCHMARKS=ON
	cmake --build --preset release -j $(JOBS) --target bench_programs
	$(PYTHON) benchwithzmq/run_matrix.py $(if $(QUICK),--quick) $(if $(PAIRS),--pairs $(PAIRS)) $(if $(AFRESH),--afresh)

ecosystem: build deps-test
	$(PYTHON) tests/ecosystem/run.py $(if $(ONLY),--only $(ONLY)) $(if $(AFRESH),--afresh)

docs:
	$(call install,$(FOR_DOCS))
	$(call install_foreign,$(SITE),build/site/python)
	$(PYTHON) docs/site/build.py . build/site

SOURCES = $(shell find include src tests benchwithzmq tools demo \
            \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name '*.c' \) 2>/dev/null)

format: deps-test
	$(FORMAT) -i $(SOURCES)

check-format: deps-test
	@if command -v $(FORMAT) > /dev/null; then echo $(SOURCES) | xargs -n 40 -P $(JOBS) $(FORMAT) --dry-run -Werror; \
	else echo '$(FORMAT) is not there: nobody looks at the formatting'; fi

clean:
	rm -rf build
