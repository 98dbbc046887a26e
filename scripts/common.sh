# Shared by the scripts; sourced, never run. Moves to the root of the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '%s\n' "$*"; }

# Runs a command as root: directly, or through sudo.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; return; fi
  command -v sudo >/dev/null || { say "This needs root and there is no sudo. Run as root: $*" >&2; exit 1; }
  sudo "$@"
}

# stage NAME COMMAND...: runs it and prints how long it took. A failure ends the script with the stage's name.
stage() {
  stage_name=$1 stage_begin=$SECONDS
  shift
  say "== $stage_name"
  "$@"
  say "== $stage_name: ok in $((SECONDS - stage_begin)) s"
  stage_name=
}
set -E
trap '[ -z "${stage_name:-}" ] || { say "== $stage_name: FAILED after $((SECONDS - stage_begin)) s" >&2; stage_name=; }' ERR
