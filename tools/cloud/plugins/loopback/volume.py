"""A driver of Cinder whose volumes are sparse files, attached with os-brick's connector `local`."""

import os
import shutil
import subprocess
from pathlib import Path

from cinder import interface
from cinder.volume import driver
from oslo_config import cfg

OPTIONS = [cfg.StrOpt("loopback_dir", help="The folder of the volume files")]
GIB = 1024**3
#: Glance refuses an empty image.
SMALLEST_BYTES = 512


class Head:
    """The first bytes of a file."""

    def __init__(self, file, size_bytes):
        self.file, self.left = file, size_bytes

    def read(self, count=-1):
        data = self.file.read(self.left if count is None or count < 0 else min(count, self.left))
        self.left -= len(data)
        return data


def grow(path, size_gib, source=None):
    """Make a file at least so large, as a copy of the source if there is one."""
    if source:
        subprocess.run(["cp", "--sparse=always", source, path], check=True)
    with path.open("ab") as file:
        file.truncate(max(size_gib * GIB, os.fstat(file.fileno()).st_size))


def end_of_data(file):
    """Return the place where the last hole of a file begins."""
    size, place = os.fstat(file.fileno()).st_size, 0
    while place < size:
        try:
            data = os.lseek(file.fileno(), place, os.SEEK_DATA)
        except OSError:
            return place
        place = os.lseek(file.fileno(), data, os.SEEK_HOLE)
    return size


@interface.volumedriver
class LoopbackVolumeDriver(driver.VolumeDriver):
    """Volumes and snapshots as files of one folder."""

    VERSION = "1.0"
    SUPPORTS_ACTIVE_ACTIVE = False

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.configuration.append_config_values(OPTIONS)
        self.folder = Path(self.configuration.loopback_dir)

    @staticmethod
    def get_driver_options():
        return OPTIONS

    def do_setup(self, context):
        self.folder.mkdir(parents=True, exist_ok=True)

    def check_for_setup_error(self):
        pass

    def path(self, one):
        return self.folder / one.name

    def create_volume(self, volume):
        grow(self.path(volume), volume.size)

    def delete_volume(self, volume):
        self.path(volume).unlink(missing_ok=True)

    def create_snapshot(self, snapshot):
        grow(self.path(snapshot), 0, self.path(snapshot.volume))

    def delete_snapshot(self, snapshot):
        self.path(snapshot).unlink(missing_ok=True)

    def create_volume_from_snapshot(self, volume, snapshot):
        grow(self.path(volume), volume.size, self.path(snapshot))

    def create_cloned_volume(self, volume, src_vref):
        grow(self.path(volume), volume.size, self.path(src_vref))

    def extend_volume(self, volume, new_size):
        grow(self.path(volume), new_size)

    def revert_to_snapshot(self, context, volume, snapshot):
        grow(self.path(volume), 0, self.path(snapshot))

    def clone_image(self, context, volume, image_location, image_meta, image_service):
        # Not in copy_image_to_volume, which calls qemu-img first. No guest boots it, so any format will do.
        path = self.path(volume)
        with path.open("wb") as file:
            image_service.download(context, image_meta["id"], file)
        grow(path, volume.size)
        return {}, True

    def copy_volume_to_image(self, context, volume, image_service, image_meta):
        # Without the hole at the end: gigabytes of zeros take long.
        with self.path(volume).open("rb") as file:
            size_bytes = max(end_of_data(file), SMALLEST_BYTES)
            file.seek(0)
            image_service.update(context, image_meta["id"], {}, Head(file, size_bytes))

    def update_migrated_volume(self, ctxt, volume, new_volume, original_status):
        shutil.move(self.path(new_volume), self.path(volume))
        return {"_name_id": None, "provider_location": None}

    def nothing(self, *args, **kwargs):
        """Do nothing: a file needs no export."""

    ensure_export = create_export = remove_export = nothing
    create_export_snapshot = remove_export_snapshot = nothing
    terminate_connection = terminate_connection_snapshot = nothing

    def initialize_connection(self, volume, connector):
        return {"driver_volume_type": "local", "data": {"device_path": str(self.path(volume))}}

    def initialize_connection_snapshot(self, snapshot, connector):
        return self.initialize_connection(snapshot, connector)

    def _update_volume_stats(self):
        name = self.configuration.safe_get("volume_backend_name") or "loopback"
        self._stats = {
            "volume_backend_name": name, "vendor_name": "loopback", "driver_version": self.VERSION,
            "storage_protocol": "local", "pools": [{
                "pool_name": name, "total_capacity_gb": 100000, "free_capacity_gb": 100000, "provisioned_capacity_gb": 0,
                "reserved_percentage": 0, "QoS_support": True, "thin_provisioning_support": True, "multiattach": True,
                "max_over_subscription_ratio": 20, "consistencygroup_support": False}]}
