//! Converts ONNX Runtime's file format (`.ort`, FlatBuffers) to standard ONNX (protobuf), with weights kept as bytes.
//!
//! Four steps, one file each: `flatbuffer` reads bytes, `ort` interprets fields, `quantise` rewrites the
//! matrix products, `onnx` writes. The input is not trusted: bad bytes are an error, never a panic. The same input gives the
//! same bytes every time, so that the result can be pinned by hash.

mod flatbuffer;
mod graph;
mod onnx;
mod ort;
mod quantise;

/// Maximum vector elements and tables of a file. Real speech models have about 30,000.
const MAX_ELEMENTS: usize = 2_000_000;

/// Why a file could not be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// Not an ONNX Runtime file.
    #[error("it is not an ONNX Runtime model file")]
    NotOrt,
    /// The file is inconsistent.
    #[error("the model file is corrupt: it has {0}")]
    Malformed(&'static str),
}

/// Converts the bytes of an `.ort` file to ONNX.
///
/// # Errors
/// If the bytes are not a well-formed model.
pub fn ort_to_onnx(bytes: &[u8]) -> Result<Vec<u8>, ConvertError> {
    let buffer = flatbuffer::Buffer::new(bytes, MAX_ELEMENTS);
    let mut model = ort::read(&buffer)?;
    quantise::quantise(&mut model.graph);
    model.graph.sort()?;
    model.graph.prune();
    Ok(onnx::write(&model))
}

#[cfg(test)]
mod tests;
