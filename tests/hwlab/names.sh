# shellcheck shell=bash disable=SC2154 # $build is suite.sh's
# The names of an adapter, and addresses of both families; datsim on a device. Sourced by suite.sh.

# sends_by NAME [ENVIRONMENT...]: sends messages between two ends of the adapter of this name
sends_by() {
	local name=$1
	shift
	env DAT_PROVIDER=hw "$@" timeout $limit \
		"$build/tests/parity/parity" "$name" "$name" sends > /tmp/named 2>&1 &&
		grep -q 'sends.data same' /tmp/named
}

# names DEVICE NETDEV IPV4 IPV6
names() {
	local name
	for name in "$@"; do
		sends_by "$name"
		verdict $? "$1: its name $name"
	done
	echo "OpenIB-cma u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 \"$4\" \"\"" \
		> /tmp/dat.conf
	sends_by OpenIB-cma DAT_OVERRIDE=/tmp/dat.conf
	verdict $? "$1: a name of dat.conf that means $4"
	ip address del "$3/24" dev "$2"
	sends_by "$1"
	verdict $? "$1: with IPv6 addresses only"
	ip address add "$3/24" dev "$2"
	for name in fd00::77 10.9.9.9 unknown0; do
		! sends_by "$name" && grep -q PROVIDER_NOT_FOUND /tmp/named
		verdict $? "$1: $name names no adapter: said so"
	done
}

# looks DEVICE: compares the output of datsim info with the page about production
looks() {
	DAT_PROVIDER=hw timeout $limit "$build/tools/datsim/datsim" info > /tmp/info 2>&1
	grep -qw "$1" /tmp/info
	verdict $? "$1: datsim info lists it"
	grep -qE 'max_private_data_size +(55|196)$' /tmp/info &&
		grep -qE 'srq_watermarks_supported +0x111( |$)' /tmp/info
	verdict $? "$1: datsim info has the limits of an adapter of hardware"
}

# conforms DEVICE KIND: runs a folder of the suite as an installed datsim does; deviations.tsv must
# know each failure
conforms() {
	local script
	(cd "$source/tests/scripts" &&
		timeout $limit "$build/tools/datsim/datsim" conformance --provider hw \
			--device "$1" srq > /tmp/table 2> /dev/null)
	tail -n 1 /tmp/table | grep -qE "^[1-9][0-9]* clauses in .*: [1-9][0-9]* passed, .* on $1\$"
	verdict $? "$1: datsim conformance prints its table, and names the device"
	sed -nE 's/.*[/]([a-z-]+)\.dsim  FAIL$/\1/p' /tmp/table | while read -r script; do
		grep -qE "^($2|all)	srq/$script	" "$source/tests/hwlab/deviations.tsv" ||
			echo "$script"
	done > /tmp/unknown
	[ ! -s /tmp/unknown ] || sed 's/^/# /' /tmp/unknown
	[ ! -s /tmp/unknown ]
	verdict $? "$1: datsim conformance: what fails is in deviations.tsv"
}
