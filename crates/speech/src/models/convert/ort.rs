//! The ONNX Runtime file format: the tables and fields of `ort.fbs` (ONNX Runtime, format version 5).

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::ConvertError;
use super::flatbuffer::{Buffer, Table};
use super::graph::{Attribute, AttributeValue, Dimension, Graph, Model, Node, Tensor, ValueInfo};

/// The maximum depth of nested graphs: `If` and `Loop` bodies. Real models nest once or twice.
const MAX_DEPTH: u32 = 8;

/// Reads a whole model.
pub(super) fn read<'a>(buffer: &'a Buffer<'a>) -> Result<Model<'a>, ConvertError> {
    if &buffer.identifier()? != b"ORTM" {
        return Err(ConvertError::NotOrt);
    }
    let model = buffer.root()?.table(6)?.ok_or(ConvertError::Malformed("a session without a model"))?;
    let opsets = model.tables(6)?.into_iter().map(|set| Ok((set.str(4)?, set.i64(6)?)));
    Ok(Model {
        ir_version: model.i64(4)?,
        opsets: opsets.collect::<Result<_, ConvertError>>()?,
        graph: graph(&model.table(18)?.ok_or(ConvertError::Malformed("a model without a graph"))?, 0)?,
    })
}

fn graph<'a>(table: &Table<'a>, depth: u32) -> Result<Graph<'a>, ConvertError> {
    if depth > MAX_DEPTH {
        return Err(ConvertError::Malformed("graphs nested too deeply"));
    }
    let infos = table.tables(6)?.into_iter().map(|info| Ok((info.str(4)?, info)));
    let infos: HashMap<&str, Table<'_>> = infos.collect::<Result<_, ConvertError>>()?;
    let value_info = |name: &&'a str| value_info(name, infos.get(name));
    let initializers = table.tables(4)?.iter().map(tensor).collect::<Result<Vec<_>, _>>()?;
    let constant: HashSet<&str> = initializers.iter().map(|tensor| tensor.name.as_ref()).collect();
    let inputs = table.strs(14)?;
    let inputs = inputs.iter().filter(|name| !constant.contains(**name)).map(value_info).collect::<Result<_, _>>()?;
    Ok(Graph {
        nodes: table.tables(8)?.iter().map(|node_table| node(node_table, depth)).collect::<Result<_, _>>()?,
        inputs,
        outputs: table.strs(16)?.iter().map(value_info).collect::<Result<_, _>>()?,
        initializers,
    })
}

fn node<'a>(table: &Table<'a>, depth: u32) -> Result<Node<'a>, ConvertError> {
    let names = |slot| Ok::<_, ConvertError>(table.strs(slot)?.into_iter().map(Cow::Borrowed).collect());
    Ok(Node {
        name: Cow::Borrowed(table.str(4)?),
        domain: table.str(8)?,
        op_type: table.str(14)?,
        inputs: names(20)?,
        outputs: names(22)?,
        attributes: table.tables(24)?.iter().map(|attr| attribute(attr, depth)).collect::<Result<_, _>>()?,
    })
}

fn attribute<'a>(table: &Table<'a>, depth: u32) -> Result<Attribute<'a>, ConvertError> {
    let absent = ConvertError::Malformed("an attribute without its value");
    let value = match table.i32(8)? {
        1 => AttributeValue::Float(table.f32(10)?),
        2 => AttributeValue::Int(table.i64(12)?),
        3 => AttributeValue::Text(table.str(14)?),
        4 => AttributeValue::Tensor(tensor(&table.table(16)?.ok_or(absent)?)?),
        5 => AttributeValue::Graph(graph(&table.table(18)?.ok_or(absent)?, depth + 1)?),
        6 => AttributeValue::Floats(table.f32s(20)?),
        7 => AttributeValue::Ints(table.i64s(22)?),
        8 => AttributeValue::Texts(table.strs(24)?),
        _ => return Err(ConvertError::Malformed("an attribute of an unknown kind")),
    };
    Ok(Attribute { name: table.str(4)?, value })
}

fn tensor<'a>(table: &Table<'a>) -> Result<Tensor<'a>, ConvertError> {
    Ok(Tensor {
        name: Cow::Borrowed(table.str(4)?),
        data_type: table.i32(10)?,
        dims: table.i64s(8)?,
        raw: Cow::Borrowed(table.bytes(12)?),
    })
}

fn value_info<'a>(name: &'a str, table: Option<&Table<'a>>) -> Result<ValueInfo<'a>, ConvertError> {
    const TENSOR: u8 = 1;
    let kind = table.ok_or(ConvertError::Malformed("an input or output that is nowhere described"))?.table(8)?;
    let tensor = match kind {
        Some(kind) if kind.u8(6)? == TENSOR => kind.table(8)?,
        _ => None,
    };
    let tensor = match tensor {
        None => None,
        Some(tensor) => {
            let shape = tensor.table(6)?;
            let dims = shape.map(|shape| shape.tables(4)?.iter().map(dimension).collect::<Result<_, _>>());
            Some((tensor.i32(4)?, dims.transpose()?))
        }
    };
    Ok(ValueInfo { name, tensor })
}

fn dimension<'a>(table: &Table<'a>) -> Result<Dimension<'a>, ConvertError> {
    let Some(value) = table.table(4)? else { return Ok(Dimension::Unknown) };
    Ok(match value.u8(4)? {
        1 => Dimension::Fixed(value.i64(6)?),
        2 => Dimension::Named(value.str(8)?),
        _ => Dimension::Unknown,
    })
}
