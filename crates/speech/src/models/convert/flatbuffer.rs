//! A reader of FlatBuffers tables that trusts nothing: every offset is checked, and a budget bounds the whole work.
//!
//! A table starts with a signed offset back to its vtable; the vtable holds, per field slot, where the field lies in the
//! table (0: absent). Strings, vectors and sub-tables are reached by an unsigned offset forward. All is little-endian.

use std::cell::Cell;

use super::ConvertError;

/// A buffer and what may still be read from it.
pub(super) struct Buffer<'a> {
    bytes: &'a [u8],
    elements_left: Cell<usize>,
}

impl<'a> Buffer<'a> {
    /// `max_elements` bounds the vector elements read altogether: offsets may point anywhere, also at each other.
    pub(super) fn new(bytes: &'a [u8], max_elements: usize) -> Self {
        Self { bytes, elements_left: Cell::new(max_elements) }
    }

    /// The root table.
    pub(super) fn root(&'a self) -> Result<Table<'a>, ConvertError> {
        Table::at(self, self.follow(0)?)
    }

    /// The four bytes that name the file's kind.
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

    /// Where the offset at `at` points to.
    fn follow(&self, at: usize) -> Result<usize, ConvertError> {
        at.checked_add(self.u32(at)?).ok_or(ConvertError::Malformed("an offset beyond the file"))
    }

    /// The start and length of the vector that the offset at `at` points to.
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

    /// Where field `slot` lies. A slot is the field's byte offset in the vtable: 4 for the first, 6 for the second, and so on.
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

    /// A byte; 0 when absent.
    pub(super) fn u8(&self, slot: usize) -> Result<u8, ConvertError> {
        Ok(self.scalar::<1>(slot)?[0])
    }

    /// An `i32`; 0 when absent.
    pub(super) fn i32(&self, slot: usize) -> Result<i32, ConvertError> {
        self.scalar(slot).map(i32::from_le_bytes)
    }

    /// An `i64`; 0 when absent.
    pub(super) fn i64(&self, slot: usize) -> Result<i64, ConvertError> {
        self.scalar(slot).map(i64::from_le_bytes)
    }

    /// An `f32`; 0 when absent.
    pub(super) fn f32(&self, slot: usize) -> Result<f32, ConvertError> {
        self.scalar(slot).map(f32::from_le_bytes)
    }

    /// A sub-table.
    pub(super) fn table(&self, slot: usize) -> Result<Option<Table<'a>>, ConvertError> {
        self.field(slot)?.map(|at| Table::at(self.buffer, self.buffer.follow(at)?)).transpose()
    }

    /// A vector of bytes; empty when absent.
    pub(super) fn bytes(&self, slot: usize) -> Result<&'a [u8], ConvertError> {
        let Some(at) = self.field(slot)? else { return Ok(&[]) };
        let (start, len) = self.buffer.vector(at)?;
        self.buffer.slice(start, len)
    }

    /// A string; empty when absent.
    pub(super) fn str(&self, slot: usize) -> Result<&'a str, ConvertError> {
        text(self.bytes(slot)?)
    }

    /// A vector of sub-tables; empty when absent.
    pub(super) fn tables(&self, slot: usize) -> Result<Vec<Table<'a>>, ConvertError> {
        self.elements(slot, 4, |at| Table::at(self.buffer, self.buffer.follow(at)?))
    }

    /// A vector of strings; empty when absent.
    pub(super) fn strs(&self, slot: usize) -> Result<Vec<&'a str>, ConvertError> {
        self.elements(slot, 4, |at| {
            let (start, len) = self.buffer.vector(at)?;
            text(self.buffer.slice(start, len)?)
        })
    }

    /// A vector of `i64`; empty when absent.
    pub(super) fn i64s(&self, slot: usize) -> Result<Vec<i64>, ConvertError> {
        self.elements(slot, 8, |at| self.buffer.array(at).map(i64::from_le_bytes))
    }

    /// A vector of `f32`; empty when absent.
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
