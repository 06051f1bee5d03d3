//! Finds an SQLite database on a network file system, where locks may not hold.

use std::fs;
use std::path::{Path, PathBuf};

use super::Finding;
use crate::config::Config;

const NAME: &str = "file system of the database";
const FIX: &str = "Move the database to a local disk or a block device, or use PostgreSQL; recordings may stay.";
/// Linux's list of what is mounted where.
const MOUNTS: &str = "/proc/self/mountinfo";
/// File systems whose files are on another machine, or are passed on by a virtual one.
const NETWORK: [&str; 9] = ["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "afs", "lustre"];
/// File systems in user space whose files are on this machine.
const LOCAL: [&str; 2] = ["fuse.fuse-overlayfs", "fuse.mergerfs"];

/// Checks where an SQLite file is, or will be.
pub(super) fn of_database(config: &Config) -> Option<Finding> {
    let file = config.database_file()?;
    let folder = file.ancestors().skip(1).find_map(|folder| {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        folder.canonicalize().ok()
    })?;
    judged(&folder, &fs::read_to_string(MOUNTS).ok()?)
}

fn judged(folder: &Path, mounts: &str) -> Option<Finding> {
    let kind = kind_at(folder, mounts)?;
    // Those in user space are called fuse.sshfs, fuse.rclone and so on.
    (NETWORK.contains(&kind) || kind.starts_with("fuse.") && !LOCAL.contains(&kind)).then(|| {
        let detail = format!("{} is on {kind}, where SQLite's locks may not hold.", folder.display());
        Finding::warning(NAME, detail, FIX)
    })
}

/// Returns the file system at a folder: that of the longest mount point above it, and of the last one there.
fn kind_at<'a>(folder: &Path, mounts: &'a str) -> Option<&'a str> {
    let mounted = mounts.lines().filter_map(|line| {
        let (mount, device) = line.split_once(" - ")?;
        let point = unescaped(mount.split(' ').nth(4)?);
        folder.starts_with(&point).then_some((point.components().count(), device.split(' ').next()?))
    });
    mounted.max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
}

/// Replaces the octal escapes of blanks in a mount point.
fn unescaped(point: &str) -> PathBuf {
    point.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields as Linux writes them.
    const LINES: &str = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
31 22 0:40 / /srv rw,relatime - nfs4 nas:/export rw,vers=4.2
32 31 8:2 / /srv/local\\040disk rw - xfs /dev/sdb1 rw
33 22 0:41 / /mnt/share rw - cifs //account.file.core.example/share rw
34 22 0:42 / /mnt/cloud rw - fuse.rclone remote: rw
37 22 0:43 / /mnt/pool rw - fuse.mergerfs a:b rw
35 22 8:3 / /mnt/twice rw - nfs4 nas:/old rw
36 22 8:3 / /mnt/twice rw - ext4 /dev/sdc1 rw
";

    #[test]
    fn a_database_on_a_network_file_system_is_reported() {
        for (folder, expected) in [
            ("/srv/switchhook", Some("nfs4")),
            ("/srv", Some("nfs4")),
            ("/mnt/share/data", Some("cifs")),
            ("/mnt/cloud", Some("fuse.rclone")),
            ("/srv/local disk/switchhook", None),
            ("/srvice", None),
            ("/var/lib/switchhook", None),
            ("/mnt/twice", None),
            ("/mnt/pool", None),
        ] {
            let finding = judged(Path::new(folder), LINES);
            assert_eq!(finding.is_some(), expected.is_some(), "{folder}");
            let detail = finding.map(|finding| finding.detail).unwrap_or_default();
            assert!(detail.contains(expected.unwrap_or_default()), "{folder}: {detail}");
        }
    }

    #[test]
    fn each_folder_of_this_machine_is_on_some_file_system() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().canonicalize().expect("it is there");
        let mounts = fs::read_to_string(MOUNTS).expect("Linux has it");
        assert!(kind_at(&path, &mounts).is_some(), "{mounts}");
    }
}
