# shellcheck shell=bash disable=SC2034
# Installs what is missing of Debian packages. Sourced by tools/quickstart and tools/test.

# The packages to build and run glinfer.
build_packages=(gcc libc6-dev cmake ninja-build pkg-config libegl-dev libgles-dev libgbm-dev
    libdrm-dev libpcre2-dev libcjson-dev libutf8proc-dev libedit-dev libmicrohttpd-dev
    libcurl4-gnutls-dev nettle-dev libsndfile1-dev libsamplerate0-dev zlib1g-dev)
run_packages=(libegl1 libgles2 libgl1-mesa-dri ca-certificates)

missing_packages() { # package[:architecture]...; prints those that are not installed
    local package native architecture
    native=$(dpkg --print-architecture)
    for package; do
        architecture=$native
        [[ $package != *:* ]] || architecture=${package#*:}
        dpkg-query --show --showformat='${Architecture} ${db:Status-Abbrev}\n' "$package" 2>/dev/null |
            grep -Eq "^($architecture|all) .i" || printf '%s\n' "$package"
    done
}

as_root() { # command...
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# Installs the packages that are missing; touches nothing and needs no root when all are there.
need_packages() { # package...
    local missing
    if ! command -v dpkg-query >/dev/null; then
        printf 'this is not Debian; the packages that Debian calls %s are assumed to be installed\n' "$*" >&2
        return 0
    fi
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        printf 'packages are missing and there is no sudo; as root, run\n  apt-get install %s\n' \
            "${missing[*]}" >&2
        return 1
    fi
    printf 'installing %s\n' "${missing[*]}" >&2
    as_root apt-get update -qq >&2 || printf 'not all package lists could be updated\n' >&2
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}
