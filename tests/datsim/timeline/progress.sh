show_progress() {
	local from=$SECONDS
	while kill -0 "$1" 2> /dev/null; do
		printf '\rbuilding ... %d s' $((SECONDS - from))
		sleep 0.2
	done
	printf '\r\033[K'
}
