set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(EGL REQUIRED IMPORTED_TARGET egl)
pkg_check_modules(GLES REQUIRED IMPORTED_TARGET glesv2)
pkg_check_modules(GBM REQUIRED IMPORTED_TARGET gbm)
pkg_check_modules(DRM REQUIRED IMPORTED_TARGET libdrm)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
# Line editing of the command alone; without it chat reads plain lines.
pkg_check_modules(LIBEDIT IMPORTED_TARGET libedit)
# The server of the command alone; without it `glinfer serve` says so.
pkg_check_modules(MICROHTTPD IMPORTED_TARGET libmicrohttpd>=0.9.70)
# Libraries of the command that fetch models; `glinfer pull` says if they are missing.
pkg_check_modules(CURL IMPORTED_TARGET libcurl>=7.68)
pkg_check_modules(NETTLE IMPORTED_TARGET nettle)
# Libraries of the command for speech: sound, and the compression ratio of texts.
pkg_check_modules(SNDFILE IMPORTED_TARGET sndfile>=1.1)
pkg_check_modules(SAMPLERATE IMPORTED_TARGET samplerate)
pkg_check_modules(ZLIB IMPORTED_TARGET zlib)
# Announces the Wyoming service of the command over zeroconf.
pkg_check_modules(AVAHI IMPORTED_TARGET avahi-client)
if(GLINFER_TESTS)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()
