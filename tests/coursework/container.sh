# Run as root by container.py in fresh namespaces: builds the root $1 out of mounts, runs the rest in it, and writes what
# is left running to $LEFT. SITE: packages; VOLUMES: here:there ...; READ_ONLY: as with `run --read-only --tmpfs /tmp`.
set -e
root=$1; shift
mount --make-rprivate /
mount --bind "$root" "$root"
mount --bind /usr "$root/usr"; mount --bind "$root/.local" "$root/usr/local"
[ "$BUBBLEWRAP" ] || [ ! -e /usr/bin/bwrap ] || mount --bind /dev/null "$root/usr/bin/bwrap"
mount -o remount,ro,bind "$root/usr"
mount --bind "$SITE" "$root/opt/site"; mount -o remount,ro,bind "$root/opt/site"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for one in null zero full random urandom tty; do : > "$root/dev/$one"; mount --bind "/dev/$one" "$root/dev/$one"; done
mkdir -m 1777 "$root/dev/shm"; mount -t tmpfs -o size=64m,mode=1777 shm "$root/dev/shm"
for volume in $VOLUMES; do
  mount --bind "${volume%%:*}" "$root/${volume#*:}"
done
if [ "$READ_ONLY" ]; then
  mount -o remount,ro,bind "$root/usr/local"
  mount -o remount,ro,bind "$root"
  mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
fi
cd "$root"
code=0
env -i "$@" || code=$?
for one in "$root"/proc/[0-9]*; do  # 1 is this script
  state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "$one/status" 2>/dev/null) || continue
  [ "${one##*/}" = 1 ] || [ -z "$state" ] || [ "$state" = Z ] || [ ! -s "$one/cmdline" ] || cat "$one/cmdline" >> "$LEFT"
done
exit $code
