//! Unpacks a wheel into a folder of verified model files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};
use zip::ZipArchive;

use super::convert::ort_to_onnx;
use super::manifest::{self, Model, Treatment};
use super::{ModelError, Progress, Stage};

/// Extracts the files of `model` from its verified wheel into `target`.
pub(super) fn unpack(
    model: &'static Model,
    wheel: &Path,
    target: &Path,
    progress: &dyn Progress,
) -> Result<(), ModelError> {
    let archive = File::open(wheel).map_err(ModelError::io(wheel))?;
    let broken = |message: String| ModelError::Archive { wheel: model.wheel, message };
    let mut archive = ZipArchive::new(archive).map_err(|error| broken(error.to_string()))?;
    let mut done = 0;
    for file in model.files {
        progress.report(model.id, Stage::Unpack, done, model.installed_bytes());
        let member = archive.by_name(file.member).map_err(|error| broken(error.to_string()))?;
        let bytes = contents(model, file, member)?;
        let path = target.join(file.name);
        write(&path, &bytes).map_err(ModelError::io(&path))?;
        done += file.bytes;
    }
    Ok(())
}

/// Returns the bytes to install for `file`, checked before and after conversion.
fn contents(model: &'static Model, file: &'static manifest::File, member: impl Read) -> Result<Vec<u8>, ModelError> {
    let wrong = || ModelError::WrongMember { wheel: model.wheel, member: file.member };
    let (member_bytes, member_sha256) = match file.treatment {
        Treatment::Copy => (file.bytes, file.sha256),
        Treatment::OrtToOnnx { member_bytes, member_sha256 } => (member_bytes, member_sha256),
    };
    let mut bytes = Vec::new();
    let read = member.take(member_bytes + 1).read_to_end(&mut bytes);
    read.map_err(|error| ModelError::Archive { wheel: model.wheel, message: error.to_string() })?;
    if hex(&Sha256::digest(&bytes)) != member_sha256 {
        return Err(wrong());
    }
    if let Treatment::OrtToOnnx { .. } = file.treatment {
        bytes = ort_to_onnx(&bytes).map_err(|source| ModelError::Convert { member: file.member, source })?;
        if hex(&Sha256::digest(&bytes)) != file.sha256 {
            return Err(wrong());
        }
    }
    Ok(bytes)
}

/// Writes `bytes` durably.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::write(path, bytes)?;
    File::open(path)?.sync_all()
}

/// Returns the SHA-256 of a file, in hexadecimal.
pub(super) fn sha256_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            read => hash.update(&buffer[..read]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::manifest::MODELS;

    #[test]
    fn a_member_with_one_wrong_byte_is_refused() {
        let file = MODELS[1].files.iter().find(|file| file.name == "vocab.json").unwrap();
        let bytes = vec![b' '; usize::try_from(file.bytes).unwrap()];
        let error = contents(&MODELS[1], file, bytes.as_slice()).unwrap_err();
        assert!(matches!(error, ModelError::WrongMember { .. }), "{error}");
    }

    #[test]
    fn a_member_that_never_ends_is_not_read_to_the_end() {
        let file = MODELS[1].files.iter().find(|file| file.name == "vocab.json").unwrap();
        let error = contents(&MODELS[1], file, io::repeat(b' ')).unwrap_err();
        assert!(matches!(error, ModelError::WrongMember { .. }), "{error}");
    }
}
