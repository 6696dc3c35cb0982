#!/bin/sh
# The first process of the guest, in the initrd: loads the modules, mounts the host's file system
# (read only; writes go to memory) and continues as guest.sh in it. Only /lab is a folder of the
# host that the guest can write.
export PATH=/bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
while read -r module; do
	insmod "/modules/$module" || echo "hwlab: no module $module"
done < /modules/order

how=trans=virtio,version=9p2000.L,msize=512000
mount -t 9p -o ro,$how,cache=loose host /host || echo "hwlab: no file system of the host"
mount -t 9p -o rw,$how,cache=none lab /lab || echo "hwlab: no folder of the lab"
mount -t tmpfs memory /memory
mkdir /memory/upper /memory/work /memory/root
mount -t overlay -o lowerdir=/host,upperdir=/memory/upper,workdir=/memory/work root /memory/root
root=/memory/root
mount -t proc proc $root/proc
mount -t sysfs sys $root/sys
mount -t devtmpfs dev $root/dev
mkdir -p $root/dev/pts $root/dev/shm $root/lab
mount -t devpts pts $root/dev/pts
mount -t tmpfs shm $root/dev/shm
mount -t tmpfs run $root/run
mount --bind /lab $root/lab
exec switch_root $root /bin/bash /lab/guest.sh < /dev/console > /dev/console 2>&1
