#!/bin/sh
# QEMU moves a virtual machine to another QEMU by RDMA. The machine does not run; its memory is that
# of the firmware. Each QEMU has its monitor in a pair of pipes.
. "$(dirname "$0")/../begin.sh"
needs librdmacm qemu-system-x86 qemu-system-x86_64

next_port
mkfifo "$work/from.in" "$work/from.out" "$work/to.in" "$work/to.out" || exit 99
machine="-nodefaults -display none -machine pc,accel=tcg -m 64 -S -mon monitor -chardev"
cat > "$work/source.sh" <<EOF
qemu-system-x86_64 $machine pipe,id=monitor,path=$work/from &
exec 3> $work/from.in
cat $work/from.out > $work/said &
cat $work/to.out > $work/heard &
echo "migrate -d rdma:127.0.0.1:$port" >&3
for i in \$(seq 100); do
	echo "info migrate" >&3
	sleep 0.1
	grep -qE 'status: (completed|failed)' $work/said && break
done
printf 'info status\nquit\n' > $work/to.in
echo quit >&3
wait
grep -ao 'Migration status: completed' $work/said | head -n 1
grep -ao 'VM status: paused' $work/heard
EOF

# shellcheck disable=SC2086
move() {
	"$datsim" run --quiet -- qemu-system-x86_64 $machine "pipe,id=monitor,path=$work/to" \
		-incoming rdma:0.0.0.0:$port + sh "$work/source.sh"
}

echo 1..1
prints "a virtual machine is migrated" 2 '^Migration status: completed|^VM status: paused' move
