#!/bin/sh
# What `make` needs before it can build: cargo, a C linker and Python with venv. Says nothing where all are there, else
# which is missing and how to get it, and exits 2. PYTHON names the Python to look at.

python=${PYTHON:-python3}
system=$(uname -s)
status=0

missing() { # where, expected, found, hint
    printf 'error: %s: expected %s, found %s\nhint: %s\n' "$1" "$2" "$3" "$4" >&2
    status=2
}

# The command that installs a package: its name on Debian, on Fedora, and the whole command on macOS.
install() {
    if [ "$system" = Darwin ]; then
        echo "\`$3\`"
    elif command -v apt-get >/dev/null; then
        echo "\`sudo apt-get install $1\`"
    elif command -v dnf >/dev/null; then
        echo "\`sudo dnf install $2\`"
    else
        echo "install your system's package, such as \`$1\`"
    fi
}

check_cargo() {
    rustup="\`curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh\`, then open a new shell"
    if ! command -v cargo >/dev/null; then
        [ -x "$HOME/.cargo/bin/cargo" ] && rustup="it is in ~/.cargo/bin: \`. ~/.cargo/env\` puts it on the PATH"
        missing cargo "1.88 or newer on the PATH" "none" "$rustup"
        return
    fi
    if ! found=$(cargo --version 2>/dev/null); then
        missing cargo "one that runs" "\`cargo --version\` failing" "\`rustup default stable\`"
        return
    fi
    found=${found#cargo }
    found=${found%% *}
    major=${found%%.*}
    minor=${found#*.}
    minor=${minor%%.*}
    if [ "$major" -eq 1 ] && [ "$minor" -lt 88 ]; then
        command -v rustup >/dev/null && rustup="\`rustup update stable\`"
        missing cargo "1.88 or newer" "$found" "$rustup"
    fi
}

check_linker() {
    folder=$(mktemp -d) || exit 2
    trap 'rm -rf "$folder"' EXIT
    echo 'int main(void) { return 0; }' >"$folder/empty.c"
    command -v cc >/dev/null && cc -o "$folder/empty" "$folder/empty.c" 2>/dev/null && return
    found=none
    command -v cc >/dev/null && found="\`cc\` that cannot link a program"
    missing "C linker" "\`cc\`" "$found" "$(install build-essential gcc 'xcode-select --install')"
}

check_python() {
    if ! command -v "$python" >/dev/null; then
        missing Python "3.11 or newer as \`$python\`" none "$(python_hint)"
    elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
        missing Python "3.11 or newer as \`$python\`" "$("$python" --version 2>&1 | sed 's/^Python //')" "$(python_hint)"
    elif ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        package=$(install "python$version-venv" python3-pip 'brew install python@3.13')
        missing Python "the modules venv and ensurepip in \`$python\`" none "$package"
    fi
}

python_hint() {
    for other in python3.14 python3.13 python3.12 python3.11; do
        if [ "$other" != "$python" ] && "$other" -c '' 2>/dev/null; then
            echo "this machine has $other: \`make demo PYTHON=$other\`"
            return
        fi
    done
    install "python3 python3-venv" python3 "brew install python@3.13"
}

check_cargo
check_linker
check_python
exit $status
