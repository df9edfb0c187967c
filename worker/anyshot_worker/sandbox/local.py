"""What backends share whose boxes are processes of this machine, with no daemon between."""


class LocalBackend:
    """Processes die with their worker, so that nothing but folders and groups is left of them."""

    reduced = True
    trusted = False
    limits_end_box = False
    images_are_folders = False
    gives_gpus = False
    cgroup_driver = "cgroupfs"

    def usable(self) -> bool:
        return True

    def end_orphans(self) -> list[str]:
        return []

    def close(self) -> None:
        """Nothing is kept open."""
