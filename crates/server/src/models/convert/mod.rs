//! From ONNX Runtime's own file format (`.ort`, FlatBuffers) to standard ONNX (protobuf), weights kept as bytes.
//!
//! Four steps, one file each: `flatbuffer` reads bytes, `ort` knows which field means what, `quantise` rewrites the
//! matrix products, `onnx` writes. The input is not trusted: bad bytes are an error, never a panic. The same input gives the
//! same bytes every time, so that the result can be pinned by its hash.

mod flatbuffer;
mod graph;
mod onnx;
mod ort;
mod quantise;

/// Vector elements and tables of one file. Real speech models have some 30,000.
const MAX_ELEMENTS: usize = 2_000_000;

/// Why a file cannot be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// Something else than an ONNX Runtime file.
    #[error("it is not an ONNX Runtime model file")]
    NotOrt,
    /// It contradicts itself.
    #[error("the model file is corrupt: it has {0}")]
    Malformed(&'static str),
}

/// Converts the bytes of an `.ort` file into those of an ONNX file.
///
/// # Errors
/// When the bytes are not a well-formed model.
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
