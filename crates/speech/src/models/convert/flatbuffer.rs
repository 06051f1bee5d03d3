//! Reads FlatBuffers tables from untrusted files: every offset is checked, and a budget bounds the total work.
//!
//! A table starts with a signed offset back to its vtable; the vtable has, per field slot, the position of the field in the table (0: absent).
//! Strings, vectors and sub-tables are reached by an unsigned offset forward. Everything is little-endian.

use std::cell::Cell;

use super::ConvertError;

/// A buffer, and the budget for reading from it.
pub(super) struct Buffer<'a> {
    bytes: &'a [u8],
    elements_left: Cell<usize>,
}

impl<'a> Buffer<'a> {
    /// Creates a buffer. `max_elements` bounds the total vector elements read: offsets may point anywhere, even at each other.
    pub(super) fn new(bytes: &'a [u8], max_elements: usize) -> Self {
        Self { bytes, elements_left: Cell::new(max_elements) }
    }

    /// Returns the root table.
    pub(super) fn root(&'a self) -> Result<Table<'a>, ConvertError> {
        Table::at(self, self.follow(0)?)
    }

    /// Returns the four bytes that identify the file type.
    pub(super) fn identifier(&self) -> Result<[u8; 4], ConvertError> {
        self.array(4)
    }

    fn slice(&self, at: usize, len: usize) -> Result<&'a [u8], ConvertError> {
        let end = at.checked_add(len).ok_or(ConvertError::Malformed("a length beyond the file"))?;
        self.bytes.get(at..end).ok_or(ConvertError::Malformed("an offset beyond the file"))
    }

    fn array<const N: usize>(&self, at: usize) -> Result<[u8; N], ConvertError> {
        self.slice(at, N)?.try_into().map_err(|_| ConvertError::Malformed("an offset beyond the file"))
    }

    fn u16(&self, at: usize) -> Result<usize, ConvertError> {
        Ok(usize::from(u16::from_le_bytes(self.array(at)?)))
    }

    fn u32(&self, at: usize) -> Result<usize, ConvertError> {
        usize::try_from(u32::from_le_bytes(self.array(at)?))
            .map_err(|_| ConvertError::Malformed("a length beyond memory"))
    }

    /// Returns the target of the offset at `at`.
    fn follow(&self, at: usize) -> Result<usize, ConvertError> {
        at.checked_add(self.u32(at)?).ok_or(ConvertError::Malformed("an offset beyond the file"))
    }

    /// Returns the start and length of the vector that the offset at `at` points to.
    fn vector(&self, at: usize) -> Result<(usize, usize), ConvertError> {
        let start = self.follow(at)?;
        Ok((start + 4, self.u32(start)?))
    }

    fn spend(&self, elements: usize) -> Result<(), ConvertError> {
        let left = self.elements_left.get().checked_sub(elements);
        self.elements_left.set(left.ok_or(ConvertError::Malformed("more elements than such a file can have"))?);
        Ok(())
    }
}

/// One table.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    buffer: &'a Buffer<'a>,
    at: usize,
    vtable: usize,
    vtable_len: usize,
}

impl<'a> Table<'a> {
    fn at(buffer: &'a Buffer<'a>, at: usize) -> Result<Self, ConvertError> {
        buffer.spend(1)?;
        let back = i64::from(i32::from_le_bytes(buffer.array(at)?));
        let vtable = i64::try_from(at).ok().and_then(|at| usize::try_from(at - back).ok());
        let vtable = vtable.ok_or(ConvertError::Malformed("a vtable outside the file"))?;
        Ok(Self { buffer, at, vtable, vtable_len: buffer.u16(vtable)? })
    }

    /// Returns the position of field `slot`. A slot is the field's byte offset in the vtable: 4 for the first, 6 for the second, and so on.
    fn field(&self, slot: usize) -> Result<Option<usize>, ConvertError> {
        if slot + 2 > self.vtable_len {
            return Ok(None);
        }
        let offset = self.buffer.u16(self.vtable + slot)?;
        Ok((offset != 0).then_some(self.at + offset))
    }

    fn scalar<const N: usize>(&self, slot: usize) -> Result<[u8; N], ConvertError> {
        self.field(slot)?.map_or(Ok([0; N]), |at| self.buffer.array(at))
    }

    /// Returns a byte; 0 if absent.
    pub(super) fn u8(&self, slot: usize) -> Result<u8, ConvertError> {
        Ok(self.scalar::<1>(slot)?[0])
    }

    /// Returns an `i32`; 0 if absent.
    pub(super) fn i32(&self, slot: usize) -> Result<i32, ConvertError> {
        self.scalar(slot).map(i32::from_le_bytes)
    }

    /// Returns an `i64`; 0 if absent.
    pub(super) fn i64(&self, slot: usize) -> Result<i64, ConvertError> {
        self.scalar(slot).map(i64::from_le_bytes)
    }

    /// Returns an `f32`; 0 if absent.
    pub(super) fn f32(&self, slot: usize) -> Result<f32, ConvertError> {
        self.scalar(slot).map(f32::from_le_bytes)
    }

    /// Returns a sub-table.
    pub(super) fn table(&self, slot: usize) -> Result<Option<Table<'a>>, ConvertError> {
        self.field(slot)?.map(|at| Table::at(self.buffer, self.buffer.follow(at)?)).transpose()
    }

    /// Returns a vector of bytes; empty if absent.
    pub(super) fn bytes(&self, slot: usize) -> Result<&'a [u8], ConvertError> {
        let Some(at) = self.field(slot)? else { return Ok(&[]) };
        let (start, len) = self.buffer.vector(at)?;
        self.buffer.slice(start, len)
    }

    /// Returns a string; empty if absent.
    pub(super) fn str(&self, slot: usize) -> Result<&'a str, ConvertError> {
        text(self.bytes(slot)?)
    }

    /// Returns a vector of sub-tables; empty if absent.
    pub(super) fn tables(&self, slot: usize) -> Result<Vec<Table<'a>>, ConvertError> {
        self.elements(slot, 4, |at| Table::at(self.buffer, self.buffer.follow(at)?))
    }

    /// Returns a vector of strings; empty if absent.
    pub(super) fn strs(&self, slot: usize) -> Result<Vec<&'a str>, ConvertError> {
        self.elements(slot, 4, |at| {
            let (start, len) = self.buffer.vector(at)?;
            text(self.buffer.slice(start, len)?)
        })
    }

    /// Returns a vector of `i64`; empty if absent.
    pub(super) fn i64s(&self, slot: usize) -> Result<Vec<i64>, ConvertError> {
        self.elements(slot, 8, |at| self.buffer.array(at).map(i64::from_le_bytes))
    }

    /// Returns a vector of `f32`; empty if absent.
    pub(super) fn f32s(&self, slot: usize) -> Result<Vec<f32>, ConvertError> {
        self.elements(slot, 4, |at| self.buffer.array(at).map(f32::from_le_bytes))
    }

    fn elements<T>(
        &self,
        slot: usize,
        size: usize,
        read: impl Fn(usize) -> Result<T, ConvertError>,
    ) -> Result<Vec<T>, ConvertError> {
        let Some(at) = self.field(slot)? else { return Ok(Vec::new()) };
        let (start, len) = self.buffer.vector(at)?;
        self.buffer.spend(len)?;
        (0..len).map(|index| read(start + index * size)).collect()
    }
}

fn text(bytes: &[u8]) -> Result<&str, ConvertError> {
    std::str::from_utf8(bytes).map_err(|_| ConvertError::Malformed("a name that is not UTF-8"))
}
