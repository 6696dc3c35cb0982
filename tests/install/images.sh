#!/bin/bash
# packaging/: the steps of the Dockerfile and of the composite action, read from these files and run
# one by one, each in a fresh Debian of its own, as docker and GitHub would. Takes many minutes and
# the network of the package mirror: part of the stage ./check packages.
. "$(dirname "$0")/begin.sh"

missing=
for tool in mmdebstrap python3; do
	command -v $tool > /dev/null || missing="$missing $tool"
done
if [ -n "$missing" ] || [ "$(id -u)" -ne 0 ]; then
	echo "1..0 # SKIP expected root and$missing"
	exit 0
fi

# The mirror, the release and apt's settings of this machine.
# shellcheck source=/dev/null
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
fresh() {
	mmdebstrap --variant=minbase --skip=cleanup/apt "$release" "$work/base" &&
		cp -r /etc/apt/apt.conf.d /etc/apt/auth.conf.d "$work/base/etc/apt/" &&
		cp /etc/resolv.conf "$work/base/etc/" &&
		mkdir -p "$work/tree" && git -C "$here" archive HEAD | tar -x -C "$work/tree"
}
if ! holds "a fresh Debian" fresh; then
	echo "Bail out! there is no Debian to build in"
	exit 1
fi
# inside ROOT COMMAND: as the user $user
user=root
inside() {
	unshare --mount --pid --fork chroot "$1" sh -c "mkdir -p /dev/shm &&
		mount -t proc proc /proc && mount -t tmpfs -o mode=1777 tmpfs /dev/shm &&
		exec su $user -s /bin/bash -c \"\$0\"" "export DEBIAN_FRONTEND=noninteractive
		$2"
}

# ---- the Dockerfile ----

root=
stage() { # IMAGE [AS NAME]
	root=$work/stage-${3:-last}
	cp -a "$work/base" "$root"
}
copy() { # [--from=NAME] WHAT... WHERE
	local from=$work/tree to
	case $1 in
	--from=*)
		from=$work/stage-${1#--from=}
		shift
		;;
	esac
	to=$root${*: -1}
	mkdir -p "$to"
	# shellcheck disable=SC2086 # what is copied may be a pattern
	cp -r $from/${1#/} "$to"
}
instruction() { # WORD REST
	# shellcheck disable=SC2086
	case $1 in
	FROM) stage $2 ;;
	COPY) copy $2 ;;
	RUN) inside "$root" "$2" ;;
	USER) user=$2 ;;
	WORKDIR) mkdir -p "$root$2" ;;
	CMD) inside "$root" "$(echo "$2" | tr -d '[],"')" ;;
	*)
		echo "an instruction that this test does not know: $1"
		return 1
		;;
	esac
}
while read -r word rest; do
	instruction_of=$(echo "$word $rest" | cut -c1-60)
	n=$((n + 1))
	if instruction "$word" "$rest" > "$work/said" 2>&1 < /dev/null; then
		echo "ok $n - Dockerfile: $instruction_of"
	else
		echo "not ok $n - Dockerfile: $instruction_of"
		tail -n 40 "$work/said" | sed 's/^/#   /'
	fi
done < <(sed '/^#/d' "$here/packaging/docker/Dockerfile" | sed -e ':a' -e '/\\$/{N;s/\\\n//;ba}' |
	sed '/^$/d')
# What the comment at its head promises, for an ordinary user.
holds "the image runs a verbs pair" inside "$root" \
	'datsim run -- ibv_rc_pingpong -g 0 -n 100 + ibv_rc_pingpong -g 0 -n 100 127.0.0.1'
user=root

# ---- the action ----

root=$work/runner
cp -a "$work/base" "$root"
mkdir -p "$root/action" "$root/runner" "$root/checkout"
cp -r "$work/tree/." "$root/action"
printf '#!/bin/sh\nexec "$@"\n' > "$root/usr/bin/sudo"
chmod 755 "$root/usr/bin/sudo"
# Each step to a file of its own: inputs are filled in, and none is left out.
python3 - "$here/packaging/action/action.yml" "$root/runner" << 'END'
import re, sys, yaml
action = yaml.safe_load(open(sys.argv[1]))
inputs = {name: given["default"] for name, given in action["inputs"].items()}
inputs["explore"] = ("ibv_rc_pingpong -g 0 -n 2 + ibv_rc_pingpong -g 0 -n 2 127.0.0.1")
inputs["runs"] = "3"
for i, step in enumerate(action["runs"]["steps"]):
    text = re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: inputs[m.group(1)], step["run"])
    assert "${{" not in text, text
    assert step["shell"] == "bash"
    open("%s/step%d" % (sys.argv[2], i), "w").write("# %s\nset -eo pipefail\n%s" %
                                                   (step["name"], text))
END
for step in "$root"/runner/step*; do
	file=/runner/$(basename "$step")
	[ "$file" != /runner/step2 ] || inside "$root" \
		'apt-get install -y --no-install-recommends ibverbs-utils' > "$work/said" 2>&1
	n=$((n + 1))
	if inside "$root" "export GITHUB_ACTION_PATH=/action/packaging/action RUNNER_TEMP=/runner
		cd /checkout && bash $file" > "$work/said" 2>&1 < /dev/null ||
		{ [ "$file" = /runner/step2 ] &&
			[ -s "$root/checkout/artifacts/found.dsim" ]; }; then
		echo "ok $n - action: $(sed -n '1s/# //p' "$step")"
	else
		echo "not ok $n - action: $(sed -n '1s/# //p' "$step")"
		tail -n 40 "$work/said" | sed 's/^/#   /'
	fi
done
echo "1..$n"
